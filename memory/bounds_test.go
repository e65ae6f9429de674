package memory_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/session"
)

// No id of an entry, and no name of a folder, leads out of the folder.
func TestNamesLeadNowhere(t *testing.T) {
	top := t.TempDir()
	store := memory.Open(filepath.Join(top, "project"), memory.ProjectFolder)
	if err := os.Mkdir(filepath.Join(top, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	out := active(t, store, memory.Entry{Kind: memory.Convention, Title: "Use tabs"})
	data, err := os.ReadFile(store.File(out.ID))
	if err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(top, "stranger.md")
	if err := os.WriteFile(stranger, data, 0o600); err != nil {
		t.Fatal(err)
	}
	id := "../../../stranger"
	if store.File(id) != stranger {
		t.Fatal(store.File(id))
	}
	if e, err := store.Entry(id); !errors.Is(err, memory.ErrUnknown) {
		t.Errorf("read %+v, %v", e, err)
	}
	m := &memory.Memory{Stores: []memory.Named{{Name: "project", Store: store}}}
	for _, action := range []string{"read", "confirm", "contradict", "retire"} {
		if res := call(t, m, `{"action":"`+action+`","id":"`+id+`"}`); !res.IsError {
			t.Errorf("%s: %s", action, res.Text())
		}
	}
	if now, err := os.ReadFile(stranger); err != nil || string(now) != string(data) {
		t.Errorf("changed: %q, %v", now, err)
	}
	outside := memory.Open(filepath.Join(top, "project"), "../outside")
	if _, err := outside.Add(t.Context(), memory.Entry{Kind: memory.Convention, Title: "Use tabs"}, byPerson); err == nil {
		t.Error("a folder outside was taken")
	}
	if _, err := os.Lstat(filepath.Join(top, "outside")); err == nil {
		t.Error("a folder outside was made")
	}
}

// An entry that is added has neither the state nor the counts that somebody states.
func TestCountsOfAdded(t *testing.T) {
	store := memory.Open(t.TempDir(), memory.ProjectFolder)
	e, err := store.Add(t.Context(), memory.Entry{Kind: memory.Convention, Title: "Use tabs", State: memory.Active, Confirmations: 50}, memory.Reason{By: "agent"})
	if err != nil || e.State != memory.Candidate || e.Confidence() != 0.5 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A repository with any number of entries does not hold a program up.
func TestManyEntries(t *testing.T) {
	store := memory.Open(t.TempDir(), memory.ProjectFolder)
	e, err := store.Add(t.Context(), memory.Entry{Kind: memory.Convention, Title: "Use tabs"}, byPerson)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(store.File(e.ID))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2001 {
		if err := os.WriteFile(store.File(fmt.Sprintf("more-%d", i)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, problems, err := store.Entries()
	if err != nil || len(entries) != 2000 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "more than 2000 entries") {
		t.Errorf("%d entries, %v, %v", len(entries), problems, err)
	}
}

// A session counts once for or against an entry that is active, and a review makes no more than a number of
// proposals.
func TestReviewCountsOnce(t *testing.T) {
	sessions := session.Memory()
	user, _ := recorded(t, sessions, "s1", "Please always use tabs in this project.", "page")
	store := memory.Open(t.TempDir(), memory.ProjectFolder)
	tabs := active(t, store, memory.Entry{Kind: memory.Convention, Title: "Use tabs"})
	waits, err := store.Add(t.Context(), memory.Entry{Kind: memory.Convention, Title: "Use goimports"}, byPerson)
	if err != nil {
		t.Fatal(err)
	}
	before, err := store.Entry(tabs.ID)
	if err != nil {
		t.Fatal(err)
	}
	facts := []int64{user}
	list := []memory.Proposal{
		{Action: "confirm", ID: tabs.ID, Facts: facts}, {Action: "confirm", ID: tabs.ID, Facts: facts},
		{Action: "contradict", ID: tabs.ID, Facts: facts}, {Action: "confirm", ID: waits.ID, Facts: facts},
	}
	for i := range 20 {
		list = append(list, memory.Proposal{Action: "add", Kind: memory.Pitfall, Title: fmt.Sprint("Mind step ", i), Facts: facts})
	}
	r := &memory.Reviewer{Memory: &memory.Memory{Stores: []memory.Named{{Name: "project", Store: store}}}, Model: llmtest.Script(proposals(list...)), Sessions: sessions}
	review, err := r.Review(t.Context(), "s1")
	if err != nil || len(review.Proposals) != 12 {
		t.Fatalf("%d proposals, %v", len(review.Proposals), err)
	}
	for i, refused := range []bool{false, true, true, true, false} {
		if p := review.Proposals[i]; refused != (p.Refused != "") {
			t.Errorf("%d: %+v", i, p)
		}
	}
	if e, err := store.Entry(tabs.ID); err != nil || e.Confirmations != before.Confirmations+1 || e.Contradictions != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := store.Entry(waits.ID); err != nil || e.Confirmations != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A counted quota notes that models were metered.
type counted struct{ models int }

func (c *counted) Meter(m llm.Model) llm.Model {
	c.models++
	return m
}

// The cost of a review counts for the quota, and a review that does not come to an end ends.
func TestReviewCosts(t *testing.T) {
	sessions := session.Memory()
	recorded(t, sessions, "s1", "Please always use tabs in this project.", "page")
	store := memory.Open(t.TempDir(), memory.ProjectFolder)
	quota := &counted{}
	model := &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
		return llmtest.Call(llmtest.Use(fmt.Sprint(n), "Nothing", map[string]int{"n": n}))
	}}
	r := &memory.Reviewer{Memory: &memory.Memory{Stores: []memory.Named{{Name: "project", Store: store}}}, Model: model, Sessions: sessions, Quota: quota}
	if review, err := r.Review(t.Context(), "s1"); !errors.Is(err, agent.ErrLimit) || review.Turns != 4 {
		t.Errorf("%+v, %v", review, err)
	}
	if quota.models == 0 {
		t.Error("the review does not count for the quota")
	}
}
