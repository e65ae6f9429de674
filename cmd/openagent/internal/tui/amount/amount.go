// Package amount writes durations, tokens and money in a few letters.
//
//	amount.Took(1200 * time.Millisecond) // 1.2 s
package amount

import (
	"fmt"
	"time"
)

// Took is a duration for people: 40 ms, 1.2 s, 3:05.
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return Clock(d)
}

// Clock is a duration in whole seconds: 14 s, 1:12, 1:02:03.
func Clock(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Tokens is a number of tokens: 412, 6.1k, 1.2M.
func Tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// Dollars is an amount of money.
func Dollars(usd float64) string {
	if usd > 0 && usd < 0.1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}
