package settings

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// A ClaudeFlags holds the flags that only programs give: those that drive the command as if it were
// Claude Code, with --verbose.
type ClaudeFlags struct {
	Verbose     bool // stream-json has the lines and control messages of Claude Code
	MayBypass   bool // the mode bypassPermissions may be chosen later
	HookEvents  bool // lines report hooks
	Replay      bool // user messages are written back
	Mirror      bool // lines hold the entries of the session's file
	NoQuestions bool // questions about permission are denied
	AskTool     string
	DebugFile   string
	Thinking    string   // adaptive or disabled
	InitFields  []string // members that initialize must have
	AskUser     bool     // --tools names AskUserQuestion
	Betas       []string // features in trial that requests to Anthropic ask for
	ConfigDir   string   // the project's settings, servers, skills and the like come from here
	DropsTurn   string   // the prompt that --resume-at leaves out, and nothing else

	noTools, noLayers bool // the value was empty
	noAppend          bool // the same for --append-system-prompt
	noThinking        bool // --max-thinking-tokens is 0
	Minimal           bool // the same for --system-prompt
	systemFile        string
	appendFile        string
	ignored           string
	bounds            string // --managed-settings: JSON
}

// AskUserQuestion is the tool that asks the user in place of AskUser, for hosts of Claude Code.
const AskUserQuestion = "AskUserQuestion"

var (
	thinkingModes = []string{"adaptive", "disabled"}
	thinkingShown = []string{"summarized", "omitted"}
	whoAnswers    = []string{"host", "none"}
)

// claudeFlags are the flags of programs that drive Claude Code. docs/command/stream-json.md lists
// them.
func (o *Options) claudeFlags() cli.Flags {
	c := &o.ClaudeFlags
	list := cli.Flags{
		{Name: "allow-dangerously-skip-permissions", Set: cli.SetTrue(&c.MayBypass)},
		{Name: "include-hook-events", Set: cli.SetTrue(&c.HookEvents)},
		{Name: "replay-user-messages", Set: cli.SetTrue(&c.Replay)},
		{Name: "session-mirror", Set: cli.SetTrue(&c.Mirror)},
		{Name: "permission-prompts", Arg: cli.Choice(whoAnswers), Set: func(s string) error {
			var who string
			err := cli.OneOf(&who, whoAnswers)(s)
			c.NoQuestions = who == "none"
			return err
		}},
		{Name: "thinking", Arg: cli.Choice(thinkingModes), Set: cli.OneOf(&c.Thinking, thinkingModes)},
		{Name: "thinking-display", Arg: cli.Choice(thinkingShown), Set: cli.OneOf(&c.ignored, thinkingShown)},
		{Name: "system-prompt-file", Arg: "FILE", Set: cli.Text(&c.systemFile)},
		{Name: "append-system-prompt-file", Arg: "FILE", Set: cli.Text(&c.appendFile)},
		{Name: "initialize-fields", Arg: "NAME,NAME", Set: cli.OneOfEach(&c.InitFields, []string{"settings", "disallowedTools"})},
		{Name: "managed-settings", Arg: "JSON", Set: cli.Raw(&c.bounds)},
		{Name: "managed-settings-in-initialize", Set: func(string) error { c.InitFields = append(c.InitFields, "managedSettings"); return nil }},
		{Name: "debug-file", Arg: "FILE", Set: cli.Text(&c.DebugFile)},
		{Name: "debug-to-stderr", Set: cli.SetTrue(&o.debug)},
		{Name: "await-initialize", Set: func(string) error { return nil }},
		{Name: "betas", Arg: "NAME,NAME", Set: cli.List(&c.Betas)},
		{Name: "project-config-root", Arg: "DIR", Set: cli.Raw(&c.ConfigDir)},
		{Name: "resume-drops-turn", Arg: "MESSAGE_ID", Set: cli.Text(&c.DropsTurn)},
		{Name: "task-budget", Arg: "N", Set: cli.Count(new(int))},
	}
	for i := range list {
		list[i].Hidden, list[i].Help = true, "for programs that drive Claude Code"
	}
	return list
}

// Claude reports whether the lines and control messages are those of Claude Code.
func (o *Options) Claude() bool { return o.Verbose && o.Output == cli.FormatStream }

// Driven reports whether a program drives the run as it drives Claude Code.
func (o *Options) Driven() bool { return o.Claude() && o.Input == cli.FormatStream }

