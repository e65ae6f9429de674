// Package slash carries out the commands of a conversation that begin with a slash.
package slash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/live"
	"github.com/openagent-go/agent/cmd/openagent/internal/rewind"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// An Info describes a command.
type Info struct {
	Name string // without the slash
	Args string
	Help string
}

// List describes all commands but skills and prompts of servers.
var List = []Info{
	{"help", "", "show this list"},
	{"model", "[NAME]", "show or change the model; PROVIDER:NAME selects another provider"},
	{"fallback", "[NAMES|none]", "show or change the models to use if the model stays unavailable"},
	{"effort", "[WORD]", "show or change the thinking effort: low, medium, high, max, a number of tokens, adaptive or off"},
	{"mode", "[MODE]", "show or change the permission mode: MODES"},
	{"budget", "[WORDS]", "show or change the limits per prompt: turns=N calls=N usd=X time=DURATION, none for no limit"},
	{"tools", "[NAMES]", "list the tools, or use only the named ones; /tools all restores all"},
	{"resume", "", "continue an interrupted run"},
	{"rename", "[TITLE]", "set the title of this session, or remove it"},
	{"rewind", "", "list the prompts; /rewind FACT|last [--files|--conversation] [--dry-run] [--diff] goes back to before a prompt"},
	{"diff", "[last|FACT]", "show how the files have changed since the first prompt, the last one or another one"},
	{"permissions", "", "list the permission rules and where they come from; /permissions remove RULE removes one of this session"},
	{"init", "[improve|overwrite]", "write AGENTS.md, with what agents must know of this project"},
	{"doctor", "", "check the parts that openagent needs"},
	{"agents", "", "list running sub-agents and all definitions; /agents stop ID|NAME|all stops them"},
	{"jobs", "", "list background commands; /jobs stop ID|all stops them"},
	{"skills", "", "list the skills; /NAME [ARGUMENTS] runs one"},
	{"memory", "[ID]", "list what agents learned, or show one entry; /memory accept|reject|retire ID decides about it"},
	{"cost", "", "show the cost of this conversation by model, agent and tool"},
	{"context", "", "show what fills the model's context"},
	{"compact", "[WORDS]", "summarise the conversation to free context; WORDS tell the model what to keep"},
	{"mcp", "", "list MCP servers and their prompts; /mcp__server__prompt WORDS runs one"},
	{"live", "[watch|off]", "show this session in your browser, which may answer questions, or only watch; /live off ends it"},
	{"share", "[now]", "make a read-only link to this session for others, after a preview; /share list, /share revoke ID|all"},
	{"quit", "", "leave; openagent --continue continues this conversation"},
}

const helpEnd = `Ctrl-C stops the agent; pressed twice, it leaves. The agent reads what you type after its current step.`

// help describes all commands.
func help() string {
	var b strings.Builder
	for _, i := range List {
		fmt.Fprintf(&b, "%-17s %s\n", strings.TrimSpace("/"+i.Name+" "+i.Args), strings.ReplaceAll(i.Help, "MODES", strings.Join(settings.Modes(), ", ")))
	}
	return b.String() + helpEnd
}

// Commands carries out the commands of one conversation.
type Commands struct {
	H      *cli.IO
	App    *app.App
	Screen *term.Screen // shows what they say
	// Running reports whether a prompt runs, and Turn shows the events of one to its end.
	Running func() bool
	Turn    func(ctx context.Context, events iter.Seq2[event.Event, error]) error
	Leave   func() // ends the conversation
	Live    *live.Conversation
	Own     []string // names of further commands, which the program carries out itself
	Rules   *app.SessionRules

	Mode  atomic.Value // the permission.Mode in force
	Model string       // the model's name
}

