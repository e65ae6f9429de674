package main

import "testing"

// The session of this library is held in a process of its own, and at least four fifths
// of its input are read from the cache from the third turn on.
func TestOurs(t *testing.T) {
	t.Chdir("../..")
	c, err := measure(t.Context(), t.TempDir(), libraries[0])
	if err != nil {
		t.Fatal(err)
	}
	if share := float64(c.late.CacheRead) / float64(c.late.Context()); share < 0.8 {
		t.Errorf("%.2f of the input was read from the cache: %+v", share, c)
	}
	if got := thousands(1234567); got != "1,234,567" {
		t.Error(got)
	}
}
