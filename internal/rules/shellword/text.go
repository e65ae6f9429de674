package shellword

import (
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// Unknown stands in a command for text that only the running shell knows: the value of
// a variable, the output of a command. No command line can hold it.
const Unknown = "\x00"

// Show makes what came from the model fit for a reason.
func Show(s string) string { return text.Bytes(strings.ReplaceAll(s, Unknown, "…"), MaxShown) }

const MaxShown = 160 // bytes of a target in a reason

func IsDigits(v string) bool {
	return v != "" && strings.Trim(v, "0123456789") == ""
}

func Texts(words []Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}

// SetOf returns names as a set.
func SetOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}
