package durable_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A desk is a folder with one file, which each prompt changes to its own text.
type desk struct {
	*testing.T
	db   *durabletest.Memory
	dir  string
	file string

	mu     sync.Mutex
	writes int
}

type change struct {
	Text string `json:"text"`
}

func newDesk(t *testing.T) *desk {
	d := &desk{T: t, db: &durabletest.Memory{Lease: 50 * time.Millisecond}, dir: t.TempDir()}
	d.file = filepath.Join(d.dir, "file")
	d.write("before")
	return d
}

func (d *desk) write(text string) {
	if err := os.WriteFile(d.file, []byte(text), 0o600); err != nil {
		d.Error(err)
	}
}

func (d *desk) has(text string) {
	d.Helper()
	if data, err := os.ReadFile(d.file); err != nil || string(data) != text {
		d.Errorf("the file has %q, %v, want %q", data, err, text)
	}
}

// agent returns an agent that saves the files of the folder.
func (d *desk) agent(backend durable.Backend, take func(context.Context, agent.CheckpointPlace) (string, error)) *agent.Agent {
	changes := tool.New(tool.Spec{Name: "change"}, func(_ context.Context, _ tool.Call, in change) (*tool.Result, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.writes++
		d.write(in.Text)
		return tool.Text("changed"), nil
	})
	return &agent.Agent{Program: "desk", Dir: d.dir, Checkpoint: take, Tools: []tool.Tool{changes}, Permissions: permission.Policy{Allow: []permission.Rule{"change"}}, Sessions: backend.Store("", nil),
		Model: &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
			prompt := ""
			for _, m := range r.Messages {
				if m.Role == llm.Assistant {
					prompt = ""
				} else if strings.HasPrefix(m.Text(), "after") {
					prompt = m.Text()
				}
			}
			if prompt != "" {
				return llmtest.Call(llmtest.Use("", "change", change{prompt}))
			}
			return llmtest.Say("done")
		}}}
}

// work lets a worker look after the session.
func (d *desk) work(backend durable.Backend, a *agent.Agent) {
	d.Helper()
	w := &durable.Worker{Backend: backend, Agent: func(context.Context, durable.Where) (durable.Hosted, error) { return durable.Hosted{Agent: a}, nil }}
	if out, err := w.Work(d.Context(), "s", durable.Wake{}); err != nil || out != durable.Idle {
		d.Errorf("a worker left the session as %q, %v", out, err)
	}
}

type noBell struct{}

func (noBell) Wake(context.Context, string) error { return nil }

func (d *desk) prompt(text string) {
	d.Helper()
	client := &durable.Client{Backend: d.db.Connect(), Engine: noBell{}}
	if _, err := client.Send(d.Context(), "s", "", durable.Prompt{Text: text}); err != nil {
		d.Fatal(err)
	}
}

// before returns the number of the fact before a prompt.
func (d *desk) before(text string) int64 {
	d.Helper()
	for e, err := range d.db.Connect().Store("", nil).Read(d.Context(), "s", 0) {
		if err != nil {
			d.Fatal(err)
		}
		if m, ok := e.Data.(event.UserMessage); ok && m.Message.Text() == text {
			return e.Seq - 1
		}
	}
	d.Fatalf("prompt %q is not on record", text)
	return 0
}

// rewind brings the files of a checkpoint back.
func (d *desk) rewind(store *checkpoint.Store, seq int64) error {
	backend := d.db.Connect()
	s := d.agent(backend, nil).Session("s")
	defer s.Close()
	return s.RewindFiles(d.Context(), seq, func(ctx context.Context, id string, record func(string) error) error {
		_, err := store.Restore(ctx, "s", id, record)
		return err
	})
}

func takeIn(store *checkpoint.Store) func(context.Context, agent.CheckpointPlace) (string, error) {
	return func(ctx context.Context, at agent.CheckpointPlace) (string, error) {
		return store.Take(ctx, at.Session, at.Prompt, at.Roots...)
	}
}

// A worker loses its session while it saves files. What it saves later, after another worker has changed
// them, does not count, and it changes nothing itself.
func TestLostWhileSavingFiles(t *testing.T) {
	d := newDesk(t)
	files := &checkpoint.Store{Dir: t.TempDir()}
	first, second := d.db.Connect(), d.db.Connect()
	taking, release, took, left := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	slow := d.agent(first, func(ctx context.Context, at agent.CheckpointPlace) (string, error) {
		close(taking)
		<-release
		defer close(took)
		return takeIn(files)(context.WithoutCancel(ctx), at)
	})
	d.prompt("after")
	go func() {
		defer close(left)
		w := &durable.Worker{Backend: first, Agent: func(context.Context, durable.Where) (durable.Hosted, error) { return durable.Hosted{Agent: slow}, nil }}
		if out, err := w.Work(t.Context(), "s", durable.Wake{}); err == nil && out == durable.Idle {
			t.Errorf("a worker that lost its session left it as %q", out)
		}
	}()
	select {
	case <-taking:
	case <-left:
		t.Fatal("the worker left before it saved files")
	}
	first.Kill()
	d.work(second, d.agent(second, takeIn(files)))
	d.has("after")
	close(release)
	<-took
	<-left
	if d.mu.Lock(); d.writes != 1 {
		t.Errorf("the file was changed %d times", d.writes)
	}
	d.mu.Unlock()
	if list, err := files.List(t.Context(), "s"); err != nil || len(list) != 2 {
		t.Errorf("the store has %+v, %v: the late worker was to save the files too", list, err)
	}
	if err := errors.Join(files.Verify(t.Context()), d.rewind(files, d.before("after"))); err != nil {
		t.Error(err)
	}
	d.has("before")
}

// Files that another machine has saved are not brought back here. The error names what is missing, and
// nothing changes.
func TestFilesSavedElsewhere(t *testing.T) {
	d := newDesk(t)
	stores := map[string]*checkpoint.Store{"after 1": {Dir: t.TempDir()}, "after 2": {Dir: t.TempDir()}}
	for _, text := range []string{"after 1", "after 2"} { // each at a machine of its own
		d.prompt(text)
		backend := d.db.Connect()
		d.work(backend, d.agent(backend, takeIn(stores[text])))
	}
	d.has("after 2")
	facts := func() (n int) {
		for range d.db.Connect().Store("", nil).Read(t.Context(), "s", 0) {
			n++
		}
		return n
	}
	before := facts()
	for text, other := range map[string]*checkpoint.Store{"after 1": stores["after 2"], "after 2": stores["after 1"]} {
		err := d.rewind(other, d.before(text))
		list, _ := stores[text].List(t.Context(), "s")
		if !errors.Is(err, checkpoint.ErrNotFound) || len(list) != 1 || !strings.Contains(err.Error(), list[0].ID) || !strings.Contains(err.Error(), other.Dir) || !strings.Contains(err.Error(), "another machine") {
			t.Errorf("%s: %v", text, err)
		}
	}
	d.has("after 2")
	if n := facts(); n != before {
		t.Errorf("%d facts were recorded", n-before)
	}
	if err := d.rewind(stores["after 1"], d.before("after 1")); err != nil {
		t.Error(err)
	}
	d.has("before")
}