// checkClaude completes the flags of programs and refuses those that need --verbose.
func (o *Options) checkClaude() error {
	for name, empty := range map[string]bool{"--tools": o.noTools, "--setting-sources": o.noLayers, "--system-prompt": o.Minimal, "--append-system-prompt": o.noAppend} {
		if empty && !o.Claude() {
			return cli.Usagef("%s: the value is empty; leave the flag out instead", name)
		}
	}
	if o.noThinking {
		if !o.Claude() {
			return cli.Usagef("--max-thinking-tokens: 0 is out of range; write 1 or more, or leave the flag out")
		}
		o.ClaudeFlags.Thinking = cmp.Or(o.ClaudeFlags.Thinking, "disabled")
	}
	if o.AskTool != "" && !o.Claude() {
		return cli.Usagef("--permission-prompt-tool: %q is a tool of an MCP server; that needs --verbose and --output-format stream-json", cli.Clip(o.AskTool))
	}
	if o.Mirror && !o.Driven() {
		return cli.Usagef("--session-mirror needs --verbose, --input-format stream-json and --output-format stream-json")
	}
	if o.DropsTurn != "" && o.ResumeAt == "" {
		return cli.Usagef("--resume-drops-turn needs --resume-at")
	}
	if o.ConfigDir != "" {
		if err := CheckDir("--project-config-root", o.ConfigDir); err != nil {
			return err
		}
		dir, err := filepath.Abs(o.ConfigDir)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return cli.Usagef("--project-config-root: %v", err)
		}
		o.ConfigDir = dir
	}
	if o.noTools && len(o.Tools) == 0 {
		o.Tools = []string{"none"}
	}
	if o.Claude() && slices.Contains(o.Tools, AskUserQuestion) {
		o.AskUser = true
		if o.Tools = slices.DeleteFunc(o.Tools, func(name string) bool { return name == AskUserQuestion }); len(o.Tools) == 0 {
			o.Tools = []string{"none"}
		}
	}
	if o.noLayers && o.Layers == nil {
		o.Layers = []string{}
	}
	if o.systemFile != "" {
		o.System = "@" + o.systemFile
	}
	if o.appendFile != "" {
		o.Append = "@" + o.appendFile
	}
	if o.System != "" {
		o.Minimal = false
	}
	if o.NoQuestions {
		o.PromptTool, o.AskTool = "", ""
	}
	return nil
}

// PermitsBypass returns an error if the mode is bypassPermissions and a program that drives the run
// has not allowed that at the start.
func (o *Options) PermitsBypass(mode permission.Mode) error {
	if mode == permission.Bypass && o.Driven() && !o.MayBypass && o.Mode != string(permission.Bypass) {
		return errors.New("the mode bypassPermissions needs --allow-dangerously-skip-permissions at the start")
	}
	return nil
}

// ThinkingMode returns the mode of --thinking; "": there is none.
func (o *Options) ThinkingMode() llm.ThinkingMode {
	switch o.ClaudeFlags.Thinking {
	case "adaptive":
		return llm.ThinkAdaptive
	case "disabled":
		return llm.ThinkOff
	}
	return ""
}

// effort reads an effort. xhigh, which Claude Code has besides, is high: it never costs more than was
// asked for.
func effort(to *string) func(string) error {
	return func(s string) error {
		if s == "xhigh" {
			s = "high"
		}
		return cli.OneOf(to, Efforts)(s)
	}
}

// orEmpty has a flag accept an empty value.
func orEmpty(empty *bool, set func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			*empty = true
			return nil
		}
		return set(s)
	}
}

// orNone reads a number of thinking tokens. 0 is an error unless the lines are those of Claude Code.
func orNone(none *bool, set func(string) error) func(string) error {
	return func(s string) error {
		if s == "0" {
			*none = true
			return nil
		}
		return set(s)
	}
}

// toolList reads the names of tools. "default" is the tools that the agent has without the flag.
func toolList(to *[]string) func(string) error {
	return func(s string) error {
		var names []string
		if err := cli.List(&names)(s); err != nil {
			return err
		}
		*to = append(*to, slices.DeleteFunc(names, func(n string) bool { return n == "default" })...)
		return nil
	}
}

// promptTool reads who is asked for permission: a word, or a tool of an MCP server.
func (o *Options) promptTool(s string) error {
	if strings.HasPrefix(s, "mcp__") {
		o.AskTool = s
		return nil
	}
	if err := cli.OneOf(&o.PromptTool, promptTools)(s); err != nil {
		return fmt.Errorf("%w, or the name of a tool of an MCP server", err)
	}
	return nil
}
