package chat

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent/llm/catalog"
)

// The picker of models begins with the one in use, then with the newest ones.
func TestNewestFirst(t *testing.T) {
	var list []catalog.Entry
	for _, name := range []string{"claude-3-5-haiku", "claude-3-7-sonnet", "claude-haiku-4-5", "claude-opus-4", "claude-opus-5-5", "llama-3.3-70b"} {
		list = append(list, catalog.Entry{Name: name, Provider: "p", Window: 200_000})
	}
	var got []string
	for _, e := range newestFirst(list, "claude-haiku-4-5-20251001") {
		got = append(got, e.Name)
	}
	want := []string{"claude-haiku-4-5", "claude-opus-5-5", "claude-opus-4", "claude-3-7-sonnet", "claude-3-5-haiku", "llama-3.3-70b"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
