package repl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/rewind"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

const slashHelp = `/help             show this list
/model [NAME]     show or change the model; PROVIDER:NAME selects another provider
/fallback [NAMES|none] show or change the models to use if the model stays unavailable
/effort [WORD]    show or change the thinking effort: low, medium, high, max, a number of tokens, adaptive or off
/mode [MODE]      show or change the permission mode: %s
/budget [WORDS]   show or change the limits per prompt: turns=N calls=N usd=X time=DURATION, none for no limit
/tools [NAMES]    list the tools, or use only the named ones; /tools all restores all
/resume           continue an interrupted run
/rename [TITLE]   set the title of this session, or remove it
/rewind           list the prompts; /rewind FACT|last [--files|--conversation] [--dry-run] [--diff] goes back to before a prompt
/agents           list running sub-agents and all definitions; /agents stop ID|NAME|all stops them
/jobs             list background commands; /jobs stop ID|all stops them
/skills           list the skills; /NAME [ARGUMENTS] runs one
/cost             show the cost of this conversation by model, agent and tool
/context          show what fills the model's context
/compact [WORDS]  summarise the conversation to free context; WORDS tell the model what to keep
/mcp              list MCP servers and their prompts; /mcp__server__prompt WORDS runs one
/quit             leave; openagent --continue continues this conversation
Ctrl-C stops the agent; pressed twice, it leaves. The agent reads what you type after its current step.`

