package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/sessionlist"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/text"
)

// ownCommands are those that only conversations on a terminal have.
func (c *Chat) ownCommands() []ui.CommandInfo {
	if c.plain {
		return plainCommands
	}
	return append(screenCommands[:len(screenCommands):len(screenCommands)], plainCommands...)
}

// screenCommands are those of the terminal UI alone.
var screenCommands = []ui.CommandInfo{
	{Name: "copy", Hint: "[N|code N]", Help: "copy the last answer, the answer before it, or a block of its code"},
	{Name: "theme", Hint: "[NAME]", Help: "colours: auto, dark, light, contrast or none"},
}

var plainCommands = []ui.CommandInfo{
	{Name: "keys", Help: "list the keys"},
	{Name: "clear", Help: "begin a new session in this folder"},
	{Name: "sessions", Help: "search, show, rename and delete sessions, or go to one"},
	{Name: "export", Hint: "[FILE]", Help: "write the session to a file: .md, .html or .json"},
	{Name: "status", Help: "show the session, model, folder and limits"},
}

// own runs a command of the terminal UI, or opens the picker of one without arguments. It
// reports false for other commands. It runs in the goroutine of the loop.
func (c *Chat) own(ctx context.Context, line string) bool {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch {
	case name == "/copy":
		if err := c.copy(strings.Fields(arg)); err != nil {
			c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
		}
	case name == "/keys":
		c.post(ui.ListKeys{})
	case name == "/status":
		c.status()
	case name == "/agents" && arg == "" && len(c.s.RunningAgents()) > 0:
		c.offerAgents()
	case name == "/jobs" && arg == "" && len(c.s.JobIDs()) > 0:
		c.offerJobs()
	case name == "/diff" && c.screen != nil:
		c.runs.Go(func() { c.diff(ctx, arg) })
	case name == "/init" && arg == "" && !c.running.Load():
		c.offerInit(ctx)
	case name == "/clear":
		c.goTo(sessionlist.Chosen{})
	case name == "/sessions":
		c.runs.Go(func() { c.offerSessions(ctx) })
	case name == "/resume" && arg == "":
		c.runs.Go(func() { c.resume(ctx) })
	case name == "/export":
		go c.export(ctx, arg)
	case name == "/model" && arg == "":
		c.offerModels()
	case name == "/theme" && arg == "":
		c.offer("theme", "theme", draw.Themes)
	case name == "/theme":
		c.setTheme(arg)
	case name == "/mode" && arg == "":
		c.offer("mode", "permission mode", settings.Modes())
	case name == "/effort" && arg == "":
		c.offer("effort", "thinking effort", append(settings.Efforts, "adaptive", "off"))
	case name == "/rewind" && arg == "" && !c.running.Load():
		c.offerPrompts(ctx)
	default:
		return false
	}
	return true
}

// offer opens a picker of words.
func (c *Chat) offer(kind, title string, words []string) {
	choice := ui.Choice{Kind: kind, Title: title}
	for _, w := range words {
		choice.Items = append(choice.Items, ui.Item{Text: w, Value: w})
	}
	c.post(choice)
}

// offerAgents opens the picker of sub-agents to stop.
func (c *Chat) offerAgents() {
	choice := ui.Choice{Kind: "agents", Title: "stop an agent"}
	for _, a := range c.s.RunningAgents() {
		note := "its caller waits"
		if a.Background {
			note = "in the background"
		}
		about := a.Name
		if task := draw.Task(c.front.model().State, a.Call); task != "" {
			about += ": " + task
		}
		choice.Items = append(choice.Items, ui.Item{Text: c.h.OneLine(about), Note: note, Value: "stop " + a.ID})
	}
	choice.Items = append(choice.Items, ui.Item{Text: "all of them", Value: "stop all"})
	c.post(choice)
}

// offerJobs opens the picker of background commands to end.
func (c *Chat) offerJobs() {
	choice := ui.Choice{Kind: "jobs", Title: "end a background command"}
	for _, j := range c.s.RunningJobs() {
		choice.Items = append(choice.Items, ui.Item{Text: text.Runes(c.h.OneLine(j.Command), 200), Note: j.ID, Value: "stop " + j.ID})
	}
	choice.Items = append(choice.Items, ui.Item{Text: "all of them", Value: "stop all"})
	c.post(choice)
}

// picked carries out what the person chose in a picker.
func (c *Chat) picked(ctx context.Context, kind, value string) {
	switch kind {
	case "theme":
		c.setTheme(value)
	case sessionlist.Kind:
		c.runs.Go(func() { c.openSession(ctx, value) })
	case notePicker:
		note := c.note
		c.runs.Go(func() { c.keepNote(value, note) })
	case promptPicker:
		c.stopChanges()
		c.runs.Go(func() { c.offerRewind(ctx, value) })
	case rewindPicker:
		c.runs.Go(func() { c.rewind(ctx, value) })
	default:
		go c.command(ctx, "/"+kind+" "+value)
	}
}

// unpicked follows a picker that the person has closed.
func (c *Chat) unpicked(ctx context.Context, a ui.Unpicked) {
	switch a.Kind {
	case notePicker: // nothing that was typed is lost
		c.post(ui.Draft{Text: "# " + c.note})
	case promptPicker:
		c.stopChanges()
	case rewindPicker: // back to the prompts
		c.offerPrompts(ctx)
	default:
		c.list.Do(ctx, a)
	}
}

func (c *Chat) setTheme(name string) {
	for _, n := range draw.Themes {
		if n == name {
			c.themed = name != "auto"
			c.theme = draw.Theme{Colours: settings.Colours(c.h)}.Named(name)
			c.screen.Terminal.Repaint()
			c.say(ui.DimLine, "theme "+name)
			return
		}
	}
	c.say(ui.WarnLine, "! there is no theme "+c.h.OneLine(name)+"; there are "+strings.Join(draw.Themes, ", "))
}

// status shows what the session runs with.
func (c *Chat) status() {
	s := c.s.EffectiveSettings()
	c.say(ui.PlainLine, strings.Join([]string{
		"session  " + c.s.Session.ID,
		"folder   " + c.h.OneLine(c.s.Project),
		"model    " + c.h.OneLine(s.Model) + ", provider " + c.h.OneLine(s.Provider),
		fmt.Sprintf("mode     %v", c.slash.Mode.Load()),
		"effort   " + s.ThinkingText(),
		"limits   " + s.BudgetText(),
		"tools    " + c.h.OneLine(strings.Join(s.Tools, ", ")),
	}, "\n"))
}

// copy puts an answer, or a block of its code, into the clipboard.
func (c *Chat) copy(words []string) error {
	n, err := c.screen.CopyAnswer(words)
	if err == nil {
		c.say(ui.DimLine, "  copied "+text.Count(n, "character")+" (if the terminal allows it)")
	}
	return err
}
