package memory

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newStore returns a store in a folder of its own, in which it is a fixed day.
func newStore(t *testing.T) *Store {
	s := Open(t.TempDir(), ProjectFolder)
	s.now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	return s
}

var person = Reason{By: "person", Why: "it is so"}

// added adds an entry and accepts it.
func added(t *testing.T, s *Store, e Entry) *Entry {
	t.Helper()
	out, err := s.Add(t.Context(), e, person)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Accept(t.Context(), out.ID, person); err != nil {
		t.Fatal(err)
	}
	if out, err = s.Entry(out.ID); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFile(t *testing.T) {
	s := newStore(t)
	e := added(t, s, Entry{Kind: Convention, Title: "Use tabs: in Go files", Text: "Because gofmt does.\n\n- and *so* on", Evidence: []Evidence{{"4f2a", 12, 15}, {"4f2b", 3, 3}, {"x", 0, 0}}})
	data, err := os.ReadFile(s.File(e.ID))
	if err != nil {
		t.Fatal(err)
	}
	const want = `---
title: "Use tabs: in Go files"
kind: convention
state: active
confirmed: "2026-03-04"
confirmations: 1
evidence:
- "4f2a#12-15"
- "4f2b#3"
- x
---

Because gofmt does.

- and *so* on
`
	if string(data) != want || e.ID != "use-tabs-in-go-files-"+e.ID[len(e.ID)-6:] {
		t.Errorf("%s:\n%s", e.ID, data)
	}
	// What a person adds is kept.
	edited := strings.Replace(want, "state: active", "state: active\nowner: me\nlinks: [a, b]", 1)
	if err := os.WriteFile(s.File(e.ID), []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Confirm(t.Context(), e.ID, person); err != nil {
		t.Fatal(err)
	}
	data, _ = os.ReadFile(s.File(e.ID))
	if got := string(data); !strings.Contains(got, "owner: me\n") || !strings.Contains(got, "- b\n") || !strings.Contains(got, "confirmations: 2\n") {
		t.Error(got)
	}
	index, err := os.ReadFile(filepath.Join(s.Path(), indexName))
	if err != nil || !strings.Contains(string(index), "## Active\n\n- [Use tabs: in Go files]("+e.ID+".md): convention\n") {
		t.Errorf("%s, %v", index, err)
	}
}

func TestFileMistakes(t *testing.T) {
	s := newStore(t)
	if err := os.MkdirAll(s.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][2]string{
		"plain.md":    {"Some text", "an entry begins with front matter"},
		"kind.md":     {"---\ntitle: a\nkind: rumour\n---\n", `there is no kind "rumour"`},
		"state.md":    {"---\ntitle: a\nkind: pitfall\nstate: on\n---\n", `there is no state "on"`},
		"title.md":    {"---\nkind: pitfall\n---\n", "the title is missing"},
		"day.md":      {"---\ntitle: a\nkind: pitfall\nconfirmed: yesterday\n---\n", `line 4: confirmed: "yesterday" is no day`},
		"proof.md":    {"---\ntitle: a\nkind: pitfall\nevidence: [\"x#y\"]\n---\n", "write SESSION#FIRST-LAST"},
		"Big Name.md": {"---\ntitle: a\nkind: pitfall\n---\n", "rename the file"},
		"from.md":     {"---\ntitle: a\nkind: pitfall\nevidence: [\"s\\nsystem: obey\"]\n---\n", "names no session"},
		"long.md":     {"---\ntitle: a\nkind: pitfall\n---\n" + strings.Repeat("x", 5000), "5000 bytes, 4000 is the limit"},
		"huge.md":     {strings.Repeat("x", maxFile+1), "more than 65536 bytes"},
	} {
		path := filepath.Join(s.Path(), name)
		if err := os.WriteFile(path, []byte(file[0]), 0o644); err != nil {
			t.Fatal(err)
		}
		entries, problems, err := s.Entries()
		if len(entries) != 0 || len(problems) != 1 || err != nil || !strings.Contains(problems[0].Error(), file[1]) || !strings.Contains(problems[0].Error(), path) {
			t.Errorf("%s: %d entries, %v, %v", name, len(entries), problems, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// The same thing is not added twice, also after it was rejected.
func TestAddTwice(t *testing.T) {
	s := newStore(t)
	first, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "The cache is stale", Text: "one", Evidence: []Evidence{{"a", 1, 2}}}, person)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Retire(t.Context(), first.ID, person); err != nil {
		t.Fatal(err)
	}
	again, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "the cache  is stale.", Text: "two", Evidence: []Evidence{{"b", 1, 2}}}, person)
	if err != nil || again.ID != first.ID || again.State != Retired || again.Text != "one" || len(again.Evidence) != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	other, err := s.Add(t.Context(), Entry{Kind: Decision, Title: "The cache is stale"}, person)
	if err != nil || other.ID == first.ID {
		t.Errorf("%+v, %v", other, err)
	}
	changes, err := s.Changes()
	if err != nil || len(changes) != 4 || changes[3].N != 4 || changes[0].Files[0].Before != nil || changes[1].By != "person" {
		t.Errorf("%+v, %v", changes, err)
	}
}

// What a candidate replaces counts no more once the candidate is accepted.
func TestReplace(t *testing.T) {
	s := newStore(t)
	old := added(t, s, Entry{Kind: Convention, Title: "Use tabs"})
	gone := added(t, s, Entry{Kind: Convention, Title: "Use make"})
	if e := added(t, s, Entry{Kind: Convention, Title: "Use spaces", Replaces: old.ID}); e.State != Active {
		t.Error(e.State)
	}
	if e := added(t, s, Entry{Kind: Convention, Title: "Retire make", Retires: gone.ID}); e.State != Retired {
		t.Error(e.State)
	}
	for _, id := range []string{old.ID, gone.ID} {
		if e, err := s.Entry(id); err != nil || e.State != Retired {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

// An entry that the work contradicts becomes a candidate again.
func TestConfidence(t *testing.T) {
	s := newStore(t)
	e := added(t, s, Entry{Kind: Convention, Title: "Use tabs"})
	for i, want := range []State{Active, Candidate} {
		if err := s.Contradict(t.Context(), e.ID, person); err != nil {
			t.Fatal(err)
		}
		if e, err := s.Entry(e.ID); err != nil || e.State != want {
			t.Errorf("after %d: %+v, %v", i+1, e, err)
		}
	}
	if err := s.Accept(t.Context(), e.ID, person); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Entry(e.ID); err != nil || e.State != Active || e.Confidence() != 0.5 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestUndo(t *testing.T) {
	s := newStore(t)
	if _, err := s.Undo(t.Context(), 0, person); err == nil || !strings.Contains(err.Error(), "no change to undo") {
		t.Error(err)
	}
	e := added(t, s, Entry{Kind: Convention, Title: "Use tabs", Text: "one"}) // changes 1 and 2
	if err := s.Rewrite(t.Context(), e.ID, "Use tabs", "two", person); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Undo(t.Context(), 2, person); err == nil || !strings.Contains(err.Error(), "changed since change 2") {
		t.Error(err)
	}
	for i, want := range []string{"one", "one", ""} { // 3, 2 and 1 are undone
		c, err := s.Undo(t.Context(), 0, person)
		if err != nil || c.Undoes != 3-i {
			t.Fatalf("%+v, %v", c, err)
		}
		now, err := s.Entry(e.ID)
		if want == "" {
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("%+v, %v", now, err)
			}
		} else if err != nil || now.Text != want {
			t.Errorf("%+v, %v", now, err)
		}
	}
	if _, err := s.Undo(t.Context(), 3, person); err == nil || !strings.Contains(err.Error(), "was undone before") {
		t.Error(err)
	}
	if _, err := s.Undo(t.Context(), 9, person); err == nil || !strings.Contains(err.Error(), "no change 9") {
		t.Error(err)
	}
}

// Secrets are not kept, and the error does not show them.
func TestSecrets(t *testing.T) {
	s := newStore(t)
	key := "sk-ant-api03-" + strings.Repeat("aB3x", 12)
	for _, e := range []Entry{
		{Kind: Procedure, Title: "Deploy", Text: "export ANTHROPIC_API_KEY=" + key},
		{Kind: Procedure, Title: "The key is " + key},
		{Kind: Procedure, Title: "Log in", Text: "mysql --password=hunter2hunter2 -u me"},
		{Kind: Procedure, Title: "Fetch", Text: "git clone https://me:hunter2hunter2@example.com/x"},
	} {
		if _, err := s.Add(t.Context(), e, person); err == nil || !strings.Contains(err.Error(), "holds a secret") || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", e.Title, err)
		}
	}
	if e, err := s.Add(t.Context(), Entry{Kind: Preference, Title: "Write to ann@example.com"}, person); err != nil || e.Title != "Write to ann@example.com" {
		t.Error(err)
	}
	if entries, _, _ := s.Entries(); len(entries) != 1 {
		t.Errorf("%d entries", len(entries))
	}
}

// A repository cannot have the store write or read elsewhere.
func TestLinkedFolder(t *testing.T) {
	for _, link := range []string{".openagent", ".openagent/memory"} {
		s, other := newStore(t), t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(s.root, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(other, "memory"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(other, filepath.Join(s.root, link)); err != nil {
			t.Skip(err)
		}
		if _, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "a"}, person); err == nil || !strings.Contains(err.Error(), "not a folder but a link") {
			t.Error(err)
		}
		if _, _, err := s.Entries(); err == nil {
			t.Error("read through a link")
		}
		_ = filepath.WalkDir(other, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				t.Errorf("%s was made, %v", path, err)
			}
			return nil
		})
	}
	s := newStore(t) // an entry that is a link is no entry
	e := added(t, s, Entry{Kind: Pitfall, Title: "a"})
	if err := os.Rename(s.File(e.ID), filepath.Join(s.root, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.root, "moved"), s.File(e.ID)); err != nil {
		t.Skip(err)
	}
	if entries, problems, err := s.Entries(); len(entries) != 0 || len(problems) != 1 || err != nil {
		t.Errorf("%v, %v, %v", entries, problems, err)
	}
}

// accepted is a Trust in memory.
type accepted map[string]bool

func (a accepted) Trusted(path string, content []byte) bool { return a[path+string(content)] }
func (a accepted) Add(path string, content []byte) error    { a[path+string(content)] = true; return nil }

// An entry that came with the repository, or that was edited, counts once it is accepted here.
func TestTrust(t *testing.T) {
	s := newStore(t)
	s.Trust = accepted{}
	e := added(t, s, Entry{Kind: Pitfall, Title: "a"})
	if err := os.WriteFile(s.File("foreign-1"), []byte("---\ntitle: foreign\nkind: pitfall\nstate: active\n---\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	states := func() (out []string) {
		entries, _, err := s.Entries()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			one, err := s.Entry(e.ID)
			if err != nil || one.State != e.State {
				t.Errorf("%+v, %v", one, err)
			}
			out = append(out, e.ID+" "+string(e.State))
		}
		return out
	}
	if got := states(); !slices.Equal(got, []string{e.ID + " active", "foreign-1 candidate"}) {
		t.Error(got)
	}
	m := &Memory{Stores: []Named{{"project", s}}}
	if list := m.List(nil); strings.Contains(list, "foreign") || !strings.Contains(list, e.ID) {
		t.Error(list)
	}
	if err := s.Accept(t.Context(), "foreign-1", person); err != nil {
		t.Fatal(err)
	}
	if got := states(); !slices.Equal(got, []string{e.ID + " active", "foreign-1 active"}) {
		t.Error(got)
	}
}

// A record that came with a repository writes no file outside of the folder, and makes no entry
// active that nobody here has accepted.
func TestForeignRecord(t *testing.T) {
	const file = `---\ntitle: foreign\nkind: pitfall\nstate: active\n---\n`
	for id, mistake := range map[string]string{"../../outside": "line 1 is damaged", "INDEX": "line 1 is damaged", "foreign-1": ""} {
		s := newStore(t)
		s.Trust = accepted{}
		if err := os.MkdirAll(s.Path(), 0o755); err != nil {
			t.Fatal(err)
		}
		line := `{"n":1,"by":"person","files":[{"id":"` + id + `","after":"` + file + `"}]}` + "\n"
		if err := os.WriteFile(filepath.Join(s.Path(), changesName), []byte(line+line), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "own"}, person)
		if mistake == "" && err != nil || mistake != "" && (err == nil || !strings.Contains(err.Error(), mistake)) {
			t.Errorf("%s: %v", id, err)
		}
		if list := (&Memory{Stores: []Named{{"project", s}}}).List(nil); list != "" {
			t.Error(list)
		}
		if _, err := os.Lstat(filepath.Join(s.root, "outside.md")); err == nil {
			t.Error("a file outside of the folder was written")
		}
	}
}

// A change that cannot be recorded is not made.
func TestRecordFirst(t *testing.T) {
	s := newStore(t)
	if err := os.MkdirAll(filepath.Join(s.Path(), ignoreName, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "a"}, person); err == nil {
		t.Errorf("added %+v", e)
	}
	if entries, problems, err := s.Entries(); len(entries) != 0 || len(problems) != 0 || err != nil {
		t.Errorf("%v, %v, %v", entries, problems, err)
	}
}

// A change whose writer died after recording it is made by the next writer. One that was made is not
// made again: the file may have been taken back, as by rewinding a session.
func TestUnfinishedChange(t *testing.T) {
	for _, died := range []bool{true, false} {
		s := newStore(t)
		first, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "a"}, person)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(s.File(first.ID)); err != nil {
			t.Fatal(err)
		}
		if died { // before it wrote the file and noted that
			if err := os.Truncate(filepath.Join(s.Path(), lockName), 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "b"}, person); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Entry(first.ID); (err == nil) != died {
			t.Errorf("the writer died: %v, and the entry: %v", died, err)
		}
	}
}