// command runs a line that begins with a slash.
func (c *REPL) command(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	var err error
	switch name {
	case "/help":
		c.screen.Line(term.Plain, "%s", c.h.Wrap(fmt.Sprintf(slashHelp, strings.Join(settings.Modes(), ", "))))
	case "/quit", "/exit":
		c.ended = true
		if c.running.Load() {
			_, err = c.s.Session.Interrupt(ctx)
		}
	case "/model":
		err = c.changeModel(ctx, arg)
	case "/mode":
		if arg == "" {
			c.screen.Line(term.Plain, "mode %s; the modes are %s", c.mode.Load(), strings.Join(settings.Modes(), ", "))
		} else if err = c.s.Options.Permits(permission.Mode(arg)); err != nil {
			break
		} else if err = c.s.Session.SetMode(ctx, permission.Mode(arg)); err == nil {
			c.mode.Store(permission.Mode(arg))
			c.screen.Line(term.Dim, "mode %s", arg)
			if permission.Mode(arg) == permission.Plan {
				c.tellOfJobs()
			}
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
		if err = c.s.Session.SetTitle(ctx, arg); err == nil {
			c.screen.Line(term.Dim, "%s", cmp.Or(arg, "no title"))
		}
	case "/rewind":
		err = c.rewind(ctx, strings.Fields(arg))
	case "/cost":
		err = c.showCost(ctx)
	case "/context":
		err = c.showContext(ctx)
	case "/agents":
		err = c.agents(strings.Fields(arg))
	case "/jobs":
		err = c.jobs(ctx, strings.Fields(arg))
	case "/skills":
		for _, k := range c.s.Skills.UserInvocable() {
			c.screen.Line(term.Plain, "/%s", c.h.OneLine(strings.TrimSpace(k.Name+" "+k.Hint)+"  "+text.Runes(k.Description, 120)))
		}
	default:
		err = c.skill(ctx, line)
	}
	if err != nil {
		c.screen.Line(term.Red, "! %s", c.h.OneLine(err.Error()))
	}
}

// skill runs the skill that a line names.
func (c *REPL) skill(ctx context.Context, line string) error {
	x, err := c.s.ExpandSkill(line)
	name, _, _ := strings.Cut(line, " ")
	switch {
	case err != nil:
		return err
	case x == nil:
		return fmt.Errorf("unknown command or skill %s; /help and /skills list them", cli.Clip(name))
	case c.running.Load():
		return errors.New("the agent is working; Ctrl-C stops it")
	}
	return c.turn(ctx, c.s.Session.StreamInput(ctx, agent.Input{Expansion: x, Output: c.s.Options.OutputSchema}))
}

// compact summarises the conversation, now or before the agent's next step.
func (c *REPL) compact(ctx context.Context, instructions string) error {
	if !c.running.Load() {
		return c.turn(ctx, c.s.Session.StreamInput(ctx, agent.Input{Compact: true, Text: instructions}))
	}
	if err := c.s.Session.Compact(ctx, instructions); err != nil {
		return err
	}
	c.screen.Line(term.Dim, "(the conversation will be compacted before the next step)")
	return nil
}

func (c *REPL) changeModel(ctx context.Context, name string) error {
	if name == "" {
		at, _, _ := c.s.Provider.Find(c.model)
		c.screen.Line(term.Plain, "model %s, provider %s", c.model, at.Name.Value)
		return nil
	}
	if err := c.s.SetModel(ctx, name); err != nil {
		return err
	}
	now := c.s.EffectiveSettings()
	c.model = now.Model
	text := "model " + now.Model
	if now.Assumed {
		text += fmt.Sprintf("; its context window is unknown, so %d tokens are assumed", now.Window)
	}
	if !now.Priced {
		text += "; its price is unknown"
	}
	c.screen.Line(term.Dim, "%s", text)
	c.note(now)
	return nil
}

// note warns that the thinking effort has no effect.
func (c *REPL) note(now app.EffectiveSettings) {
	if now.Note != "" {
		c.screen.Line(term.Dim, "%s", now.Note)
	}
}

// tune shows or changes the settings of a session.
func (c *REPL) tune(ctx context.Context, name string, words []string) (err error) {
	switch {
	case len(words) == 0:
	case name == "/fallback" && words[0] == "none":
		err = c.s.SetFallbacks(ctx, nil)
	case name == "/fallback":
		err = c.s.SetFallbacks(ctx, words)
	case name == "/effort":
		var t llm.Thought
		if t, err = thoughtOf(words[0]); err == nil {
			err = c.s.SetThinking(ctx, t)
		}
	case name == "/budget":
		var b agent.Budget
		if b, err = app.ParseBudgetChange(c.s.Session.Agent().Budget, words); err == nil {
			err = c.s.SetBudget(ctx, b)
		}
	case words[0] == "all":
		err = c.s.SetTools(ctx, nil)
	default:
		err = c.s.SetTools(ctx, words)
	}
	if err != nil {
		return err
	}
	now := c.s.EffectiveSettings()
	shown := map[string]string{"/fallback": cmp.Or(strings.Join(now.Fallbacks, ", "), "none"), "/effort": now.ThinkingText(), "/budget": now.BudgetText(), "/tools": strings.Join(now.Tools, ", ")}
	c.screen.Line(term.Dim, "%s: %s", strings.TrimPrefix(name, "/"), c.h.OneLine(shown[name]))
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
func (c *REPL) resume(ctx context.Context) error {
	open, err := c.s.Session.CanResume(ctx)
	switch {
	case err != nil:
		return err
	case !open:
		return errors.New("no run was interrupted; write a prompt")
	}
	return c.turn(ctx, c.s.Session.Resume(ctx))
}

// rewind rewinds the session like openagent sessions rewind, or lists its prompts.
func (c *REPL) rewind(ctx context.Context, args []string) error {
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
	if c.running.Load() {
		return errors.New("the agent is working; Ctrl-C stops it")
	}
	if c.s.Session.Result() == nil && !c.s.Existing {
		return errors.New("this session has no prompt to rewind to yet")
	}
	if o.To == "" {
		list, err := rewind.ListPrompts(ctx, c.s.Store, c.s.Checkpoints, c.s.Session.ID)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, p := range list {
			c.screen.Line(term.Plain, "%s", c.h.OneLine(p.Choice(now)))
		}
		return nil
	}
	done, err := (&rewind.Rewinder{Session: c.s.Session, Store: c.s.Store, Checkpoints: c.s.Checkpoints}).Rewind(ctx, o)
	if err == nil || done.Changed() {
		for _, line := range done.Lines("/rewind") {
			c.screen.Line(term.Plain, "%s", terminal.Text(line))
		}
	}
	return err
}