// Run runs a line that begins with a slash.
func (c *Commands) Run(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	var err error
	switch name {
	case "/help":
		c.Screen.Line(term.Plain, "%s", c.H.Wrap(help()))
	case "/quit", "/exit":
		c.Leave()
		if c.Running() {
			_, err = c.App.Session.Interrupt(ctx)
		}
	case "/model":
		err = c.changeModel(ctx, arg)
	case "/mode":
		if arg == "" {
			c.Screen.Line(term.Plain, "mode %s; the modes are %s", c.Mode.Load(), strings.Join(settings.Modes(), ", "))
		} else if err = c.App.Options.Permits(permission.Mode(arg)); err != nil {
			break
		} else {
			err = c.changeMode(ctx, permission.Mode(arg))
		}
	case "/fallback", "/effort", "/budget", "/tools":
		err = c.tune(ctx, name, strings.FieldsFunc(arg, func(r rune) bool { return r == ',' || r == ' ' }))
	case "/compact":
		err = c.compact(ctx, arg)
	case "/mcp":
		c.showServers()
	case "/resume":
		err = c.resume(ctx)
	case "/rename":
		if err = c.App.Session.SetTitle(ctx, arg); err == nil {
			c.Screen.Line(term.Dim, "%s", cmp.Or(arg, "no title"))
		}
	case "/rewind":
		err = c.rewind(ctx, strings.Fields(arg))
	case "/diff":
		err = c.diff(ctx, arg)
	case "/permissions":
		err = c.permissions(ctx, arg)
	case "/init":
		err = c.init(ctx, arg)
	case "/doctor":
		c.doctor(ctx)
	case "/cost":
		err = c.showCost(ctx)
	case "/context":
		err = c.showContext(ctx)
	case "/agents":
		err = c.agents(strings.Fields(arg))
	case "/jobs":
		err = c.jobs(ctx, strings.Fields(arg))
	case "/memory":
		err = c.memory(ctx, strings.Fields(arg))
	case "/live":
		err = c.live(ctx, strings.Fields(arg))
	case "/share":
		err = c.share(ctx, strings.Fields(arg))
	case "/skills":
		for _, k := range c.App.Skills.UserInvocable() {
			c.Screen.Line(term.Plain, "/%s", c.H.OneLine(strings.TrimSpace(k.Name+" "+k.Hint)+"  "+text.Runes(k.Description, 120)))
		}
	default:
		err = c.skill(ctx, line)
	}
	if err != nil {
		c.Screen.Line(term.Red, "! %s", c.H.OneLine(err.Error()))
	}
}

// changeMode changes the permission mode. Mode has the new one before its event comes.
func (c *Commands) changeMode(ctx context.Context, mode permission.Mode) error {
	before := c.Mode.Swap(mode)
	if err := c.App.Session.SetMode(ctx, mode); err != nil {
		c.Mode.Store(before)
		return err
	}
	c.Screen.Line(term.Dim, "mode %s", mode)
	if mode == permission.Plan {
		c.TellOfJobs()
	}
	return nil
}

// skill runs the skill that a line names, or the prompt of a server.
func (c *Commands) skill(ctx context.Context, line string) error {
	if app.IsServerPrompt(line) {
		return c.serverPrompt(ctx, line)
	}
	x, err := c.App.ExpandSkill(line)
	name, _, _ := strings.Cut(line, " ")
	switch {
	case err != nil:
		return err
	case x == nil:
		return fmt.Errorf("unknown command or skill %s; %s/help and /skills list them", cli.Clip(name), c.meant(name))
	case c.Running():
		return errors.New("the agent is working; Ctrl-C stops it")
	}
	return c.Turn(ctx, c.App.Session.StreamInput(ctx, agent.Input{Expansion: x, Output: c.App.Options.OutputSchema}))
}

// serverPrompt runs the prompt of an MCP server that a line names.
func (c *Commands) serverPrompt(ctx context.Context, line string) error {
	if c.Running() {
		return errors.New("the agent is working; Ctrl-C stops it")
	}
	in, err := app.ExpandCommand(ctx, c.H, c.App, agent.Input{Text: line})
	if err != nil {
		return err
	}
	return c.Turn(ctx, c.App.Session.StreamInput(ctx, in))
}

// meant asks whether an unknown name is a misspelt command, skill or prompt.
func (c *Commands) meant(name string) string {
	names := append([]string{"exit"}, c.Own...)
	for _, i := range List {
		names = append(names, i.Name)
	}
	for _, k := range c.App.Commands() {
		names = append(names, k.Name)
	}
	if best := text.Nearest(strings.TrimPrefix(name, "/"), names); best != "" {
		return "did you mean /" + best + "? "
	}
	return ""
}

// compact summarises the conversation, now or before the agent's next step.
func (c *Commands) compact(ctx context.Context, instructions string) error {
	if !c.Running() {
		return c.Turn(ctx, c.App.Session.StreamInput(ctx, agent.Input{Compact: true, Text: instructions}))
	}
	if err := c.App.Session.Compact(ctx, instructions); err != nil {
		return err
	}
	c.Screen.Line(term.Dim, "(the conversation will be compacted before the next step)")
	return nil
}

