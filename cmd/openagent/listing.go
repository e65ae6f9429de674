package main

import (
	"strconv"
)

func price(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

func tokens(n int) string {
	if n == 0 {
		return "?"
	}
	return strconv.Itoa(n)
}
