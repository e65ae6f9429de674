package cli

import (
	"fmt"
	"strconv"
)

// Plural returns n, in groups of three digits, and a noun whose plural ends in s.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Thousands(n) + " " + what + "s"
}

// Thousands writes a number in groups of three digits.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Megabytes returns a number of bytes in megabytes, with one decimal.
func Megabytes(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/(1<<20)) }

// PriceText returns a price in US dollars without trailing zeros.
func PriceText(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

// TokenText returns a number of tokens, "?" for 0.
func TokenText(n int) string {
	if n == 0 {
		return "?"
	}
	return strconv.Itoa(n)
}
