package tools

import (
	"fmt"
	"strings"
)

// counted says how many there are of things whose plural ends in s.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// unchanged says what went wrong, and that it changed nothing.
func unchanged(err error) string {
	text := err.Error()
	if strings.Contains(text, "\n") { // it ends with lines of a file
		return text + "\nNothing was changed."
	}
	return strings.TrimRight(text, ".") + ". Nothing was changed."
}
