package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/ratelimit"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/toolschema"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tools"
)

// Options holds the values of a run's flags. The zero value of a field means that its flag was not
// given.
type Options struct {
	Print             bool
	Plain             bool // lines instead of the terminal UI
	Live              bool // browsers see the conversation
	Still             bool // marks of work in progress do not move
	Suggest           bool // the small model predicts the next prompt
	Output, Input     string
	Partial           bool
	PromptTool        string
	Model             string
	Fallbacks         []string
	Provider, BaseURL string
	Turns             int
	ModelCalls        int
	USD               float64
	MaxTokens         int
	Timeout           time.Duration
	System, Append    string // as given: text or @file
	Mode              string
	sandbox           string
	bypass            bool
	Tools             []string
	Allow, Deny       []permission.Rule
	extra             string // --settings: a file or JSON
	Layers            []string
	Resume            string
	Pick              bool // the person chooses the session
	Latest, Fork      bool
	ResumeAt, ID      string
	Ephemeral         bool
	SessionDir, store string
	Effort            string
	Thinking          int
	cache             string
	Fast              bool
	ToolsInPrompt     bool
	Dir               string
	Dirs, Files       []string
	memory            string
	schema            string          // of answers, as given: JSON or @file
	OutputSchema      json.RawMessage // the schema itself
	Plugins           []string
	MCP               []string // servers: files or JSON
	MCPStrict         bool
	Agents            string // definitions of sub-agents, as JSON
	Agent             string // the sub-agent definition that the main agent uses
	logLevel          string
	logFormat         string
	debug             bool
	Trace             string // file of the spans
	ClaudeFlags
	// Wire returns the transport of the models' clients, made of the usual one; nil: that one.
	Wire func(http.RoundTripper) http.RoundTripper

	// Added by Configure.
	Settings  *config.Settings // nil: no settings were read
	FromFlags *Options         // the values from the flags alone
	Rates     ratelimit.Rates
	Ask       []permission.Rule
	Origins   []permission.Origin    // where each rule was written
	Env       map[string]string      // variables for commands that tools run
	Passed    []string               // variables that commands receive although they look secret
	Servers   []tools.LanguageServer // nil: only the built-in servers
}

// How the run asks for permission.
const (
	AskByStdio = "stdio"
	AskLater   = "defer"
)

var (
	Formats     = []string{cli.FormatText, cli.FormatJSON, cli.FormatStream}
	Efforts     = []string{"low", "medium", "high", "max"}
	Providers   = append(slices.Clone(providers.Names), providers.DemoName)
	logLevels   = []string{"debug", "info", "warn", "error"}
	logFormats  = []string{"text", "json"}
	promptTools = []string{AskByStdio, AskLater}
	onOff       = []string{"on", "off"}
	cacheWords  = []string{"off", "5m", "1h"}
	layers      = []string{string(config.User), string(config.Project), string(config.Local)}
)

// Modes lists the permission modes.
func Modes() []string {
	var names []string
	for _, m := range policies.Modes {
		names = append(names, string(m))
	}
	return names
}

