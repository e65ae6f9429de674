package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// The functions below make the set functions of flags.

func yes(to *bool) func(string) error {
	return func(string) error { *to = true; return nil }
}

func text(to *string) func(string) error {
	return func(s string) error {
		if strings.TrimSpace(s) == "" {
			return errors.New("the value is empty; leave the flag out instead")
		}
		*to = strings.TrimSpace(s)
		return nil
	}
}

func oneOf(to *string, words []string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%q is none of %s%s", clip(s), strings.Join(words, ", "), likely(s, words))
		}
		*to = s
		return nil
	}
}

func likely(s string, words []string) string {
	if len(s) < 100 {
		if best := tool.Nearest(s, words); best != "" {
			return fmt.Sprintf("; did you mean %s?", best)
		}
	}
	return ""
}

func count(to *int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return fmt.Errorf("%q is not a whole number; write one from 1 up", clip(s))
		case n <= 0 || n > math.MaxInt32:
			return fmt.Errorf("%s is out of range; write a number from 1 to %d, or leave the flag out", clip(s), math.MaxInt32)
		}
		*to = n
		return nil
	}
}

func dollars(to *float64) func(string) error {
	return func(s string) error {
		v, err := strconv.ParseFloat(strings.TrimPrefix(s, "$"), 64)
		switch {
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("%q is not an amount; write one such as 0.50", clip(s))
		case v <= 0:
			return fmt.Errorf("%s is out of range; write an amount above 0, or leave the flag out for no limit", clip(s))
		}
		*to = v
		return nil
	}
}

func duration(to *time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return fmt.Errorf("%q is not a duration; write one such as 90s or 10m", clip(s))
		case d <= 0:
			return fmt.Errorf("%s is out of range; write a duration above 0, or leave the flag out for no limit", clip(s))
		}
		*to = d
		return nil
	}
}

func list(to *[]string) func(string) error {
	return func(s string) error {
		fields := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
		if len(fields) == 0 {
			return errors.New("the list is empty; leave the flag out instead")
		}
		*to = append(*to, fields...)
		return nil
	}
}

// oneOfEach reads a list of words.
func oneOfEach(to *[]string, words []string) func(string) error {
	return func(s string) error {
		var fields []string
		if err := list(&fields)(s); err != nil {
			return err
		}
		for _, f := range fields {
			var word string
			if err := oneOf(&word, words)(f); err != nil {
				return err
			}
			*to = append(*to, word)
		}
		return nil
	}
}

func rules(to *[]permission.Rule) func(string) error {
	return func(s string) error {
		more, err := permission.ParseRules(s)
		if err != nil {
			return err
		}
		if len(more) == 0 {
			return errors.New("the list is empty; leave the flag out instead")
		}
		*to = append(*to, more...)
		return nil
	}
}

// more collects the values of a flag that may be repeated.
func more(to *[]string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errors.New("the value is empty; leave the flag out instead")
		}
		*to = append(*to, s)
		return nil
	}
}

// needDir reports what is wrong with a folder that must exist.
func needDir(shown, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return usagef("%s: there is no folder %s; make it first or name another", shown, dir)
	case err != nil:
		return usagef("%s: %v", shown, err)
	case !info.IsDir():
		return usagef("%s: %s is not a folder; name the folder that it is in", shown, dir)
	}
	return nil
}
