package cli

import (
	"strconv"
)

func Price(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

func Tokens(n int) string {
	if n == 0 {
		return "?"
	}
	return strconv.Itoa(n)
}
