package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// options are what the flags of a run say. The zero value of a field means that
// its flag was not given.
type options struct {
	print          bool
	output, input  string
	partial        bool
	promptTool     string
	model          string
	fallbacks      []string
	provider, base string
	turns          int
	modelCalls     int
	usd            float64
	maxTokens      int
	timeout        time.Duration
	system, append string // as given: text or @file
	mode           string
	sandbox        string
	bypass         bool
	tools          []string
	allow, deny    []permission.Rule
	extra          string // settings: a file or JSON
	layers         []string
	resume         string
	latest, fork   bool
	resumeAt, id   string
	ephemeral      bool
	sessionDir     string
	effort         string
	thinking       int
	cache          string
	fast           bool
	toolsInPrompt  bool
	dir            string
	dirs, files    []string
	schema         string          // of answers, as given: JSON or @file
	answer         json.RawMessage // the schema itself
	plugins        []string
	mcp            []string // servers: files or JSON
	mcpStrict      bool
	agents         string // kinds of agents, as JSON
	agent          string // the kind that the agent is
	logLevel       string
	logFormat      string
	debug          bool
	trace          string // file of the spans

	// What configure adds.
	settings   *config.Settings // nil: none were read
	flagged    *options         // what the flags alone say
	rates      rates
	compaction *agent.Compaction
	ask        []permission.Rule
	origins    []permission.Origin    // where the rules were written
	env        map[string]string      // for the commands of tools
	passed     []string               // variables that commands get although they look secret
	servers    []tools.LanguageServer // nil: those that are built in

	digestAbove int // characters of a result; 0: none is too long
}

const (
	formatText   = "text"
	formatJSON   = "json"
	formatStream = "stream-json"
)

// Who is asked for permission.
const (
	askByStdio = "stdio"
	askLater   = "defer"
)

var (
	formats     = []string{formatText, formatJSON, formatStream}
	efforts     = []string{"low", "medium", "high", "max"}
	providers   = slices.Concat([]string{anthropicName, openaiName, responsesName, bedrockName, vertexName, azureName}, hosts, []string{demoName})
	logLevels   = []string{"debug", "info", "warn", "error"}
	logFormats  = []string{"text", "json"}
	promptTools = []string{askByStdio, askLater}
	cacheWords  = []string{"off", "5m", "1h"}
	layers      = []string{string(config.User), string(config.Project), string(config.Local)}
)

func modes() []string {
	var names []string
	for _, m := range permission.Modes {
		names = append(names, string(m))
	}
	return names
}

