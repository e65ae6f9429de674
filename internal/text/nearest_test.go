package text

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"Read", "Write", "Edit", "BashOutput"}
	for word, want := range map[string]string{"read": "Read", "Wrte": "Write", "bash_output": "BashOutput", "Fly": "", strings.Repeat("x", 1000): ""} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
}