// Flags are the flags of a run.
func (o *Options) Flags() cli.Flags {
	return append(cli.Flags{
		{Name: "print", Short: 'p', Help: "run one prompt and exit; the default without a terminal", Set: cli.SetTrue(&o.Print)},
		{Name: "output-format", Arg: cli.Choice(Formats), Words: Formats, Help: "format of stdout: the final text, one result object, or one object per line", Set: cli.OneOf(&o.Output, Formats)},
		{Name: "input-format", Arg: "text|stream-json", Words: []string{cli.FormatText, cli.FormatStream}, Help: "format of stdin: a prompt, or one user or control message per line", Set: cli.OneOf(&o.Input, []string{cli.FormatText, cli.FormatStream})},
		{Name: "verbose", Help: "with stream-json: the lines and control messages of Claude Code, for programs that drive it", Set: cli.SetTrue(&o.Verbose)},
		{Name: "include-partial-messages", Help: "with stream-json: pieces of messages as they come", Set: cli.SetTrue(&o.Partial)},
		{Name: "permission-prompt-tool", Arg: cli.Choice(promptTools), Words: promptTools, Help: "ask for permission by control messages (stdio, with stream-json input), or end the run until you use openagent sessions answer (defer)", Set: o.promptTool},
		{Name: "model", Arg: "NAME", Help: "model to use, or PROVIDER:NAME (default claude-sonnet-4-6)", Set: cli.Text(&o.Model)},
		{Name: "fallback-model", Arg: "NAME,NAME", Help: "models to use while the first is unavailable", Set: cli.List(&o.Fallbacks)},
		{Name: "provider", Arg: cli.Choice(Providers), Words: Providers, Help: "provider of the API (default: guessed from the model and your keys)", Set: cli.OneOf(&o.Provider, Providers)},
		{Name: "base-url", Arg: "URL", Help: "address of the API: without /v1 for anthropic, with it for openai and openai-responses", Set: cli.Text(&o.BaseURL)},
		{Name: "max-turns", Arg: "N", Help: "limit of model answers, including answers of sub-agents", Set: cli.Count(&o.Turns)},
		{Name: "max-model-calls", Arg: "N", Help: "limit of requests to models, including retries and sub-agents", Set: cli.Count(&o.ModelCalls)},
		{Name: "max-budget-usd", Arg: "X", Help: "limit of the cost in US dollars", Set: cli.Dollars(&o.USD)},
		{Name: "max-tokens", Arg: "N", Help: "limit of tokens per answer", Set: cli.Count(&o.MaxTokens)},
		{Name: "timeout", Arg: "DURATION", Help: "limit of time per prompt, such as 90s or 10m", Set: cli.Duration(&o.Timeout)},
		{Name: "system-prompt", Arg: "TEXT|@FILE", Help: "replace the built-in instructions", Set: orEmpty(&o.Minimal, cli.Raw(&o.System))},
		{Name: "append-system-prompt", Arg: "TEXT|@FILE", Help: "add to the built-in instructions", Set: orEmpty(&o.noAppend, cli.Raw(&o.Append))},
		{Name: "permission-mode", Arg: "MODE", Words: Modes(), Help: "how to decide calls that no rule covers: " + strings.Join(Modes(), ", "), Set: cli.OneOf(&o.Mode, Modes())},
		{Name: "dangerously-skip-permissions", Help: "the same as --permission-mode bypassPermissions", Set: cli.SetTrue(&o.bypass)},
		{Name: "sandbox", Arg: cli.Choice(sandboxWords), Words: sandboxWords, Help: "run commands in the OS sandbox: on requires it, auto asks you where it is missing (default off)", Set: cli.OneOf(&o.sandbox, sandboxWords)},
		{Name: "tools", Arg: "core|all|none|NAME,NAME", Words: []string{"core", "all", "none"}, Help: "tools of the agent (default: core and a few others; the model can find the rest)", Set: orEmpty(&o.noTools, toolList(&o.Tools))},
		{Name: "allowed-tools", Aliases: []string{"allowedTools"}, Arg: "RULES", Help: `calls that need no permission, such as "Edit Bash(git *)"`, Set: RuleFlag(&o.Allow)},
		{Name: "disallowed-tools", Aliases: []string{"disallowedTools"}, Arg: "RULES", Help: "calls that are refused; a tool name alone hides the tool", Set: RuleFlag(&o.Deny)},
		{Name: "settings", Arg: "FILE|JSON", Help: "more settings; they override files and variables", Set: cli.Raw(&o.extra)},
		{Name: "setting-sources", Arg: "LAYER,LAYER", Help: "read only these settings files: user, project, local (default all)", Set: orEmpty(&o.noLayers, cli.OneOfEach(&o.Layers, layers))},
		{Name: "resume", Short: 'r', Arg: "ID", Help: "continue a session; without a prompt, continue its interrupted run; without ID, choose one on the terminal", Set: cli.Text(&o.Resume), Bare: o.pick},
		{Name: "plain", Help: "plain mode: lines instead of the terminal UI, as for screen readers; the default with ACCESSIBLE=1 or TERM=dumb", Set: cli.SetTrue(&o.Plain)},
		{Name: "live", Help: "on a terminal: show the conversation in your browser as well, as /live does", Set: cli.SetTrue(&o.Live)},
		{Name: "no-animation", Help: "in the terminal UI: marks of work in progress stand still", Set: cli.SetTrue(&o.Still)},
		{Name: "prompt-suggestions", Help: "have the small model suggest your next prompt after each run", Set: cli.SetTrue(&o.Suggest)},
		{Name: "continue", Short: 'c', Help: "continue the latest session of this folder; twice (-cc): choose one", Set: o.latest},
		{Name: "fork-session", Help: "with --resume or --continue: continue in a copy", Set: cli.SetTrue(&o.Fork)},
		{Name: "resume-at", Aliases: []string{"resume-session-at"}, Arg: "MESSAGE_ID", Help: "with --resume or --continue: continue from this message", Set: cli.Text(&o.ResumeAt)},
		{Name: "session-id", Arg: "ID", Help: "id of the new session", Set: cli.Text(&o.ID)},
		{Name: "no-session-persistence", Help: "keep the session in memory only", Set: cli.SetTrue(&o.Ephemeral)},
		{Name: "effort", Arg: cli.Choice(Efforts), Words: Efforts, Help: "depth of the model's thinking", Set: effort(&o.Effort)},
		{Name: "max-thinking-tokens", Arg: "N", Help: "depth of the model's thinking, in tokens", Set: orNone(&o.noThinking, cli.Count(&o.Thinking))},
		{Name: "prompt-cache", Arg: cli.Choice(cacheWords), Words: cacheWords, Help: "time that the provider keeps the prompt (default 5m)", Set: cli.OneOf(&o.cache, cacheWords)},
		{Name: "fast", Help: "ask the model to answer faster, at a higher price, if it can", Set: cli.SetTrue(&o.Fast)},
		{Name: "tools-in-prompt", Help: "write the tools into the prompt, for models without tool calls", Set: cli.SetTrue(&o.ToolsInPrompt)},
		{Name: "cwd", Short: 'C', Arg: "DIR", Path: true, Help: "work in this folder", Set: cli.Raw(&o.Dir)},
		{Name: "add-dir", Arg: "DIR", Path: true, Help: "another folder to work in; may be repeated", Set: cli.Append(&o.Dirs)},
		{Name: "plugin-dir", Arg: "DIR", Path: true, Help: "folder of a plugin (tools/, skills/, commands/, agents/, hooks/hooks.json, .mcp.json); you have to trust it once; may be repeated", Set: cli.Append(&o.Plugins)},
		{Name: "mcp-config", Arg: "FILE|JSON", Help: "MCP servers in the form of .mcp.json; may be repeated", Set: cli.Append(&o.MCP)},
		{Name: "strict-mcp-config", Help: "use only the MCP servers of --mcp-config", Set: cli.SetTrue(&o.MCPStrict)},
		{Name: "agents", Arg: "JSON", Help: "more sub-agents, by name: {\"NAME\": {\"description\": …, \"prompt\": …}}", Set: cli.Raw(&o.Agents)},
		{Name: "agent", Arg: "NAME", Help: "run as this sub-agent (see openagent agents), with its instructions, tools and model", Set: cli.Text(&o.Agent)},
		{Name: "memory", Arg: cli.Choice(onOff), Words: onOff, Help: "let the agent know and propose what later sessions should know, see openagent memory (default off)", Set: cli.OneOf(&o.memory, onOff)},
		{Name: "json-schema", Arg: "SCHEMA|@FILE", Help: "JSON Schema (type object) for the answer; the result has it as structured_output", Set: cli.Raw(&o.schema)},
		{Name: "file", Arg: "PATH", Path: true, Help: "attach an image, PDF or text file; may be repeated", Set: cli.Append(&o.Files)},
		{Name: "log-level", Arg: cli.Choice(logLevels), Words: logLevels, Help: "log this level and above to stderr (default warn)", Set: cli.OneOf(&o.logLevel, logLevels)},
		{Name: "log-format", Arg: cli.Choice(logFormats), Words: logFormats, Help: "format of the log", Set: cli.OneOf(&o.logFormat, logFormats)},
		{Name: "trace", Arg: "FILE", Path: true, Help: "append the spans of the run to a file, one JSON object per line, without content", Set: cli.Text(&o.Trace)},
		{Name: "debug", Help: "the same as --log-level debug", Set: cli.SetTrue(&o.debug)},
	}, append(placeFlags(&o.SessionDir, &o.store), o.claudeFlags()...)...)
}