// flags are the flags of a run.
func (o *options) flags() cli.Flags {
	return cli.Flags{
		{Name: "print", Short: 'p', Help: "one prompt, then end; the default unless on a terminal", Set: cli.Yes(&o.print)},
		{Name: "output-format", Arg: cli.Choice(formats), Words: formats, Help: "what goes to stdout: the final text, one result object, or an object a line", Set: cli.OneOf(&o.output, formats)},
		{Name: "input-format", Arg: "text|stream-json", Words: []string{formatText, formatStream}, Help: "what comes on stdin: a prompt, or user and control messages a line each", Set: cli.OneOf(&o.input, []string{formatText, formatStream})},
		{Name: "include-partial-messages", Help: "with stream-json: pieces of messages as they come", Set: cli.Yes(&o.partial)},
		{Name: "permission-prompt-tool", Arg: cli.Choice(promptTools), Words: promptTools, Help: "who is asked for permission: stdio is control messages, with stream-json input; defer ends the run until openagent sessions answer", Set: cli.OneOf(&o.promptTool, promptTools)},
		{Name: "model", Arg: "NAME", Help: "model to use, or PROVIDER:NAME (default claude-sonnet-4-6)", Set: cli.Text(&o.model)},
		{Name: "fallback-model", Arg: "NAME,NAME", Help: "models to use when it stays unavailable", Set: cli.List(&o.fallbacks)},
		{Name: "provider", Arg: cli.Choice(providers), Words: providers, Help: "whose API to use; guessed from the model and the keys at hand", Set: cli.OneOf(&o.provider, providers)},
		{Name: "base-url", Arg: "URL", Help: "where the API is: without /v1 for anthropic, with it for openai and openai-responses", Set: cli.Text(&o.base)},
		{Name: "max-turns", Arg: "N", Help: "most answers of models, those to agents included", Set: cli.Count(&o.turns)},
		{Name: "max-model-calls", Arg: "N", Help: "most requests to models, retries and those of agents included", Set: cli.Count(&o.modelCalls)},
		{Name: "max-budget-usd", Arg: "X", Help: "most money to spend", Set: cli.Dollars(&o.usd)},
		{Name: "max-tokens", Arg: "N", Help: "most tokens of one answer", Set: cli.Count(&o.maxTokens)},
		{Name: "timeout", Arg: "DURATION", Help: "most time for a prompt, such as 90s or 10m", Set: cli.Duration(&o.timeout)},
		{Name: "system-prompt", Arg: "TEXT|@FILE", Help: "instructions instead of our own", Set: cli.Raw(&o.system)},
		{Name: "append-system-prompt", Arg: "TEXT|@FILE", Help: "instructions after our own", Set: cli.Raw(&o.append)},
		{Name: "permission-mode", Arg: "MODE", Words: modes(), Help: "what to do with calls that no rule settles: " + strings.Join(modes(), ", "), Set: cli.OneOf(&o.mode, modes())},
		{Name: "dangerously-skip-permissions", Help: "the same as --permission-mode bypassPermissions", Set: cli.Yes(&o.bypass)},
		{Name: "sandbox", Arg: cli.Choice(sandboxWords), Words: sandboxWords, Help: "have the system confine commands: auto asks where it cannot, on insists (default off)", Set: cli.OneOf(&o.sandbox, sandboxWords)},
		{Name: "tools", Arg: "core|all|none|NAME,NAME", Words: []string{"core", "all", "none"}, Help: "which tools there are (default: core and a few at hand, the others for the model to find)", Set: cli.List(&o.tools)},
		{Name: "allowed-tools", Arg: "RULES", Help: `calls that need no permission, such as "Edit Bash(git *)"`, Set: rules(&o.allow)},
		{Name: "disallowed-tools", Arg: "RULES", Help: "calls that are refused; a name alone hides the tool", Set: rules(&o.deny)},
		{Name: "settings", Arg: "FILE|JSON", Help: "further settings, which count before those of files and variables", Set: cli.Raw(&o.extra)},
		{Name: "setting-sources", Arg: "LAYER,LAYER", Help: "which files of settings are read, of user, project and local (default all)", Set: cli.OneOfEach(&o.layers, layers)},
		{Name: "resume", Short: 'r', Arg: "ID", Help: "go on with a session; without a prompt, with its interrupted run", Set: cli.Text(&o.resume)},
		{Name: "continue", Short: 'c', Help: "go on with the latest session of this folder", Set: cli.Yes(&o.latest)},
		{Name: "fork-session", Help: "with --resume or --continue: go on in a copy", Set: cli.Yes(&o.fork)},
		{Name: "resume-at", Arg: "MESSAGE_ID", Help: "with --resume or --continue: go on from this message", Set: cli.Text(&o.resumeAt)},
		{Name: "session-id", Arg: "ID", Help: "id of the new session", Set: cli.Text(&o.id)},
		{Name: "no-session-persistence", Help: "keep the session in memory only", Set: cli.Yes(&o.ephemeral)},
		{Name: "session-dir", Arg: "DIR", Path: true, Help: "folder of the sessions", Set: cli.Text(&o.sessionDir)},
		{Name: "effort", Arg: cli.Choice(efforts), Words: efforts, Help: "how much the model thinks", Set: cli.OneOf(&o.effort, efforts)},
		{Name: "max-thinking-tokens", Arg: "N", Help: "how much the model thinks, in tokens", Set: cli.Count(&o.thinking)},
		{Name: "prompt-cache", Arg: cli.Choice(cacheWords), Words: cacheWords, Help: "how long the provider is to keep the prompt (default 5m)", Set: cli.OneOf(&o.cache, cacheWords)},
		{Name: "fast", Help: "ask the model to answer faster, at a higher price, if it can", Set: cli.Yes(&o.fast)},
		{Name: "tools-in-prompt", Help: "write the tools into the prompt, for models that call none by themselves", Set: cli.Yes(&o.toolsInPrompt)},
		{Name: "cwd", Short: 'C', Arg: "DIR", Path: true, Help: "folder to work in, as if started there", Set: cli.Raw(&o.dir)},
		{Name: "add-dir", Arg: "DIR", Path: true, Help: "further folder to work in; may be repeated", Set: cli.More(&o.dirs)},
		{Name: "plugin-dir", Arg: "DIR", Path: true, Help: "plugin: folder with tools/, skills/, commands/, agents/, hooks/hooks.json and .mcp.json, which count once they are trusted; may be repeated", Set: cli.More(&o.plugins)},
		{Name: "mcp-config", Arg: "FILE|JSON", Help: "MCP servers, as .mcp.json has them; may be repeated", Set: cli.More(&o.mcp)},
		{Name: "strict-mcp-config", Help: "no MCP servers but those of --mcp-config", Set: cli.Yes(&o.mcpStrict)},
		{Name: "agents", Arg: "JSON", Help: "further agents that can be put to work, by name: {\"NAME\": {\"description\": …, \"prompt\": …}}", Set: cli.Raw(&o.agents)},
		{Name: "agent", Arg: "NAME", Help: "be one of the agents that openagent agents lists, with its instructions, tools and model", Set: cli.Text(&o.agent)},
		{Name: "json-schema", Arg: "SCHEMA|@FILE", Help: "JSON Schema of type object that the answer has to satisfy; it is checked, and is structured_output of the result", Set: cli.Raw(&o.schema)},
		{Name: "file", Arg: "PATH", Path: true, Help: "image, PDF or text that goes with the prompt; may be repeated", Set: cli.More(&o.files)},
		{Name: "log-level", Arg: cli.Choice(logLevels), Words: logLevels, Help: "what is logged to stderr (default warn)", Set: cli.OneOf(&o.logLevel, logLevels)},
		{Name: "log-format", Arg: cli.Choice(logFormats), Words: logFormats, Help: "how it is logged", Set: cli.OneOf(&o.logFormat, logFormats)},
		{Name: "trace", Arg: "FILE", Path: true, Help: "add what the run does to a file, a span a line of JSON, without content", Set: cli.Text(&o.trace)},
		{Name: "debug", Help: "the same as --log-level debug", Set: cli.Yes(&o.debug)},
	}
}

