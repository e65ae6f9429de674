package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

const slashHelp = `/help           this
/model [NAME]   show or change the model; PROVIDER:NAME is one of another provider
/fallback [NAMES|none] show or change the models that are tried when the model stays unavailable
/effort [WORD]  show or change how much the model thinks: low, medium, high, max, a number of tokens, adaptive or off
/mode [MODE]    show or change the permission mode: %s
/budget [WORDS] show or change the limits of a prompt: turns=N calls=N usd=X time=DURATION, none for no limit
/tools [NAMES]  list the tools, or leave only those that are named; /tools all brings them back
/resume         go on with a run that was cut short
/rename [TITLE] give this session a title, or take it away
/rewind         list the prompts; /rewind FACT|last [--files|--conversation] [--dry-run] [--diff] goes back to before one
/agents         the agents at work and the kinds that there are; /agents stop ID|NAME|all ends them
/jobs           the commands that run in the background; /jobs stop ID|all ends them
/skills         list the skills; /NAME [ARGUMENTS] runs one
/cost           what this conversation has cost, by model, agent and tool
/context        what fills the model's context
/compact [WORDS] summarise the conversation to make room; WORDS say what matters
/mcp            the MCP servers and their prompts, which are written /mcp__server__prompt WORDS
/quit           leave; openagent --continue goes on from here
Ctrl-C stops the agent, twice leaves. What you type while it works it sees after its current step.`

