package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

const (
	// demoVictim is the scenario, named nowhere else, of the process that is killed.
	demoVictim  = "chaos-victim"
	bookSession = "booking"
	bookTask    = "Book order 7 with " + chaosLedger + "."
	bookFile    = "ledger.txt"
	// bookStart is how long the process may take to begin its write.
	bookStart = 20 * time.Second
)

// A booking is an agent that books an order, with its session on the disk. The
// process that is killed and the one that goes on are made of the same.
type booking struct {
	workspace *workspace.Workspace
	server    *llmtest.Server
	store     session.Store
	session   *agent.Session
}

func newBooking(dir string) *booking {
	b := &booking{
		workspace: &workspace.Workspace{Root: dir, OutputDir: dir},
		server:    &llmtest.Server{Rule: func(r *llmtest.Request, _ int) llmtest.Step { return answerBooking(newTalk(r)) }},
		store:     session.Dir(filepath.Join(dir, "sessions")),
	}
	a := &agent.Agent{
		Model: demoClient(b.server).Model(demoRules), Dir: dir, Sessions: b.store, Retry: &agent.Retry{Tries: -1},
		Tools:  []tool.Tool{tools.Read(b.workspace), tools.Edit(b.workspace), tools.Bash(b.workspace)},
		System: "This is a demo: rules answer in the place of a model.", Output: &tool.Output{Dir: dir},
		Permissions: permission.Policy{Mode: permission.AcceptEdits, Allow: []permission.Rule{"Bash(sh " + chaosLedger + ")"}},
		Budget:      agent.Budget{Turns: 10},
	}
	b.session = a.Session(bookSession)
	return b
}

func (b *booking) close() error {
	err := errors.Join(b.session.Close(), b.workspace.Close())
	b.server.Close()
	return err
}

// answerBooking is the model of a booking. All it knows is in the results.
func answerBooking(t *conversation) llmtest.Step {
	switch entry := shownText(t.output("entry")); {
	case !t.has("book"):
		return llmtest.Step{Text: "I book it.", Calls: uses(shell("book", "sh "+chaosLedger))}
	case !t.failed("book"):
		return llmtest.Say("Booked.")
	case !t.has("entry"):
		return llmtest.Step{Text: "I do not know what became of it, so I look before I book twice.", Calls: uses(
			llmtest.Use("entry", "Read", map[string]any{"file_path": bookFile}))}
	case !strings.Contains(entry, "order 7: ") || strings.Contains(entry, "paid"):
		return llmtest.Say("The ledger says:\n" + t.text("entry"))
	case !t.has("finish"):
		return llmtest.Step{Text: "Half an entry. I finish that one.", Calls: uses(
			llmtest.Use("finish", "Edit", map[string]any{"file_path": bookFile, "old_string": "order 7: ", "new_string": "order 7: paid"}))}
	case t.failed("finish"):
		return llmtest.Say("The entry could not be finished: " + text.FirstLine(t.text("finish")))
	}
	return llmtest.Say("Order 7 is booked, once.")
}

// bookUntilKilled is the process that is killed.
func bookUntilKilled(ctx context.Context, dir string) error {
	b := newBooking(dir)
	_, err := b.session.Prompt(ctx, bookTask)
	return errors.Join(err, b.close())
}

// crash kills a process of this program in the middle of a write, and goes on
// from its journal.
func (k *chaos) crash(ctx context.Context, to audience) error {
	did, err := k.killAndResume(ctx, to)
	if ctx.Err() != nil {
		return nil // the verdict says so
	}
	return to.fault(k.faults.settle(killed, did, err))
}

func (k *chaos) killAndResume(ctx context.Context, to audience) (did string, err error) {
	if err := killBooking(ctx, k.dir); err != nil {
		return "", err
	}
	k.faults.inject(killed)
	b := newBooking(k.dir)
	defer func() { err = errors.Join(err, b.close()) }()
	for e, err := range b.store.Read(ctx, bookSession, 0) {
		if err != nil {
			return "", err
		}
		if err := to.event(ctx, e); err != nil {
			return "", err
		}
	}
	if _, err := watch(ctx, b.session.Resume(ctx), to); err != nil {
		return "", err
	}
	if err := legal(b.server.Violations()); err != nil {
		return "", err
	}
	return judgeKilled(ctx, b, k.dir)
}

// killBooking starts a booking in a process of its own and kills that once it
// has begun to write.
func killBooking(ctx context.Context, dir string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	said, err := os.Create(filepath.Join(dir, "stderr.txt"))
	if err != nil {
		return fmt.Errorf("starting a process: %w", err)
	}
	defer said.Close()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Args = []string{"openagent", "demo", demoVictim, "--dir", dir}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting a process: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	late := time.After(bookStart)
	for {
		select {
		case err := <-ended:
			words := make([]byte, 500)
			n, _ := said.ReadAt(words, 0) // fewer are the rule
			return fmt.Errorf("the process ended before it could be killed (%v): %s", err, text.FirstLine(string(words[:n])))
		case <-late:
			err = fmt.Errorf("the process wrote nothing within %v", bookStart)
		case <-time.After(5 * time.Millisecond):
			if info, statErr := os.Stat(filepath.Join(dir, bookFile)); statErr != nil || info.Size() == 0 {
				continue
			}
		}
		return errors.Join(err, cmd.Process.Kill(), await(ended))
	}
}

// await waits for a process that was killed.
func await(ended <-chan error) error {
	var exit *exec.ExitError
	if err := <-ended; err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

// judgeKilled wants one start of the command in the journal, a model that was
// told that its outcome is not known, and one entry in the ledger.
func judgeKilled(ctx context.Context, b *booking, dir string) (string, error) {
	started, call := 0, ""
	var result event.ToolResult
	for e, err := range b.store.Read(ctx, bookSession, 0) {
		if err != nil {
			return "", err
		}
		switch d := e.Data.(type) {
		case event.AssistantMessage:
			for i, u := range d.Response.Message.ToolUses() {
				if u.ID == "book" {
					call = streamjson.CallID(e.Seq, i)
				}
			}
		case event.ToolStart:
			if d.Call == call {
				started++
			}
		case event.ToolResult:
			if d.Call == call {
				result = d
			}
		}
	}
	pid, err := pidIn(filepath.Join(dir, "ledger.pid"))
	if err != nil {
		return "", fmt.Errorf("finding the command's process: %w", err)
	}
	ledger, err := os.ReadFile(filepath.Join(dir, bookFile))
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the ledger: %w", err)
	case !gone(pid):
		return "", fmt.Errorf("the command's process %d outlived the program", pid)
	case started != 1:
		return "", fmt.Errorf("the command was started %s", cli.Plural(started, "time"))
	case result.Cause != fact.ByCrash:
		return "", fmt.Errorf("the model was told %q", text.FirstLine(result.Result.Text()))
	case string(ledger) != "order 7: paid":
		return "", fmt.Errorf("the ledger says %q", text.Runes(string(ledger), 60))
	}
	return fmt.Sprintf("resumed: outcome %s, not repeated (started %s); process %d gone; one entry in the ledger",
		result.Cause, cli.Plural(started, "time"), pid), nil
}
