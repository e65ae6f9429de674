package mcp

import (
	"strings"
	"testing"
)

// A prompt without arguments takes no words.
func TestNoArguments(t *testing.T) {
	if _, err := (Prompt{Name: "p"}).parse("too much"); err == nil || !strings.Contains(err.Error(), `"too much" is left`) {
		t.Error(err)
	}
}