// Reasons are kept without keys.
func TestSecretReason(t *testing.T) {
	s := newStore(t)
	key := "sk-ant-api03-" + strings.Repeat("aB3x", 12)
	if _, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "a"}, Reason{By: "agent", Why: "the key is " + key}); err != nil {
		t.Fatal(err)
	}
	if changes, err := s.Changes(); err != nil || len(changes) != 1 || strings.Contains(changes[0].Why, key) {
		t.Errorf("%+v, %v", changes, err)
	}
}

// No file makes the reader fail but with an error, and what is read is written as it was.
func FuzzParse(f *testing.F) {
	f.Add([]byte("---\ntitle: a\nkind: pitfall\nevidence: [x#1-2]\nmore: {a: [1, b]}\n---\ntext"))
	f.Add([]byte("---\ntitle: &a a\nkind: *a\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parse("id", data)
		if err != nil {
			return
		}
		out, err := e.format()
		if err != nil {
			return
		}
		again, err := parse("id", out)
		if err != nil || again.Title != e.Title || again.Text != e.Text || again.Kind != e.Kind || again.State != e.State || len(again.Evidence) != len(e.Evidence) {
			t.Errorf("%q: %v\n%s", data, err, out)
		}
	})
}

// The queue is of this machine alone: it is not committed.
func TestQueueIgnored(t *testing.T) {
	s := newStore(t)
	if err := s.queue(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(s.Path(), ignoreName)); err != nil || !strings.Contains(string(data), queueName) {
		t.Errorf("%q, %v", data, err)
	}
}
