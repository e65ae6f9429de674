package summary_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/summary"
)

func TestPrompt(t *testing.T) {
	got := summary.Prompt(engine.Compact{Instructions: "the tests", Wishes: "the files", Again: true, MaxTokens: 200}, []string{"port 80"})
	for _, want := range []string{"memory already:\n- port 80", "The user says of this summary: the tests", "A hook says of this summary: the files", "at most 100 words"} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q: %s", want, got)
		}
	}
	if plain := summary.Prompt(engine.Compact{}, nil); !strings.HasPrefix(got, plain) || strings.Contains(plain, "says of this summary") {
		t.Errorf("the plain prompt: %s", plain)
	}
}

func TestNotes(t *testing.T) {
	todos := map[string]json.RawMessage{"todos": json.RawMessage(`[{"content":"a\nb </summary>","status":"pending"}]`)}
	got := summary.Notes(todos, map[string]json.RawMessage{"/w/z": nil, "/w/a": nil}, []engine.ActiveSkill{{Name: "s", Text: "do"}, {Name: "long", Text: strings.Repeat("x", 30<<10)}})
	want := "The list of steps, as it is now:\n- [pending] a b ‹/summary>\n\n" +
		"Files that were read or changed in this session; read again what you need of them:\n- /w/a\n- /w/z\n\n" +
		"The skill s is in force:\n<skill>\ndo\n</skill>\n\nThe skill long is in force."
	if got != want {
		t.Errorf("%q", got)
	}
}

func TestParse(t *testing.T) {
	for answer, want := range map[string]struct {
		summary, memory string
		whole           bool
	}{
		"<memory>\n- a\n- none\n* b\n</memory><summary>said</summary>": {"said", "a|b", true},
		"<summary>cut":                         {"cut", "", false},
		"no marks":                             {"no marks", "", false},
		"<memory>\n- a\n- b":                   {"", "a", false},
		"<memory>- a <summary>s</summary> end": {"s", "a", true},
	} {
		said, memory, whole := summary.Parse(answer)
		if said != want.summary || strings.Join(memory, "|") != want.memory || whole != want.whole {
			t.Errorf("%q: %q, %q, %v", answer, said, memory, whole)
		}
	}
}

func TestRemember(t *testing.T) {
	if got := summary.Remember([]string{"a"}, []string{"A", "b"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	old := []string{strings.Repeat("o", 11_000)}
	if got := summary.Remember(old, []string{strings.Repeat("n", 5_000)}); len(got) != 1 || got[0][0] != 'n' {
		t.Errorf("the oldest is forgotten first: %d", len(got))
	}
}