// pick lets the person choose the session.
func (o *Options) pick() error {
	o.Pick = true
	return nil
}

// latest takes the latest session, or lets the person choose if it is there twice.
func (o *Options) latest(string) error {
	o.Pick = o.Pick || o.Latest
	o.Latest = !o.Pick
	return nil
}

// Check rejects conflicting flags, changes to the working folder and fills in defaults.
func (o *Options) Check() error {
	for _, c := range []struct {
		wrong bool
		text  string
	}{
		{o.Resume != "" && (o.Latest || o.Pick), "use --resume or --continue, not both"},
		{o.Fork && o.Resume == "" && !o.Latest && !o.Pick, "--fork-session needs --resume ID or --continue"},
		{o.ResumeAt != "" && o.Resume == "" && !o.Latest, "--resume-at needs --resume ID or --continue"},
		{o.ID != "" && (o.Resume != "" || o.Latest || o.Pick) && !o.Fork, "--session-id is for new sessions; with --resume or --continue add --fork-session"},
		{(o.SessionDir != "" || o.store != "") && o.Ephemeral && o.Resume == "" && !o.Latest && !o.Pick, "use --no-session-persistence, or --session-dir or --store, not both"},
		{o.SessionDir != "" && o.store != "", "use --session-dir or --store, not both"},
		{o.bypass && o.Mode != "" && o.Mode != string(permission.Bypass), "use --dangerously-skip-permissions or --permission-mode " + o.Mode + ", not both"},
		{o.Agent != "" && o.System != "", "use --agent or --system-prompt, not both; --append-system-prompt adds to the instructions of an agent"},
		{o.Partial && o.Output != cli.FormatStream, "--include-partial-messages needs --output-format stream-json"},
		{o.Input == cli.FormatStream && o.Output != cli.FormatStream, "--input-format stream-json needs --output-format stream-json"},
		{o.PromptTool == AskByStdio && o.Input != cli.FormatStream, "--permission-prompt-tool stdio needs --input-format stream-json"},
	} {
		if c.wrong {
			return cli.Usagef("%s", c.text)
		}
	}
	if err := o.checkClaude(); err != nil {
		return err
	}
	if o.bypass {
		o.Mode = string(permission.Bypass)
	}
	if o.Output == "" {
		o.Output = cli.FormatText
	}
	if o.Dir != "" {
		if err := CheckDir("--cwd", o.Dir); err != nil {
			return err
		}
		if err := os.Chdir(o.Dir); err != nil {
			return cli.Usagef("--cwd: %v", err)
		}
	}
	if o.schema != "" {
		schema, err := TextOrFile("--json-schema", o.schema)
		if err != nil {
			return err
		}
		if o.OutputSchema, err = ReadSchema([]byte(schema)); err != nil {
			return cli.Usagef("--json-schema: %w", err)
		}
	}
	return errors.Join(absolute("--add-dir", o.Dirs), absolute("--plugin-dir", o.Plugins))
}

