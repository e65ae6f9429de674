package worker

import (
	"strings"
	"testing"
)

// A name that the database cannot keep is refused at the start: no session could be opened with it.
func TestNames(t *testing.T) {
	for name, wrong := range map[string]bool{"": false, "blue-1": false, "büro": false, "\xff": true, "a\x00": true, strings.Repeat("x", 1001): true} {
		for _, o := range []*options{{name: name}, {place: name}} {
			if err := o.check(); (err != nil) != wrong {
				t.Errorf("%.20q: %v", name, err)
			}
		}
	}
}
