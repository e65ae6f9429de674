package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// In a conversation files and prompts are taken back, and the session is named.
func TestConversationRewinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := sit(t, dir, nil, []string{"--dangerously-skip-permissions", "--session-id", "r"},
		writeStep("one.txt"), llmtest.Say("first is done"), writeStep("two.txt"), llmtest.Say("second is done"))
	there := func(name string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", name, err, want)
		}
	}
	p.sees("> ")
	p.types("/rewind\n")
	p.sees("this session has no prompt to rewind to yet")
	p.types("write one\n")
	p.sees("(?s)first is done.*2 turns, .*> ")
	p.types("write two\n")
	p.sees("(?s)second is done.*2 turns, .*> ")
	p.types("/rename Two files\n")
	p.sees("Two files")
	p.types("/rewind\n")
	p.sees(`write one · files kept · \d\d:\d\d:\d\d · /rewind 2\r`)
	p.sees(`write two · files kept · .* · /rewind \d+\r`)
	p.types("/rewind last --dry-run\n")
	p.sees(`deleted  .*two.txt`)
	p.sees("would be taken back to before the prompt: write two")
	there("two.txt", true)
	p.types("/rewind last\n")
	p.sees("was taken back to before the prompt: write two")
	p.sees(`To undo it: /rewind \d+`)
	there("two.txt", false)
	p.types("/rewind 2 --files\n")
	p.sees(`deleted  .*one.txt`)
	p.sees(`To undo it: /rewind \d+ --files`)
	there("one.txt", false)
	for _, bad := range []string{"/rewind 1 2", "/rewind --files", "/rewind 2 --diff --conversation", "/rewind 2 --wrong"} {
		p.types(bad + "\n")
		p.sees("! ")
	}
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
