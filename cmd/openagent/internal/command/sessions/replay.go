package sessions

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/oneshot"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/replay"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// replayOptions are the flags of sessions replay.
type replayOptions struct {
	run      settings.Options
	from     int
	live     bool
	show     bool
	runTools bool
}

// replayCommand returns the command "openagent sessions replay".
func (o *sessionsOptions) replayCommand(h *cli.IO) cli.Command {
	return cli.Command{Name: "replay", Args: "ID [prompt]", MinArgs: 1, MaxArgs: 2, Summary: "Run a recorded session again, and show where it would differ now",
		Details: `Answers of the model and results of tools come from the record.
Settings, rules, hooks and tools are those of now.
No key is needed, no tool runs and no server is started. Hooks of settings do run.
With --from SEQ --live it continues for real from that fact on, in a copy of the session.
Exit codes: 0 no difference, 1 a difference, 2 usage or configuration.
With --live they are those of openagent -p.
`,
		Examples: []string{"openagent sessions replay 01J9ZQ", "openagent sessions replay 01J9ZQ --from 12 --live --model claude-haiku-4-5"},
		Flags:    func() cli.Flags { return append(cli.ListFlags(&o.format), o.replay.flags()...) },
		Run:      func(ctx context.Context, args []string) error { return replaySession(ctx, h, o, args) }}
}

func (o *replayOptions) flags() cli.Flags {
	return append(cli.Flags{
		{Name: "from", Arg: "SEQ", Help: "with --live: the first fact to run again; sessions show --output-format json has the numbers", Set: cli.Count(&o.from)},
		{Name: "live", Help: "continue for real in a copy of the session, with the model, prompt and settings of the flags", Set: cli.SetTrue(&o.live)},
		{Name: "show", Help: "show the conversation while it is replayed", Set: cli.SetTrue(&o.show)},
		{Name: "run-tools", Help: "run the calls that only read again, and compare their results", Set: cli.SetTrue(&o.runTools)},
	}, o.run.JobFlags()...)
}

// A replayed is the result of a replay.
type replayed struct {
	Session     string              `json:"session"`
	Facts       int                 `json:"facts"`
	Same        bool                `json:"same"`
	Differences []replay.Difference `json:"differences"`
}

// replaySession runs a session again, or continues it for real.
func replaySession(ctx context.Context, h *cli.IO, o *sessionsOptions, args []string) error {
	r := &o.replay
	r.run.Output = o.format
	switch {
	case r.live != (r.from > 0):
		return cli.Usagef("sessions replay: use --from SEQ and --live together: SEQ is the number of the first fact to run again")
	case len(args) > 1 && !r.live:
		return cli.Usagef("sessions replay: a prompt is for --from SEQ --live")
	case r.live && (r.show || r.runTools):
		return cli.Usagef("sessions replay: --show and --run-tools are for replays without --live")
	}
	if err := r.run.Check(); err != nil {
		return err
	}
	store, id, err := sessionstore.Locate(ctx, h, r.run.Place(), args[0])
	if err != nil {
		return err
	}
	var facts []event.Event
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return cli.CommandError(ctx, err)
		}
		facts = append(facts, e)
	}
	if r.live {
		return continueLive(ctx, h, r, store, id, facts, args[1:])
	}
	return compareReplay(ctx, h, o, store, id, facts)
}

// compareReplay replays a session and shows where it differs.
func compareReplay(ctx context.Context, h *cli.IO, o *sessionsOptions, store session.Store, id string, facts []event.Event) (err error) {
	r := &o.replay
	dir, err := sessionFolder(facts)
	if err != nil {
		return err
	}
	s, err := app.OpenToReplay(ctx, h, &r.run, dir, store, facts)
	if err != nil {
		return err
	}
	defer func() {
		if ended := s.Close(); err == nil {
			err = ended
		}
	}()
	p := replay.Session{Agent: s.Agent, Store: store, ID: id}
	if r.runTools {
		read := map[string]bool{}
		for _, t := range s.Agent.Tools {
			read[t.Spec().Name] = t.Spec().ReadOnly
		}
		p.RunTool = func(call tool.Call) bool { return read[call.Name] }
	}
	if r.show && o.format != cli.FormatJSON {
		p.Watch = func(e event.Event) {
			if _, is := e.Data.(event.Fact); is && e.Session == id && err == nil {
				err = showTurn(h, id, e)
			}
		}
	}
	list, failed := p.Replay(ctx)
	if err != nil {
		return err
	}
	if failed != nil {
		return cli.CommandError(ctx, failed)
	}
	if list == nil {
		list = []replay.Difference{}
	}
	out := replayed{Session: id, Facts: len(facts), Same: len(list) == 0, Differences: list}
	if o.format == cli.FormatJSON {
		line, err := cli.EncodeLine(out)
		if err == nil {
			err = h.Show(string(line))
		}
		if err != nil {
			return err
		}
	} else if err := h.Show(out.text(h)); err != nil {
		return err
	}
	if !out.Same {
		return cli.ExitCode(cli.ExitInternal)
	}
	return nil
}

