package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// testdata/old_journal holds a session that an older version of the library wrote,
// before types and facts were renamed in the code: edits, a denied call, a sub-agent, a
// title and a tag, a summary, a change of the mode, and a call that waits for a person.
// expected.json is what that version made of it. The files are never written again: they
// stand for the sessions that users have.
func oldJournal(t *testing.T) session.Store {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "old_journal", "sessions"))); err != nil {
		t.Fatal(err)
	}
	return session.Dir(dir)
}

func TestOldJournalReads(t *testing.T) {
	store := oldJournal(t)
	a := &agent.Agent{Model: llmtest.Script(), Sessions: store}
	s := a.Session("greeting")
	defer s.Close()
	messages, err := s.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked, err := s.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var pending []tool.Call // what a person is told of them depends on the machine
	for _, r := range asked {
		pending = append(pending, r.Call)
	}
	info, err := session.Stat(t.Context(), store, "greeting")
	if err != nil {
		t.Fatal(err)
	}
	// That version did not list states.
	if info.State != session.StateWaiting {
		t.Errorf("the session is %s", info.State)
	}
	info.State = ""
	book, err := account.Read(store.Read(t.Context(), "greeting", 0))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(map[string]any{"messages": messages, "pending": pending, "info": info, "turns": book.Cost()}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "old_journal", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("an old session reads as\n%s\nwant\n%s", got, want)
	}
	v, err := session.Verify(t.Context(), store, "greeting")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range v.Problems() {
		t.Error(p)
	}
}

// A person answers the old session's question, and the run continues.
func TestOldJournalResumes(t *testing.T) {
	store := oldJournal(t)
	ws := &workspace.Workspace{Root: t.TempDir()}
	defer ws.Close()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("It is published.")), System: "You keep a greeting.", Dir: ws.Root, Sessions: store, Tools: tools.Core(ws)}
	s := a.Session("greeting")
	defer s.Close()
	if mode, err := s.Mode(t.Context()); err != nil || mode != permission.AcceptEdits {
		t.Errorf("the mode is %q, %v", mode, err)
	}
	if can, err := s.CanResume(t.Context()); err != nil || !can {
		t.Fatalf("it can be resumed: %v, %v", can, err)
	}
	pending, err := s.Pending(t.Context())
	if err != nil || len(pending) != 1 {
		t.Fatalf("%d calls wait, %v", len(pending), err)
	}
	if err := s.Decide(t.Context(), pending[0].Call.ID, permission.Deny("Not today.")); err != nil {
		t.Fatal(err)
	}
	var end event.RunEnd
	for e, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(event.RunEnd); ok {
			end = d
		}
	}
	if end.Reason != event.Completed || s.Result().Text != "It is published." {
		t.Errorf("it ends as %q with %q", end.Reason, s.Result().Text)
	}
}

// A fork of an old session and a rewound one accept a new prompt.
func TestOldJournalForksAndRewinds(t *testing.T) {
	store := oldJournal(t)
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("A copy."), llmtest.Say("Back.")), Sessions: store}
	s := a.Session("greeting")
	defer s.Close()
	fork, err := s.Fork(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	if res, err := fork.Prompt(t.Context(), "Go on in the copy."); err != nil || res.Text != "A copy." {
		t.Errorf("the copy says %v, %v", res, err)
	}
	var first int64
	for e, err := range store.Read(t.Context(), "greeting", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(event.RunEnd); ok && first == 0 {
			first = e.Seq
		}
	}
	if err := s.Rewind(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Prompt(t.Context(), "Go on from there."); err != nil || res.Text != "Back." {
		t.Errorf("after the rewind it says %v, %v", res, err)
	}
}