// command does what a line that begins with a slash says.
func (c *repl) command(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	var err error
	switch name {
	case "/help":
		c.screen.line(inPlain, slashHelp, strings.Join(modes(), ", "))
	case "/quit", "/exit":
		c.ended = true
		if c.running.Load() {
			_, err = c.s.session.Interrupt(ctx)
		}
	case "/model":
		err = c.changeModel(ctx, arg)
	case "/mode":
		if arg == "" {
			c.screen.line(inPlain, "mode %s; there are %s", c.mode.Load(), strings.Join(modes(), ", "))
		} else if err = c.s.options.permits(permission.Mode(arg)); err != nil {
			break
		} else if err = c.s.session.SetMode(ctx, permission.Mode(arg)); err == nil {
			c.mode.Store(permission.Mode(arg))
			c.screen.line(inDim, "mode %s", arg)
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
		if err = c.s.session.SetTitle(ctx, arg); err == nil {
			c.screen.line(inDim, "%s", cmp.Or(arg, "no title"))
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
		for _, k := range c.s.skills.UserInvocable() {
			c.screen.line(inPlain, "/%s", c.h.oneLine(strings.TrimSpace(k.Name+" "+k.Hint)+"  "+short(k.Description, 120)))
		}
	default:
		err = c.skill(ctx, line)
	}
	if err != nil {
		c.screen.line(inRed, "! %s", c.h.oneLine(err.Error()))
	}
}

// skill runs a skill that a line names.
func (c *repl) skill(ctx context.Context, line string) error {
	x, err := c.s.skillOf(line)
	name, _, _ := strings.Cut(line, " ")
	switch {
	case err != nil:
		return err
	case x == nil:
		return fmt.Errorf("there is no command and no skill %s; /help and /skills list them", cli.Clip(name))
	case c.running.Load():
		return errors.New("the agent works; Ctrl-C stops it")
	}
	return c.turn(ctx, c.s.session.StreamInput(ctx, agent.Input{Expansion: x, Output: c.s.options.answer}))
}

// compact has the conversation summarised: now, or before the agent's next step.
func (c *repl) compact(ctx context.Context, instructions string) error {
	if !c.running.Load() {
		return c.turn(ctx, c.s.session.StreamInput(ctx, agent.Input{Compact: true, Text: instructions}))
	}
	if err := c.s.session.Compact(ctx, instructions); err != nil {
		return err
	}
	c.screen.line(inDim, "(the conversation will be compacted before the next step)")
	return nil
}

func (c *repl) changeModel(ctx context.Context, name string) error {
	if name == "" {
		at, _, _ := c.s.provider.find(c.model)
		c.screen.line(inPlain, "model %s, provider %s", c.model, at.name.value)
		return nil
	}
	if err := c.s.setModel(ctx, name); err != nil {
		return err
	}
	now := c.s.inForce()
	c.model = now.Model
	text := "model " + now.Model
	if now.Assumed {
		text += fmt.Sprintf("; its context window is not known, %d tokens are assumed", now.Window)
	}
	if !now.Priced {
		text += "; its price is not known"
	}
	c.screen.line(inDim, "%s", text)
	c.note(now)
	return nil
}

// note says that how much the model thinks has no effect.
func (c *repl) note(now effectiveSettings) {
	if now.Note != "" {
		c.screen.line(inDim, "%s", now.Note)
	}
}

// tune shows or changes what a session works with.
func (c *repl) tune(ctx context.Context, name string, words []string) (err error) {
	switch {
	case len(words) == 0:
	case name == "/fallback" && words[0] == "none":
		err = c.s.setFallbacks(ctx, nil)
	case name == "/fallback":
		err = c.s.setFallbacks(ctx, words)
	case name == "/effort":
		var t llm.Thought
		if t, err = thoughtOf(words[0]); err == nil {
			err = c.s.setThought(ctx, t)
		}
	case name == "/budget":
		var b agent.Budget
		if b, err = changedBudget(c.s.session.Agent().Budget, words); err == nil {
			err = c.s.setBudget(ctx, b)
		}
	case words[0] == "all":
		err = c.s.setTools(ctx, nil)
	default:
		err = c.s.setTools(ctx, words)
	}
	if err != nil {
		return err
	}
	now := c.s.inForce()
	shown := map[string]string{"/fallback": cmp.Or(strings.Join(now.Fallbacks, ", "), "none"), "/effort": now.thinkingShown(), "/budget": now.budgetShown(), "/tools": strings.Join(now.Tools, ", ")}
	c.screen.line(inDim, "%s: %s", strings.TrimPrefix(name, "/"), c.h.oneLine(shown[name]))
	if name == "/effort" {
		c.note(now)
	}
	return nil
}

// thoughtOf reads how much a model is to think.
func thoughtOf(word string) (llm.Thought, error) {
	switch n, err := strconv.Atoi(word); {
	case slices.Contains(efforts, word):
		return llm.Thought{Effort: word}, nil
	case word == string(llm.ThinkOff) || word == string(llm.ThinkAdaptive):
		return llm.Thought{Mode: llm.ThinkingMode(word)}, nil
	case err == nil && n > 0:
		return llm.Thought{Budget: n}, nil
	}
	return llm.Thought{}, fmt.Errorf("%q is none of %s, adaptive, off, and no number of tokens from 1 up", cli.Clip(word), strings.Join(efforts, ", "))
}

// resume goes on with a run that was cut short.
func (c *repl) resume(ctx context.Context) error {
	open, err := c.s.session.CanResume(ctx)
	switch {
	case err != nil:
		return err
	case !open:
		return errors.New("no run was cut short; write what is to be done")
	}
	return c.turn(ctx, c.s.session.Resume(ctx))
}

// rewind takes the session back as the command does, or lists its prompts.
func (c *repl) rewind(ctx context.Context, args []string) error {
	var o rewinding
	rest, err := o.flags().Parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 1:
		return errors.New("write /rewind FACT, or /rewind last")
	case len(rest) == 1:
		o.to = rest[0]
	}
	if err := o.check(); err != nil {
		return err
	}
	if c.running.Load() {
		return errors.New("the agent works; Ctrl-C stops it")
	}
	if c.s.session.Result() == nil && !c.s.past {
		return errors.New("there is no prompt to go back to yet")
	}
	if o.to == "" {
		list, err := promptsOf(ctx, c.s.store, c.s.kept, c.s.session.ID)
		if err != nil {
			return err
		}
		for _, row := range promptRows(list) {
			c.screen.line(inPlain, "%s", c.h.oneLine(strings.Join(row, "  ")))
		}
		return nil
	}
	done, err := (&rewinder{c.s.session, c.s.store, c.s.kept}).rewind(ctx, o)
	if err == nil || done.changed() {
		for _, line := range done.lines("/rewind") {
			c.screen.line(inPlain, "%s", terminal.Text(line))
		}
	}
	return err
}

// briefly is the input of a call in a line: its first texts.
func briefly(input json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(input, &members) != nil {
		return ""
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if s, ok := members[name].(string); ok && (strings.HasSuffix(name, "path") || slices.Contains([]string{"command", "pattern", "url", "query"}, name)) {
			words = append(words, short(text.OneLine(s), 160))
		}
	}
	return strings.Join(words, " ")
}