// maxShown is how many differences are shown to people.
const maxShown = 20

// text is the result for people.
func (r replayed) text(h *cli.IO) string {
	if r.Same {
		return fmt.Sprintf("session %s: %s, no difference\n", r.Session, cli.Plural(r.Facts, "fact"))
	}
	var b strings.Builder
	for i, d := range r.Differences {
		if i == maxShown {
			fmt.Fprintf(&b, "… and %d more; --output-format json has all\n", len(r.Differences)-i)
			break
		}
		if d.Session != r.Session {
			fmt.Fprintf(&b, "agent %s, ", d.Session)
		}
		b.WriteString(h.OneLine(d.String()) + "\n")
	}
	first := r.Differences[0]
	fmt.Fprintf(&b, "session %s: %s, %s; it begins to differ at fact %d\n", r.Session, cli.Plural(r.Facts, "fact"), cli.Plural(len(r.Differences), "difference"), first.Seq)
	return b.String()
}

// sessionFolder returns the folder that a session worked in.
func sessionFolder(facts []event.Event) (string, error) {
	for _, e := range facts {
		c, ok := e.Data.(fact.Configured)
		if !ok || len(c.Roots) == 0 {
			continue
		}
		if info, err := os.Stat(c.Roots[0]); err != nil || !info.IsDir() {
			return "", cli.Usagef("sessions replay: the folder of the session, %s, is not there; its settings and tools are needed to replay it", c.Roots[0])
		}
		return c.Roots[0], nil
	}
	return settings.WorkingDir()
}

// continueLive continues a copy of a session for real.
func continueLive(ctx context.Context, h *cli.IO, r *replayOptions, store session.Store, id string, facts []event.Event, args []string) error {
	if r.from > len(facts)+1 {
		return cli.Usagef("sessions replay: session %s has %s; --from is at most %d", id, cli.Plural(len(facts), "fact"), len(facts)+1)
	}
	kept := facts[:r.from-1]
	in := agent.Input{}
	if len(args) > 0 {
		text, err := cli.PromptArg(args)
		if err != nil {
			return err
		}
		in.Text = text
	} else if !unfinished(kept) {
		next, ok := nextPrompt(facts[r.from-1:])
		if !ok {
			return cli.Usagef("sessions replay: no prompt follows fact %d; add a prompt", r.from)
		}
		in.Blocks = next
	}
	run := &r.run
	run.Print = true
	if len(kept) > 0 {
		run.Resume, run.Fork, run.ResumeAt = id, true, kept[len(kept)-1].UUID()
	}
	s, err := app.Open(ctx, h, run, nil, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(); err != nil {
			h.Warn("%v", err)
		}
	}()
	if run.Output != cli.FormatJSON {
		h.Warn("session %s continues as %s", id, s.Session.ID)
	}
	return oneshot.Run(ctx, h, s, in)
}

// unfinished reports whether the last run of the facts can be resumed.
func unfinished(facts []event.Event) bool {
	state := new(engine.State)
	for _, e := range facts {
		state.Apply(e)
	}
	return state.Running() || state.Pending()
}

// nextPrompt returns the next prompt of the facts.
func nextPrompt(facts []event.Event) (llm.Blocks, bool) {
	for _, e := range facts {
		if m, ok := e.Data.(event.UserMessage); ok && m.Delivery == fact.AsPrompt {
			return m.Message.Content, true
		}
	}
	return nil, false
}
