package sessiontest

import (
	"reflect"
	"testing"

	"github.com/openagent-go/agent/internal/fact"
)

// The suite stores every fact.
func TestFactsAreComplete(t *testing.T) {
	known := map[reflect.Type]bool{}
	for _, k := range kinds {
		known[reflect.TypeOf(k)] = true
	}
	for _, f := range fact.All() {
		if !known[reflect.TypeOf(f)] {
			t.Errorf("the suite does not store %T", f)
		}
	}
}