func (c *Commands) changeModel(ctx context.Context, name string) error {
	if name == "" {
		at, _, _ := c.App.Provider.Find(c.Model)
		c.Screen.Line(term.Plain, "model %s, provider %s", c.Model, at.Name.Value)
		return nil
	}
	if err := c.App.SetModel(ctx, name); err != nil {
		return err
	}
	now := c.App.EffectiveSettings()
	c.Model = now.Model
	text := "model " + now.Model
	if now.Assumed {
		text += fmt.Sprintf("; its context window is unknown, so %d tokens are assumed", now.Window)
	}
	if !now.Priced {
		text += "; its price is unknown"
	}
	c.Screen.Line(term.Dim, "%s", text)
	c.note(now)
	return nil
}

// note warns that the thinking effort has no effect.
func (c *Commands) note(now app.EffectiveSettings) {
	if now.Note != "" {
		c.Screen.Line(term.Dim, "%s", now.Note)
	}
}

// tune shows or changes the settings of a session.
func (c *Commands) tune(ctx context.Context, name string, words []string) (err error) {
	switch {
	case len(words) == 0:
	case name == "/fallback" && words[0] == "none":
		err = c.App.SetFallbacks(ctx, nil)
	case name == "/fallback":
		err = c.App.SetFallbacks(ctx, words)
	case name == "/effort":
		var t llm.Thought
		if t, err = thoughtOf(words[0]); err == nil {
			err = c.App.SetThinking(ctx, t)
		}
	case name == "/budget":
		var b agent.Budget
		if b, err = app.ParseBudgetChange(c.App.Session.Agent().Budget, words); err == nil {
			err = c.App.SetBudget(ctx, b)
		}
	case words[0] == "all":
		err = c.App.SetTools(ctx, nil)
	default:
		err = c.App.SetTools(ctx, words)
	}
	if err != nil {
		return err
	}
	now := c.App.EffectiveSettings()
	shown := map[string]string{"/fallback": cmp.Or(strings.Join(now.Fallbacks, ", "), "none"), "/effort": now.ThinkingText(), "/budget": now.BudgetText(), "/tools": strings.Join(now.Tools, ", ")}
	c.Screen.Line(term.Dim, "%s: %s", strings.TrimPrefix(name, "/"), c.H.OneLine(shown[name]))
	if name == "/effort" {
		c.note(now)
	}
	return nil
}

// thoughtOf parses a thinking effort.
func thoughtOf(word string) (llm.Thought, error) {
	switch n, err := strconv.Atoi(word); {
	case slices.Contains(settings.Efforts, word):
		return llm.Thought{Effort: word}, nil
	case word == string(llm.ThinkOff) || word == string(llm.ThinkAdaptive):
		return llm.Thought{Mode: llm.ThinkingMode(word)}, nil
	case err == nil && n > 0:
		return llm.Thought{Budget: n}, nil
	}
	return llm.Thought{}, fmt.Errorf("%q is not one of %s, adaptive, off, or a number of tokens from 1", cli.Clip(word), strings.Join(settings.Efforts, ", "))
}

// resume continues an interrupted run.
func (c *Commands) resume(ctx context.Context) error {
	open, err := c.App.Session.CanResume(ctx)
	switch {
	case err != nil:
		return err
	case !open:
		return errors.New("no run was interrupted; write a prompt")
	}
	return c.Turn(ctx, c.App.Session.Resume(ctx))
}

// rewind rewinds the session like openagent sessions rewind, or lists its prompts.
func (c *Commands) rewind(ctx context.Context, args []string) error {
	var o rewind.Options
	rest, err := o.Flags().Parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 1:
		return errors.New("write /rewind FACT, or /rewind last")
	case len(rest) == 1:
		o.To = rest[0]
	}
	if err := o.Check(); err != nil {
		return err
	}
	if c.Running() {
		return errors.New("the agent is working; Ctrl-C stops it")
	}
	if c.App.Session.Result() == nil && !c.App.Existing {
		return errors.New("this session has no prompt to rewind to yet")
	}
	if o.To == "" {
		list, err := rewind.ListPrompts(ctx, c.App.Store, c.App.Checkpoints, c.App.Session.ID)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, p := range list {
			c.Screen.Line(term.Plain, "%s", c.H.OneLine(p.Choice(now)))
		}
		return nil
	}
	done, err := (&rewind.Rewinder{Session: c.App.Session, Store: c.App.Store, Checkpoints: c.App.Checkpoints}).Rewind(ctx, o)
	if err == nil || done.Changed() {
		for _, line := range done.Lines("/rewind") {
			c.Screen.Line(term.Plain, "%s", terminal.Text(line))
		}
	}
	return err
}
