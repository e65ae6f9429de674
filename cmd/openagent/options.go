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

func choice(words []string) string { return strings.Join(words, "|") }

// flags are the flags of a run.
func (o *options) flags() flags {
	return flags{
		{name: "print", short: 'p', help: "one prompt, then end; the default unless on a terminal", set: yes(&o.print)},
		{name: "output-format", arg: choice(formats), words: formats, help: "what goes to stdout: the final text, one result object, or an object a line", set: oneOf(&o.output, formats)},
		{name: "input-format", arg: "text|stream-json", words: []string{formatText, formatStream}, help: "what comes on stdin: a prompt, or user and control messages a line each", set: oneOf(&o.input, []string{formatText, formatStream})},
		{name: "include-partial-messages", help: "with stream-json: pieces of messages as they come", set: yes(&o.partial)},
		{name: "permission-prompt-tool", arg: choice(promptTools), words: promptTools, help: "who is asked for permission: stdio is control messages, with stream-json input; defer ends the run until openagent sessions answer", set: oneOf(&o.promptTool, promptTools)},
		{name: "model", arg: "NAME", help: "model to use, or PROVIDER:NAME (default claude-sonnet-4-6)", set: text(&o.model)},
		{name: "fallback-model", arg: "NAME,NAME", help: "models to use when it stays unavailable", set: list(&o.fallbacks)},
		{name: "provider", arg: choice(providers), words: providers, help: "whose API to use; guessed from the model and the keys at hand", set: oneOf(&o.provider, providers)},
		{name: "base-url", arg: "URL", help: "where the API is: without /v1 for anthropic, with it for openai and openai-responses", set: text(&o.base)},
		{name: "max-turns", arg: "N", help: "most answers of models, those to agents included", set: count(&o.turns)},
		{name: "max-model-calls", arg: "N", help: "most requests to models, retries and those of agents included", set: count(&o.modelCalls)},
		{name: "max-budget-usd", arg: "X", help: "most money to spend", set: dollars(&o.usd)},
		{name: "max-tokens", arg: "N", help: "most tokens of one answer", set: count(&o.maxTokens)},
		{name: "timeout", arg: "DURATION", help: "most time for a prompt, such as 90s or 10m", set: duration(&o.timeout)},
		{name: "system-prompt", arg: "TEXT|@FILE", help: "instructions instead of our own", set: raw(&o.system)},
		{name: "append-system-prompt", arg: "TEXT|@FILE", help: "instructions after our own", set: raw(&o.append)},
		{name: "permission-mode", arg: "MODE", words: modes(), help: "what to do with calls that no rule settles: " + strings.Join(modes(), ", "), set: oneOf(&o.mode, modes())},
		{name: "dangerously-skip-permissions", help: "the same as --permission-mode bypassPermissions", set: yes(&o.bypass)},
		{name: "sandbox", arg: choice(sandboxWords), words: sandboxWords, help: "have the system confine commands: auto asks where it cannot, on insists (default off)", set: oneOf(&o.sandbox, sandboxWords)},
		{name: "tools", arg: "core|all|none|NAME,NAME", words: []string{"core", "all", "none"}, help: "which tools there are (default: core and a few at hand, the others for the model to find)", set: list(&o.tools)},
		{name: "allowed-tools", arg: "RULES", help: `calls that need no permission, such as "Edit Bash(git *)"`, set: rules(&o.allow)},
		{name: "disallowed-tools", arg: "RULES", help: "calls that are refused; a name alone hides the tool", set: rules(&o.deny)},
		{name: "settings", arg: "FILE|JSON", help: "further settings, which count before those of files and variables", set: raw(&o.extra)},
		{name: "setting-sources", arg: "LAYER,LAYER", help: "which files of settings are read, of user, project and local (default all)", set: oneOfEach(&o.layers, layers)},
		{name: "resume", short: 'r', arg: "ID", help: "go on with a session; without a prompt, with its interrupted run", set: text(&o.resume)},
		{name: "continue", short: 'c', help: "go on with the latest session of this folder", set: yes(&o.latest)},
		{name: "fork-session", help: "with --resume or --continue: go on in a copy", set: yes(&o.fork)},
		{name: "resume-at", arg: "MESSAGE_ID", help: "with --resume or --continue: go on from this message", set: text(&o.resumeAt)},
		{name: "session-id", arg: "ID", help: "id of the new session", set: text(&o.id)},
		{name: "no-session-persistence", help: "keep the session in memory only", set: yes(&o.ephemeral)},
		{name: "session-dir", arg: "DIR", path: true, help: "folder of the sessions", set: text(&o.sessionDir)},
		{name: "effort", arg: choice(efforts), words: efforts, help: "how much the model thinks", set: oneOf(&o.effort, efforts)},
		{name: "max-thinking-tokens", arg: "N", help: "how much the model thinks, in tokens", set: count(&o.thinking)},
		{name: "prompt-cache", arg: choice(cacheWords), words: cacheWords, help: "how long the provider is to keep the prompt (default 5m)", set: oneOf(&o.cache, cacheWords)},
		{name: "fast", help: "ask the model to answer faster, at a higher price, if it can", set: yes(&o.fast)},
		{name: "tools-in-prompt", help: "write the tools into the prompt, for models that call none by themselves", set: yes(&o.toolsInPrompt)},
		{name: "cwd", short: 'C', arg: "DIR", path: true, help: "folder to work in, as if started there", set: raw(&o.dir)},
		{name: "add-dir", arg: "DIR", path: true, help: "further folder to work in; may be repeated", set: more(&o.dirs)},
		{name: "plugin-dir", arg: "DIR", path: true, help: "plugin: folder with tools/, skills/, commands/, agents/, hooks/hooks.json and .mcp.json, which count once they are trusted; may be repeated", set: more(&o.plugins)},
		{name: "mcp-config", arg: "FILE|JSON", help: "MCP servers, as .mcp.json has them; may be repeated", set: more(&o.mcp)},
		{name: "strict-mcp-config", help: "no MCP servers but those of --mcp-config", set: yes(&o.mcpStrict)},
		{name: "agents", arg: "JSON", help: "further agents that can be put to work, by name: {\"NAME\": {\"description\": …, \"prompt\": …}}", set: raw(&o.agents)},
		{name: "agent", arg: "NAME", help: "be one of the agents that openagent agents lists, with its instructions, tools and model", set: text(&o.agent)},
		{name: "json-schema", arg: "SCHEMA|@FILE", help: "JSON Schema of type object that the answer has to satisfy; it is checked, and is structured_output of the result", set: raw(&o.schema)},
		{name: "file", arg: "PATH", path: true, help: "image, PDF or text that goes with the prompt; may be repeated", set: more(&o.files)},
		{name: "log-level", arg: choice(logLevels), words: logLevels, help: "what is logged to stderr (default warn)", set: oneOf(&o.logLevel, logLevels)},
		{name: "log-format", arg: choice(logFormats), words: logFormats, help: "how it is logged", set: oneOf(&o.logFormat, logFormats)},
		{name: "trace", arg: "FILE", path: true, help: "add what the run does to a file, a span a line of JSON, without content", set: text(&o.trace)},
		{name: "debug", help: "the same as --log-level debug", set: yes(&o.debug)},
	}
}

func raw(to *string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errors.New("the value is empty; leave the flag out instead")
		}
		*to = s
		return nil
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
			return usagef("%s", c.text)
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
			return usagef("--cwd: %v", err)
		}
	}
	if o.schema != "" {
		schema, err := textOrFile("--json-schema", o.schema)
		if err != nil {
			return err
		}
		if o.answer, err = readSchema([]byte(schema)); err != nil {
			return usagef("--json-schema: %w", err)
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
			return usagef("%s: %v", shown, err)
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
		return "", usagef("%s: %v; name a file after @, or write the text itself", shown, err)
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
		return "", usagef("finding the working folder: %w; go to one that exists, or add --cwd", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real, nil
	}
	return dir, nil
}
