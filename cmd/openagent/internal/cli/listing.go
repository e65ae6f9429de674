package cli

import (
	"strconv"
)

func PriceText(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

func TokenText(n int) string {
	if n == 0 {
		return "?"
	}
	return strconv.Itoa(n)
}
