package tools

import (
	"strings"
)

// unchanged is an error's text with a note that nothing was changed.
func unchanged(err error) string {
	text := err.Error()
	if strings.Contains(text, "\n") { // it ends with lines of a file
		return text + "\nNothing was changed."
	}
	return strings.TrimRight(text, ".") + ". Nothing was changed."
}
