package cli

import (
	"strconv"
)

// PriceText returns a price in US dollars without trailing zeros.
func PriceText(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

// TokenText returns a number of tokens, "?" for 0.
func TokenText(n int) string {
	if n == 0 {
		return "?"
	}
	return strconv.Itoa(n)
}
