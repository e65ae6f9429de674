package attached

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/cmd/openagent/internal/usage"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// commands are those that work on a session of a server.
var commands = []ui.CommandInfo{
	{Name: "help", Help: "list the commands"},
	{Name: "detach", Help: "leave; the run continues on the server"},
	{Name: "sessions", Help: "go to another session of the server"},
	{Name: "model", Hint: "[NAME]", Help: "show the model, or choose one for your next prompts"},
	{Name: "mode", Hint: "[MODE]", Help: "show or change the permission mode"},
	{Name: "resume", Help: "continue an interrupted run"},
	{Name: "rename", Hint: "[TITLE]", Help: "set the title of this session, or remove it"},
	{Name: "rewind", Help: "go back to before a prompt: conversation, files or both"},
	{Name: "agents", Help: "list the sub-agents of this session"},
	{Name: "cost", Help: "show the cost of this session by model"},
	{Name: "context", Help: "show what fills the model's context"},
	{Name: "compact", Hint: "[WORDS]", Help: "summarise the conversation to free context; WORDS tell the model what to keep"},
	{Name: "export", Hint: "[FILE]", Help: "write the session to a file on this machine: .md, .html or .json"},
	{Name: "copy", Hint: "[N|code N]", Help: "copy the last answer, the answer before it, or a block of its code"},
	{Name: "theme", Hint: "[NAME]", Help: "colours: auto, dark, light, contrast or none"},
	{Name: "status", Help: "show the server, the session, its folder and model"},
	{Name: "keys", Help: "list the keys"},
	{Name: "quit", Help: "the same as /detach"},
}

// command runs a command. It runs in the goroutine of the loop.
func (v *View) command(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	arg = strings.TrimSpace(arg)
	background := func(do func() error) {
		v.work.Go(func() {
			if err := do(); err != nil && ctx.Err() == nil {
				v.warn(err)
			}
		})
	}
	switch name {
	case "help":
		for _, i := range commands {
			v.say(ui.PlainLine, fmt.Sprintf("%-17s %s", strings.TrimSpace("/"+i.Name+" "+i.Hint), i.Help))
		}
	case "detach", "quit", "exit":
		v.post(ui.Quit{})
	case "keys":
		v.post(ui.ListKeys{})
	case "status":
		v.status()
	case "theme":
		v.theming(arg)
	case "copy":
		n, err := v.loop.CopyAnswer(strings.Fields(arg))
		if err != nil {
			v.warn(err)
			return
		}
		v.say(ui.DimLine, "  copied "+text.Count(n, "character")+" (if the terminal allows it)")
	case "agents":
		v.agents()
	case "model":
		v.chooseModel(arg)
	case "sessions":
		background(func() error { return v.offerSessions(ctx) })
	case "mode":
		if arg == "" {
			v.say(ui.PlainLine, "mode "+cmp.Or(v.modeNow(), "not known yet")+"; the modes are "+strings.Join(settings.Modes(), ", "))
			return
		}
		background(func() error { return v.changeMode(ctx, arg) })
	case "resume":
		background(func() error { return v.c.Resume(ctx, v.id) })
	case "rename":
		background(func() error {
			err := v.c.Change(ctx, v.id, "title", arg)
			if err == nil {
				v.say(ui.DimLine, cmp.Or(v.h.OneLine(arg), "no title"))
			}
			return err
		})
	case "rewind":
		background(func() error { return v.offerPrompts(ctx) })
	case "cost":
		background(func() error { return v.cost(ctx) })
	case "context":
		background(func() error { return v.context(ctx) })
	case "compact":
		background(func() error { return v.c.Compact(ctx, v.id, arg) })
	case "export":
		background(func() error { return v.export(ctx, arg) })
	default:
		var names []string
		for _, i := range commands {
			names = append(names, i.Name)
		}
		meant := ""
		if best := text.Nearest(name, names); best != "" {
			meant = "did you mean /" + best + "? "
		}
		v.say(ui.WarnLine, "! /"+cli.Clip(name)+" does not work on a session of a server; "+meant+"/help lists the commands that do")
	}
}

// picked carries out what the person chose in a picker. It runs in the goroutine of the loop.
func (v *View) picked(ctx context.Context, kind, value string) {
	switch kind {
	case "session":
		v.next = value
		v.post(ui.Quit{})
	case "prompt":
		v.work.Go(func() {
			if err := v.offerRewind(ctx, value); err != nil {
				v.warn(err)
			}
		})
	case "rewind":
		v.work.Go(func() {
			if err := v.rewind(ctx, value); err != nil {
				v.warn(err)
			}
		})
	default:
		v.command(ctx, "/"+kind+" "+value)
	}
}

func (v *View) modeNow() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mode
}

// changeMode changes the permission mode. The server refuses bypassPermissions.
func (v *View) changeMode(ctx context.Context, mode string) error {
	if err := v.c.Change(ctx, v.id, "mode", mode); err != nil {
		return err
	}
	v.mu.Lock()
	v.mode = mode
	v.mu.Unlock()
	v.post(v.facts())
	v.say(ui.DimLine, "mode "+v.h.OneLine(mode))
	return nil
}

// cycleMode changes the permission mode: ask, accept edits, plan.
func (v *View) cycleMode(ctx context.Context) {
	order := []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan}
	i := slices.Index(order, permission.Mode(cmp.Or(v.modeNow(), string(permission.Default))))
	if err := v.changeMode(ctx, string(order[(i+1)%len(order)])); err != nil {
		v.warn(err)
	}
}

