package streamjson

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	shown "github.com/openagent-go/agent/cmd/openagent/internal/usage"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

type (
	// authLine reports that the command which prints the key runs, or has ended.
	authLine struct {
		Type    string   `json:"type"` // auth_status
		Running bool     `json:"isAuthenticating"`
		Output  []string `json:"output"`
		Error   string   `json:"error,omitempty"`
		Origin
	}
	// localLine holds the output of a slash command that asks no model.
	localLine struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"` // local_command_output
		Content string `json:"content"`
		Origin
	}
	// summaryLine says which calls the answer before it has made.
	summaryLine struct {
		Type    string   `json:"type"` // tool_use_summary
		Summary string   `json:"summary"`
		Uses    []string `json:"preceding_tool_use_ids"`
		Origin
	}
)

// watchKeyCommand reports each run of the command that prints the key. Its output is the key: nothing of
// it is shown.
func (r *Report) watchKeyCommand(s *app.App) {
	if r.put == nil || s.Provider.OnKeyCommand == nil {
		return
	}
	put, id, simulated := r.put, r.Session, r.simulated // it is called from other goroutines
	s.Provider.OnKeyCommand.Store(new(func(ended bool, err error) {
		l := authLine{Type: "auth_status", Running: !ended, Output: []string{}, Origin: Origin{UUID: session.NewID(), SessionID: id, Simulated: simulated}}
		if err != nil {
			l.Error = err.Error()
		}
		put(l)
	}))
}

// summaryVariable names the variable by which hosts of Claude Code ask for summaries of calls.
const summaryVariable = "CLAUDE_CODE_EMIT_TOOL_USE_SUMMARIES"

// maxSummary is the length of a summary in characters.
const maxSummary = 200

// summarise writes a summary of the main agent's calls of one answer, once all have ended. It counts
// them: no model is asked.
func (r *Report) summarise(calls []string) {
	if !r.claude.summaries || r.parent != nil {
		return
	}
	l := summaryLine{Type: "tool_use_summary", Origin: r.NewOrigin("")}
	var names []string
	count := map[string]int{}
	for _, id := range calls {
		u, _ := r.calls.Get(id)
		l.Uses = append(l.Uses, u.ID)
		if count[u.Name]++; count[u.Name] == 1 {
			names = append(names, u.Name)
		}
	}
	for i, name := range names {
		if n := count[name]; n > 1 {
			names[i] = fmt.Sprintf("%s (%d calls)", name, n)
		}
	}
	l.Summary = text.Runes(text.OneLine(strings.Join(names, ", ")), maxSummary)
	r.Line(l)
}

// slashNames lists the slash commands of a conversation by stream-json.
func (d *Session) slashNames() []string {
	names := d.s.SlashNames()
	for _, c := range app.LocalCommands {
		names = append(names, c.Name)
	}
	return names
}

// localCommand carries out a slash command that needs no model. ok reports whether the input is one. A
// skill of the same name comes first.
func (d *Session) localCommand(ctx context.Context, in agent.Input) (output string, ok bool, err error) {
	name, slash := strings.CutPrefix(strings.TrimSpace(in.Text), "/")
	known := slices.ContainsFunc(app.LocalCommands, func(c app.SlashCommand) bool { return c.Name == name })
	if !slash || !known || len(in.Blocks) > 0 || d.s.Skills != nil && d.s.Skills.Get(name) != nil {
		return "", false, nil
	}
	var lines []string
	if name == "cost" {
		lines, err = d.costLines(ctx)
	} else {
		lines, err = shown.SessionContext(ctx, d.H, d.s.Session)
	}
	return strings.Join(lines, "\n"), true, err
}

func (d *Session) costLines(ctx context.Context) ([]string, error) {
	if d.s.Store == nil {
		return nil, errors.New("/cost: the session is not saved, so its cost is not known; leave out --no-session-persistence")
	}
	book, err := account.Read(d.s.Store.Read(ctx, d.s.Session.ID, 0))
	if errors.Is(err, session.ErrNotFound) { // nothing is recorded before the first prompt
		book, err = new(account.Book), nil
	}
	if err != nil {
		return nil, err
	}
	return shown.CostLines(d.H, book.Cost()), nil
}

// localResult writes the output of a local command and its result. No run was needed.
func (d *Session) localResult(ctx context.Context, output string, err error) cli.Outcome {
	d.report.Expect(false)
	if err != nil {
		d.report.broken(err, event.RunEnd{})
		return d.result(ctx)
	}
	d.report.Line(localLine{Type: "system", Subtype: "local_command_output", Content: output, Origin: d.report.NewOrigin("")})
	d.report.End = event.RunEnd{Reason: event.Completed, Text: output}
	return d.result(ctx)
}
