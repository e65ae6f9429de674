package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// The functions below return Set functions for flags.

// SetTrue sets a boolean flag.
func SetTrue(to *bool) func(string) error {
	return func(string) error { *to = true; return nil }
}

// Text reads non-blank text.
func Text(to *string) func(string) error {
	return func(s string) error {
		if strings.TrimSpace(s) == "" {
			return errors.New("the value is empty; leave the flag out instead")
		}
		*to = strings.TrimSpace(s)
		return nil
	}
}

// OneOf reads a word from a list.
func OneOf(to *string, words []string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%q is not one of %s%s", Clip(s), strings.Join(words, ", "), Suggestion(s, words))
		}
		*to = s
		return nil
	}
}

// Suggestion returns a hint with the word most similar to s, or "".
func Suggestion(s string, words []string) string {
	if len(s) < 100 {
		if best := text.Nearest(s, words); best != "" {
			return fmt.Sprintf("; did you mean %s?", best)
		}
	}
	return ""
}

// Count reads a whole number of at least 1.
func Count(to *int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return fmt.Errorf("%q is not a whole number; write a number of at least 1", Clip(s))
		case n <= 0 || n > math.MaxInt32:
			return fmt.Errorf("%s is out of range; write a number from 1 to %d, or leave the flag out", Clip(s), math.MaxInt32)
		}
		*to = n
		return nil
	}
}

// Dollars reads an amount of money above 0.
func Dollars(to *float64) func(string) error {
	return func(s string) error {
		v, err := strconv.ParseFloat(strings.TrimPrefix(s, "$"), 64)
		switch {
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("%q is not an amount; write one such as 0.50", Clip(s))
		case v <= 0:
			return fmt.Errorf("%s is out of range; write an amount above 0, or leave the flag out for no limit", Clip(s))
		}
		*to = v
		return nil
	}
}

// Duration reads a time span above 0.
func Duration(to *time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return fmt.Errorf("%q is not a duration; write one such as 90s or 10m", Clip(s))
		case d <= 0:
			return fmt.Errorf("%s is out of range; write a duration above 0, or leave the flag out for no limit", Clip(s))
		}
		*to = d
		return nil
	}
}

// List reads words separated by commas or spaces.
func List(to *[]string) func(string) error {
	return func(s string) error {
		fields := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
		if len(fields) == 0 {
			return errors.New("the list is empty; leave the flag out instead")
		}
		*to = append(*to, fields...)
		return nil
	}
}

// OneOfEach reads words separated by commas or spaces. Each word must be in a list.
func OneOfEach(to *[]string, words []string) func(string) error {
	return func(s string) error {
		var fields []string
		if err := List(&fields)(s); err != nil {
			return err
		}
		for _, f := range fields {
			var word string
			if err := OneOf(&word, words)(f); err != nil {
				return err
			}
			*to = append(*to, word)
		}
		return nil
	}
}

// Append collects the values of a flag that may be repeated.
func Append(to *[]string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errors.New("the value is empty; leave the flag out instead")
		}
		*to = append(*to, s)
		return nil
	}
}

// Raw reads non-empty text without trimming it.
func Raw(to *string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errors.New("the value is empty; leave the flag out instead")
		}
		*to = s
		return nil
	}
}

// Choice formats a list of words for usage lines.
func Choice(words []string) string { return strings.Join(words, "|") }

// Clip shortens user input for a one-line error.
func Clip(s string) string {
	return text.Bytes(s, 80)
}