// chooseModel chooses the model of the prompts that are sent from here.
func (v *View) chooseModel(name string) {
	if name == "" {
		v.say(ui.PlainLine, "model "+v.h.OneLine(v.facts().Model)+"; /model NAME chooses one for the prompts that you send from here")
		return
	}
	v.mu.Lock()
	v.model = name
	v.mu.Unlock()
	v.post(v.facts())
	v.say(ui.DimLine, "model "+v.h.OneLine(name)+", for the prompts that you send from here")
}

// offerSessions opens the picker of the sessions of the server.
func (v *View) offerSessions(ctx context.Context) error {
	list, err := v.c.Sessions(ctx)
	if err != nil {
		return err
	}
	choice := Choice(v.h, list, v.id)
	if len(choice.Items) == 0 {
		v.say(ui.DimLine, "there is no other session on the server")
		return nil
	}
	v.post(choice)
	return nil
}

// cost shows the cost by model.
func (v *View) cost(ctx context.Context) error {
	s, err := v.c.Cost(ctx, v.id)
	if err != nil {
		return err
	}
	total := "the cost is not known, because a price is not"
	if s.USD != nil {
		total = fmt.Sprintf("$%.4f", *s.USD)
	}
	v.say(ui.PlainLine, fmt.Sprintf("%s in %s, %s", total, text.Count(s.Runs, "run"), text.Count(s.Turns, "turn")))
	var names []string
	for name := range s.Models {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m := s.Models[name]
		cost := "?"
		if m.CostUSD != nil {
			cost = fmt.Sprintf("$%.4f", *m.CostUSD)
		}
		v.say(ui.PlainLine, fmt.Sprintf("  %s  %s  in %s, out %s tokens", v.h.OneLine(name), cost, cli.Thousands(m.Usage.Context()), cli.Thousands(m.Usage.Output)))
	}
	return nil
}

// context shows what fills the model's context.
func (v *View) context(ctx context.Context) error {
	var u engine.ContextUsage
	if err := v.c.Context(ctx, v.id, &u); err != nil {
		return err
	}
	for _, line := range usage.ContextLines(v.h, u) {
		v.say(ui.PlainLine, line)
	}
	return nil
}

// agents lists the sub-agents. It runs in the goroutine of the loop.
func (v *View) agents() {
	if s := v.loop.Model.State; s != nil {
		for _, it := range s.Agents {
			a, ok := it.Data.(*view.Agent)
			if !ok {
				continue
			}
			does := "works"
			if a.End != nil {
				does = "has ended"
			}
			v.say(ui.PlainLine, v.h.OneLine(a.Start.Agent)+" "+does)
		}
		if len(s.Agents) > 0 {
			return
		}
	}
	v.say(ui.DimLine, "there are no sub-agents here")
}

// export writes the session to a file.
func (v *View) export(ctx context.Context, name string) error {
	name = cmp.Or(name, "openagent-"+v.id[:min(8, len(v.id))]+".html")
	format := "markdown"
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm":
		format = "html"
	case ".json":
		format = "json"
	}
	b, err := v.c.Export(ctx, v.id, format)
	if err == nil {
		err = safefile.Replacement{}.Bytes(name, b)
	}
	if err == nil {
		v.say(ui.DimLine, "  wrote "+v.h.OneLine(name))
	}
	return err
}

// status shows where the session is.
func (v *View) status() {
	f := v.facts()
	v.say(ui.PlainLine, strings.Join([]string{
		"server   " + v.h.OneLine(v.c.URL),
		"session  " + v.id,
		"folder   " + v.h.OneLine(f.Dir) + ", on the server's machine",
		"model    " + v.h.OneLine(f.Model),
		"mode     " + cmp.Or(v.h.OneLine(f.Mode), "not known yet"),
	}, "\n"))
}

// theming changes the colours. It runs in the goroutine of the loop.
func (v *View) theming(name string) {
	if name == "" {
		choice := ui.Choice{Kind: "theme", Title: "colours"}
		for _, n := range draw.Themes {
			choice.Items = append(choice.Items, ui.Item{Text: n, Value: n})
		}
		v.post(choice)
		return
	}
	if !slices.Contains(draw.Themes, name) {
		v.say(ui.WarnLine, "! there is no theme "+v.h.OneLine(name)+"; there are "+strings.Join(draw.Themes, ", "))
		return
	}
	v.themed = name != "auto"
	v.theme = draw.Theme{Colours: settings.Colours(v.h)}.Named(name)
	v.loop.Terminal.Repaint()
	v.say(ui.DimLine, "theme "+name)
}

// Choice offers sessions of a server, those that run first. without is not offered.
func Choice(h *cli.IO, list []remote.Info, without string) ui.Choice {
	choice := ui.Choice{Kind: "session", Title: "attach to"}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b remote.Info) int { return rank(a) - rank(b) })
	for _, i := range list {
		if i.Session == without {
			continue
		}
		note := i.Updated.Local().Format("2 Jan 15:04")
		if does := doing[i.State]; does != "" {
			note = does + "  " + note
		}
		choice.Items = append(choice.Items, ui.Item{Text: text.Runes(h.OneLine(cmp.Or(i.Title, i.Prompt, i.Session)), 200), Note: note, Value: i.Session})
	}
	return choice
}

// Runs reports whether a run of a session works, or waits for an answer.
func Runs(i remote.Info) bool {
	return i.State == session.StateRunning || i.State == session.StateWaiting
}

func rank(i remote.Info) int {
	if Runs(i) {
		return 0
	}
	return 1
}

var doing = map[session.State]string{session.StateRunning: "runs", session.StateUnfinished: "stopped", session.StateWaiting: "asks"}