// check reports flags that do not go together, enters the working folder and
// fills in what goes without saying.
func (o *options) check() error {
	for _, c := range []struct {
		wrong bool
		text  string
	}{
		{o.resume != "" && o.latest, "--resume and --continue do not go together; leave one out"},
		{o.fork && o.resume == "" && !o.latest, "--fork-session needs --resume ID or --continue"},
		{o.resumeAt != "" && o.resume == "" && !o.latest, "--resume-at needs --resume ID or --continue"},
		{o.id != "" && (o.resume != "" || o.latest) && !o.fork, "--session-id is for new sessions; with --resume or --continue add --fork-session"},
		{o.sessionDir != "" && o.ephemeral && o.resume == "" && !o.latest, "--session-dir and --no-session-persistence do not go together; leave one out"},
		{o.bypass && o.mode != "" && o.mode != string(permission.Bypass), "--dangerously-skip-permissions and --permission-mode " + o.mode + " do not go together; leave one out"},
		{o.agent != "" && o.system != "", "--agent and --system-prompt do not go together; leave one out, or add to the instructions with --append-system-prompt"},
		{o.partial && o.output != formatStream, "--include-partial-messages needs --output-format stream-json"},
		{o.input == formatStream && o.output != formatStream, "--input-format stream-json needs --output-format stream-json"},
		{o.promptTool == askByStdio && o.input != formatStream, "--permission-prompt-tool stdio needs --input-format stream-json"},
	} {
		if c.wrong {
			return cli.Usagef("%s", c.text)
		}
	}
	if o.bypass {
		o.mode = string(permission.Bypass)
	}
	if o.output == "" {
		o.output = formatText
	}
	if o.dir != "" {
		if err := needDir("--cwd", o.dir); err != nil {
			return err
		}
		if err := os.Chdir(o.dir); err != nil {
			return cli.Usagef("--cwd: %v", err)
		}
	}
	if o.schema != "" {
		schema, err := textOrFile("--json-schema", o.schema)
		if err != nil {
			return err
		}
		if o.answer, err = readSchema([]byte(schema)); err != nil {
			return cli.Usagef("--json-schema: %w", err)
		}
	}
	return errors.Join(absolute("--add-dir", o.dirs), absolute("--plugin-dir", o.plugins))
}

// readSchema checks a schema of answers.
func readSchema(schema json.RawMessage) (json.RawMessage, error) {
	s, err := tool.ReadSchema(schema)
	if err != nil {
		return nil, err
	}
	return s.JSON(), nil
}

// absolute makes the paths of folders that must exist absolute.
func absolute(shown string, dirs []string) error {
	for i, d := range dirs {
		if err := needDir(shown, d); err != nil {
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

const maxSystem = 1 << 20 // bytes of a system prompt

// textOrFile returns a value that may be @file.
func textOrFile(shown, value string) (string, error) {
	name, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	data, err := readFile(name, maxSystem)
	if err != nil {
		return "", cli.Usagef("%s: %v; name a file after @, or write the text itself", shown, err)
	}
	return strings.ToValidUTF8(string(data), "�"), nil
}

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	data, err := plainfile.ReadFile(name, limit)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", name)
	}
	return data, err
}

// workingDir is the folder that the agent works in.
func workingDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", cli.Usagef("finding the working folder: %w; go to one that exists, or add --cwd", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real, nil
	}
	return dir, nil
}

func rules(to *[]permission.Rule) func(string) error {
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

// needDir reports what is wrong with a folder that must exist.
func needDir(shown, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return cli.Usagef("%s: there is no folder %s; make it first or name another", shown, dir)
	case err != nil:
		return cli.Usagef("%s: %v", shown, err)
	case !info.IsDir():
		return cli.Usagef("%s: %s is not a folder; name the folder that it is in", shown, dir)
	}
	return nil
}
