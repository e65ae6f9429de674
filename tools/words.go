package tools

import (
	"strings"
)

// unchanged says what went wrong, and that it changed nothing.
func unchanged(err error) string {
	text := err.Error()
	if strings.Contains(text, "\n") { // it ends with lines of a file
		return text + "\nNothing was changed."
	}
	return strings.TrimRight(text, ".") + ". Nothing was changed."
}
