package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// prompts returns the texts that the model got in each request of two prompts to one
// session: the second answer reads sub/x.
func prompts(t *testing.T, dir string, a *agent.Agent) []string {
	t.Helper()
	ws := &workspace.Workspace{Root: dir}
	t.Cleanup(func() { ws.Close() })
	m := llmtest.Script(llmtest.Say("one"), llmtest.Call(llmtest.Use("c", "Read", map[string]string{"file_path": "sub/x"})), llmtest.Say("two"))
	a.Model, a.Dir, a.Tools = m, dir, tools.Core(ws)
	s := a.Session("")
	defer s.Close()
	for _, text := range []string{"first", "second"} {
		if _, err := s.Prompt(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for _, r := range m.Requests() {
		var b strings.Builder
		for _, message := range r.Messages {
			b.WriteString(message.Text())
		}
		texts = append(texts, b.String())
	}
	return texts
}

// The model gets each file once, a folder's file when a call touches the folder, and
// nothing that permissions hide.
func TestNotesInPrompts(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "of the root", "CLAUDE.md": "of claude", "sub/AGENTS.md": "of the folder", "sub/x": "x"})
	n := new(Notes)
	defer n.Close()
	got := prompts(t, dir, &agent.Agent{Context: n.Context})
	if len(got) != 3 {
		t.Fatalf("%d requests", len(got))
	}
	for i, counts := range [][]int{{1, 1, 0}, {1, 1, 0}, {1, 1, 1}} {
		for k, text := range []string{"of the root", "of claude", "of the folder"} {
			if c := strings.Count(got[i], text); c != counts[k] {
				t.Errorf("request %d has %q %d times:\n%s", i, text, c, got[i])
			}
		}
	}
	if loaded := n.Loaded(); len(loaded) != 3 {
		t.Errorf("loaded: %v", loaded)
	}
	rule, err := permission.ParseRule("Read(CLAUDE.md)")
	if err != nil {
		t.Fatal(err)
	}
	hiding := new(Notes)
	defer hiding.Close()
	got = prompts(t, dir, &agent.Agent{Context: hiding.Context, Permissions: permission.Policy{Deny: []permission.Rule{rule}}})
	if last := got[len(got)-1]; strings.Contains(last, "of claude") || !strings.Contains(last, "of the root") {
		t.Errorf("a denied file is shown, or another is not:\n%s", last)
	}
}

// A changed file is another note. The project's files need NoProject to be off.
func TestNotesFollowFiles(t *testing.T) {
	dir := tree(t, map[string]string{"repo/AGENTS.md": "before", "home/AGENTS.md": "mine"})
	n := &Notes{Home: filepath.Join(dir, "home")}
	defer n.Close()
	at := agent.Place{Session: "s", Dir: filepath.Join(dir, "repo"), Start: true}
	first := n.Context(t.Context(), at)
	if err := os.WriteFile(filepath.Join(at.Dir, "AGENTS.md"), []byte("after"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := n.Context(t.Context(), at)
	if len(first) != 2 || len(second) != 2 || first[0].ID != second[0].ID || first[1].ID == second[1].ID || !strings.Contains(second[1].Text, "after") {
		t.Errorf("%+v\n%+v", first, second)
	}
	if between := n.Context(t.Context(), agent.Place{Session: "s", Dir: at.Dir}); len(between) != 0 {
		t.Errorf("between prompts: %+v", between)
	}
	own := &Notes{Home: n.Home, NoProject: true}
	defer own.Close()
	if notes := own.Context(t.Context(), at); len(notes) != 1 || !strings.Contains(notes[0].Text, "mine") {
		t.Errorf("%+v", notes)
	}
}

// Git's state is that of the session's first prompt. Another session gets its own.
func TestNotesOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := tree(t, map[string]string{"repo/a": "a"})
	at := agent.Place{Session: "one", Dir: filepath.Join(dir, "repo"), Start: true}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = at.Dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	run("init", "-q", "-b", "first")
	n := new(Notes)
	defer n.Close()
	state := func(session string) string {
		t.Helper()
		at.Session = session
		for range 100 { // git may take longer than a prompt waits
			for _, note := range n.Context(t.Context(), at) {
				if note.ID == "git" {
					return note.Text
				}
			}
		}
		t.Fatal("no state of git")
		return ""
	}
	n.Prepare(at.Dir)
	if got := state("one"); !strings.Contains(got, "Branch: first") {
		t.Error(got)
	}
	run("checkout", "-q", "-b", "second")
	n.mu.Lock()
	n.states[at.Dir].began = time.Now().Add(-2 * gitFresh)
	n.mu.Unlock()
	if got := state("one"); !strings.Contains(got, "Branch: first") {
		t.Errorf("the same session: %s", got)
	}
	if got := state("two"); !strings.Contains(got, "Branch: second") {
		t.Errorf("another session, later: %s", got)
	}
	n.Close()
	at.Session, at.Dir = "three", dir
	if notes := n.Context(t.Context(), at); len(notes) != 0 {
		t.Errorf("after Close: %+v", notes)
	}
}
