package coder_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/coder"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// Rewinding files takes back what the session added to the project's memory, and the memory can be
// changed afterwards.
func TestMemoryRewind(t *testing.T) {
	t.Parallel()
	dir, home := folder(t), folder(t)
	c, err := coder.New(t.Context(), coder.Options{Dir: dir, Home: home, Sandbox: coder.Off, Without: []string{"settings", "instructions"}, Memory: &memory.Memory{}, Agent: agent.Agent{
		Model:       llmtest.Script(note("Before"), llmtest.Say("One."), note("After"), llmtest.Say("Two.")),
		Permissions: permission.Policy{Allow: []permission.Rule{"Memory"}}, Sessions: session.Dir(filepath.Join(home, "sessions"))}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := c.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "Learn."); err != nil {
		t.Fatal(err)
	}
	last, err := session.Stat(t.Context(), c.Agent.Sessions, "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), "Learn more."); err != nil {
		t.Fatal(err)
	}
	store := c.Memory.Stores[0].Store
	if entries, _, err := store.Entries(); err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	if report, err := c.Rewind(t.Context(), s, last.Facts); err != nil || len(report.Left) > 0 {
		t.Fatal(report, err)
	}
	if _, err := store.Add(t.Context(), memory.Entry{Kind: memory.Pitfall, Title: "Later"}, byPerson); err != nil {
		t.Fatal(err)
	}
	entries, problems, err := store.Entries()
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	var titles []string
	for _, e := range entries {
		titles = append(titles, e.Title)
	}
	if got := strings.Join(titles, " "); got != "Before Later" {
		t.Errorf("the entries are %s", got)
	}
}
