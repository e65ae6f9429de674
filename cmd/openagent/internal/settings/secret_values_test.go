package settings

import (
	"slices"
	"testing"
)

// The values of variables that settings give to commands are secrets.
func TestSecretValues(t *testing.T) {
	t.Setenv("GUARDED_TOKEN", "passed-on-12345678")
	o := Options{Env: map[string]string{"API": "given-12345678"}, Passed: []string{"GUARDED_TOKEN"}}
	for _, want := range []string{"given-12345678", "passed-on-12345678"} {
		if got := o.SecretValues(); !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
}