// AddSettings sets the settings that a program gives in place of --settings.
func (o *Options) AddSettings(text string) error {
	if o.extra != "" {
		return cli.Usagef("initialize has settings besides --settings; leave one out")
	}
	o.extra = text
	return nil
}

// AddBounds sets the settings that a program gives in place of --managed-settings.
func (o *Options) AddBounds(text string) error {
	if o.bounds != "" {
		return cli.Usagef("initialize has managedSettings besides --managed-settings; leave one out")
	}
	o.bounds = text
	return nil
}

// ReadSchema reads and checks a JSON Schema for answers.
func ReadSchema(schema json.RawMessage) (json.RawMessage, error) {
	s, err := toolschema.Parse(schema)
	if err != nil {
		return nil, err
	}
	return s.JSON(), nil
}

// absolute makes folder paths absolute. The folders must exist.
func absolute(shown string, dirs []string) error {
	for i, d := range dirs {
		if err := CheckDir(shown, d); err != nil {
			return err
		}
		abs, err := filepath.Abs(d)
		if err != nil {
			return cli.Usagef("%s: %v", shown, err)
		}
		dirs[i] = abs
	}
	return nil
}

const maxSystem = 1 << 20 // maximum bytes of a system prompt

// TextOrFile returns a value, or the content of a file if the value is @file.
func TextOrFile(shown, value string) (string, error) {
	name, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	data, err := ReadFile(name, maxSystem)
	if err != nil {
		return "", cli.Usagef("%s: %v; name a file after @, or write the text itself", shown, err)
	}
	return strings.ToValidUTF8(string(data), "�"), nil
}

// ReadFile reads a regular file of at most limit bytes.
func ReadFile(name string, limit int64) ([]byte, error) {
	data, err := plainfile.ReadFile(name, limit)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the file %s does not exist", name)
	}
	return data, err
}

// WorkingDir returns the folder that the agent works in.
func WorkingDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", cli.Usagef("finding the working folder: %w; change to a folder that exists, or add --cwd", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real, nil
	}
	return dir, nil
}

// RuleFlag returns a Set function that appends the flag's rules to a list.
func RuleFlag(to *[]permission.Rule) func(string) error {
	return func(s string) error {
		more, err := permission.ParseRules(s)
		if err != nil {
			return err
		}
		if len(more) == 0 {
			return errors.New("the list is empty; leave the flag out instead")
		}
		*to = append(*to, more...)
		return nil
	}
}

// CheckDir returns an error unless dir is an existing folder.
func CheckDir(shown, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return cli.Usagef("%s: the folder %s does not exist; create it or name another", shown, dir)
	case err != nil:
		return cli.Usagef("%s: %v", shown, err)
	case !info.IsDir():
		return cli.Usagef("%s: %s is not a folder; name the folder that contains it", shown, dir)
	}
	return nil
}
