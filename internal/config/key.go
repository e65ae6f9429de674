package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
)

// A Type is the type of a key's values.
type Type string

const (
	Text   Type = "text"
	Bool   Type = "true or false"
	Whole  Type = "whole number"    // from 1 up
	Amount Type = "number"          // above 0
	Span   Type = "duration"        // a text such as "90s" or "10m"
	Texts  Type = "list of texts"   //
	Rules  Type = "list of rules"   // permission rules
	Table  Type = "object of texts" //

	// Servers are objects with name, command, args, extensions (each with the
	// language's id), rootMarkers, initOptions and env.
	Servers Type = "list of language servers"

	// Models are objects with name, provider, window, max_output, price (input, output,
	// cache_read, cache_write: USD per million tokens) and what else a catalog.Entry has.
	Models Type = "list of models"

	// Hooks are commands by event: {"PreToolUse": [{"matcher": "Edit|Write", "hooks":
	// [{"type": "command", "command": "check.sh", "timeout": 10}]}]}, in seconds.
	Hooks Type = "object of hooks"
)

// A Key describes a setting: its type, its documentation, and which layers can set it.
type Key struct {
	Name    string // "model"; a dot leads into an object: "permissions.allow"
	Type    Type
	Doc     string          // a line for people
	Default json.RawMessage // nil: none
	Words   []string        // the values to choose from, where there is such a list
	Env     []string        // variables that set it, the first that is set counts
	Flag    string          // that sets it, without dashes
	// Joined: the lists and tables of all layers are put together. Otherwise the
	// value of the highest layer counts.
	Joined bool
	// Restricts: it only ever forbids, so a project that is not trusted may set it.
	Restricts bool
	// OfMachine: managed settings alone may set it.
	OfMachine bool

	secret bool // its values are not for showing
	// tighter reports whether a leaves less room than b. A project that is not
	// trusted may set values that are tighter than those below them, and managed
	// settings bound the others.
	tighter func(a, b json.RawMessage) bool
	// absentIsLess: where nobody sets it there is less than any value may give.
	absentIsLess bool
	// only, unless nil, are the items of the list that may count.
	only []string
	// widens: it lets commands do more in a sandbox. Where managed settings switch the
	// sandbox on, other layers widen it only as managed settings do as well.
	widens bool
	// fixed: managed settings have switched the sandbox on, and do not say this.
	fixed bool
}

// Secret reports whether the values of the key are not to be shown, but for what
// [Key.Hide] leaves of them.
func (k Key) Secret() bool { return k.secret }

// Hide returns a value with *** in place of its secrets.
func (k Key) Hide(value json.RawMessage) json.RawMessage {
	switch {
	case !k.secret:
		return value
	case k.Type == Servers:
		return hideServers(value)
	}
	return hideTable(value)
}

// Limit reports whether values can be compared: what leaves less room is a
// restriction.
func (k Key) Limit() bool { return k.tighter != nil }

// strictness orders modes, the strictest first.
var strictness = []permission.Mode{permission.Plan, permission.DontAsk, permission.Default, permission.AcceptEdits, permission.Auto, permission.Bypass}

func modeWords() []string {
	var words []string
	for _, m := range policies.Modes {
		words = append(words, string(m))
	}
	return words
}

func stricterMode(a, b json.RawMessage) bool {
	var x, y permission.Mode
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && slices.Index(strictness, x) < slices.Index(strictness, y)
}

func lowerNumber(a, b json.RawMessage) bool {
	var x, y float64
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x < y
}

func shorterSpan(a, b json.RawMessage) bool {
	x, err := span(a)
	y, err2 := span(b)
	return err == nil && err2 == nil && x < y
}

func span(v json.RawMessage) (time.Duration, error) {
	var text string
	if err := json.Unmarshal(v, &text); err != nil {
		return 0, err
	}
	return time.ParseDuration(text)
}

// Disabled is the only value of permissions.disableBypassPermissionsMode.
const Disabled = "disable"

const (
	managedOnly = "allowManagedPermissionRulesOnly"
	allowKey    = "permissions.allow"
)

var keys = append([]Key{
	{Name: "model", Type: Text, Doc: "the model that runs start with", Env: []string{"OPENAGENT_MODEL", "ANTHROPIC_MODEL", "OPENAI_MODEL"}, Flag: "model"},
	{Name: "small_model", Type: Text, Doc: "the cheap model that summarizes web pages", Env: []string{"OPENAGENT_SMALL_MODEL"}},
	{Name: "digest_above", Type: Whole, Doc: "the small model summarizes tool results with more characters than this, such as 50000; not set: results are not summarized for their length"},
	{Name: "fallback_models", Type: Texts, Doc: "models to try, in this order, when the model stays unavailable", Flag: "fallback-model"},
	{Name: "provider", Type: Text, Doc: "the API to use; not set: chosen by the model and the keys that are set", Words: []string{"anthropic", "openai", "openai-responses", "bedrock", "vertex", "azure", "openrouter", "vercel", "deepseek", "glm", "kimi", "groq", "xai", "mistral", "ollama", "llamacpp", "vllm", "lmstudio", "gemini", "huggingface", "avian", "demo"}, Env: []string{"OPENAGENT_PROVIDER"}, Flag: "provider"},
	{Name: "base_url", Type: Text, Doc: "the address of the API: without /v1 for anthropic, with /v1 for openai and openai-responses", Env: []string{"OPENAGENT_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"}, Flag: "base-url"},
	{Name: "models", Type: Models, Doc: "models to add to the catalog, or to change in it: provider, window and prices; openagent models lists them", Joined: true},
	{Name: "apiKeyHelper", Type: Text, Doc: "a command that prints the API key; it wins over keys in variables and runs again when the provider refuses a key"},
	{Name: "apiKeyHelperTTL", Type: Span, Doc: "how long the key from apiKeyHelper is used", Default: json.RawMessage(`"5m"`), Env: []string{"OPENAGENT_API_KEY_HELPER_TTL"}},
	{Name: "proxy", Type: Text, Doc: "the proxy for model requests, as a URL (http, https, socks5), or direct for none; not set: HTTPS_PROXY; NO_PROXY applies to both", Env: []string{"OPENAGENT_PROXY"}, secret: true},
	{Name: "caFile", Type: Text, Doc: "a PEM file with certificates to trust for model requests, in addition to the system's", Env: []string{"OPENAGENT_CA_FILE", "NODE_EXTRA_CA_CERTS"}},
	{Name: "clientCert", Type: Text, Doc: "a PEM file with your certificate, for model servers that ask for one", Env: []string{"OPENAGENT_CLIENT_CERT"}},
	{Name: "clientKey", Type: Text, Doc: "the PEM file with the key of clientCert", Env: []string{"OPENAGENT_CLIENT_KEY"}},
	{Name: allowKey, Type: Rules, Doc: "calls that run without a question", Flag: "allowed-tools", Joined: true},
	{Name: "permissions.ask", Type: Rules, Doc: "calls that always ask you", Joined: true, Restricts: true},
	{Name: "permissions.deny", Type: Rules, Doc: "calls that are refused; a tool name alone hides the tool", Flag: "disallowed-tools", Joined: true, Restricts: true},
	{Name: "permissions.knownTools", Type: Texts, Doc: "names of tools that rules may name although they are not here, such as custom tools of other projects", Joined: true},
	{Name: "permissions.defaultMode", Type: Text, Doc: "the permission mode: how to decide calls that no rule matches", Default: json.RawMessage(`"default"`), Words: modeWords(), Flag: "permission-mode", tighter: stricterMode},
	{Name: "permissions.disableBypassPermissionsMode", Type: Text, Doc: "forbid the mode bypassPermissions", Words: []string{Disabled}, Restricts: true},
	{Name: managedOnly, Type: Bool, Doc: "use only the allow rules that managed settings list", Default: json.RawMessage("false"), Restricts: true, OfMachine: true},
	{Name: "permissions.additionalDirectories", Type: Texts, Doc: "more folders to work in; relative paths start at the working folder", Flag: "add-dir", Joined: true},
	{Name: "env", Type: Table, Doc: "environment variables for the commands that tools run; their values are never shown", Joined: true, secret: true},
	{Name: "passEnv", Type: Texts, Doc: "names of variables to pass to commands although they look secret, such as GH_TOKEN; their values are not shown", Joined: true},
	{Name: "tools", Type: Texts, Doc: "the tools that the model gets: core, all, none, or names", Flag: "tools"},
	{Name: "max_turns", Type: Whole, Doc: "the most turns per prompt, those of sub-agents included", Flag: "max-turns", tighter: lowerNumber},
	{Name: "max_model_calls", Type: Whole, Doc: "the most requests to models per prompt, retries and those of sub-agents included", Flag: "max-model-calls", tighter: lowerNumber},
	{Name: "max_budget_usd", Type: Amount, Doc: "the most that a prompt may cost, in USD", Flag: "max-budget-usd", tighter: lowerNumber},
	{Name: "daily_budget_usd", Type: Amount, Doc: "the most that your prompts of a day (UTC) may cost together, in USD, in all sessions and programs with this setting; see cost.md", tighter: lowerNumber},
	{Name: "rate_limits.requests", Type: Whole, Doc: "requests per minute to each model; not set: the provider's limit", tighter: lowerNumber},
	{Name: "rate_limits.input_tokens", Type: Whole, Doc: "input tokens per minute, without tokens read from a cache", tighter: lowerNumber},
	{Name: "rate_limits.output_tokens", Type: Whole, Doc: "output tokens per minute", tighter: lowerNumber},
	{Name: "rate_limits.tokens", Type: Whole, Doc: "input and output tokens per minute, together", tighter: lowerNumber},
	{Name: "rate_limits.concurrent", Type: Whole, Doc: "requests to the provider at the same time, of all agents together", tighter: lowerNumber},
	{Name: "max_tokens", Type: Whole, Doc: "the most tokens in one answer", Flag: "max-tokens", tighter: lowerNumber, absentIsLess: true},
	{Name: "compaction.off", Type: Bool, Doc: "turn automatic compaction off; /compact still works, see compaction.md", Default: no},
	{Name: "compaction.reserve", Type: Whole, Doc: "tokens of the context window to keep free: compaction starts when a conversation needs them; not set: 10000, or max_tokens if that is more"},
	{Name: "compaction.keep", Type: Whole, Doc: "tokens of the newest messages that compaction keeps unchanged; not set: 20000"},
	{Name: "loop.off", Type: Bool, Doc: "let the model repeat itself: the loop guard asks about no call and ends no run, see reliability.md", Default: no},
	{Name: "loop.repeats", Type: Whole, Doc: "in how many answers in a row a call may have the same result, until a further one asks you or ends the run; not set: 2"},
	{Name: "loop.failures", Type: Whole, Doc: "how often a call may fail in the same way, until a further one asks you or ends the run; not set: 3"},
	{Name: "prompt_cache", Type: Text, Doc: "how long the provider caches the prompt after each use: off, five minutes or an hour, see cost.md", Default: json.RawMessage(`"5m"`), Words: []string{"off", "5m", "1h"}, Env: []string{"OPENAGENT_PROMPT_CACHE"}, Flag: "prompt-cache"},
	{Name: "fastMode", Type: Bool, Doc: "ask models that support it to answer faster, at a higher price, see cost.md", Default: no, Flag: "fast"},
	{Name: "timeout", Type: Span, Doc: "the most time for a prompt", Flag: "timeout", tighter: shorterSpan},
	{Name: "effort", Type: Text, Doc: "how much the model thinks", Words: []string{"low", "medium", "high", "max"}, Flag: "effort"},
	{Name: "max_thinking_tokens", Type: Whole, Doc: "how much the model thinks, in tokens", Flag: "max-thinking-tokens", tighter: lowerNumber, absentIsLess: true},
	{Name: "hooks", Type: Hooks, Doc: "commands to run at events, see hooks.md", Joined: true},
	{Name: "hooks_in_sandbox", Type: Bool, Doc: "run hooks in the sandbox, if there is one, like the commands of tools", Default: no, tighter: on},
	{Name: "disableAllHooks", Type: Bool, Doc: "run no hooks except managed ones", Default: no},
	{Name: "languageServers", Type: Servers, Doc: "language servers for the tool LSP; they win over built-in ones and change those of the same name; values of their variables are never shown", secret: true},
	{Name: "diagnosticsAfterEdits", Type: Bool, Doc: "report errors in a file after each change, from the language servers that the tool LSP has started", Default: json.RawMessage("false")},
	{Name: "fileCheckpointingEnabled", Type: Bool, Doc: "save files before a prompt changes them, so that you can restore them", Default: json.RawMessage("true")},
	{Name: "checkpointQuotaMB", Type: Whole, Doc: "how many megabytes of saved files to keep, for all projects together", Default: json.RawMessage("1024")},
	{Name: "checkpointMaxAgeDays", Type: Whole, Doc: "how many days to keep saved files", Default: json.RawMessage("30")},
	{Name: "store", Type: Text, Doc: "the database that holds the sessions, such as postgres://user@host/database; not set: a folder for each project; see sessions.md", Env: []string{"OPENAGENT_STORE"}, Flag: "store", secret: true},
	{Name: "claude_sessions", Type: Bool, Doc: "write each session where listSessions of the Claude Agent SDKs finds it, after every prompt; without it, only sessions that such an SDK drives; see sessions.md"},
	{Name: "share.redact", Type: Texts, Doc: "regular expressions; what they match within a line is hidden when you share a session, see serve.md", Joined: true, Restricts: true},
	{Name: "projectContext", Type: Bool, Doc: "give the model AGENTS.md and CLAUDE.md, yours and the project's, and the state of git", Default: json.RawMessage("true")},
	{Name: "memory.enabled", Type: Bool, Doc: "keep what agents learn for later sessions, see memory.md; not set: a conversation asks you once", Flag: "memory", tighter: off},
	{Name: "memory.review", Type: Bool, Doc: "let the small model propose entries of the memory from sessions that have ended, when the next conversation starts; it costs tokens", Default: no, tighter: off},
	{Name: "memory.budget", Type: Whole, Doc: "the most bytes that entries of the memory add to a prompt", Default: json.RawMessage("6000"), tighter: lowerNumber},
	{Name: "privateTriggers", Type: Bool, Doc: "let RemoteTrigger start triggers on this machine and in private networks", Default: json.RawMessage("false")},
	{Name: "no_animation", Type: Bool, Doc: "show marks of work in progress that stand still, in the terminal UI", Default: no, Flag: "no-animation", Restricts: true},
	{Name: "promptSuggestions", Type: Bool, Doc: "have the small model suggest your next prompt after each run, see terminal.md; each suggestion costs a small request", Default: no, Flag: "prompt-suggestions"},
	{Name: "no_color", Type: Bool, Doc: "print no colours", Default: json.RawMessage("false"), Env: []string{"NO_COLOR"}, Restricts: true},
}, sandboxKeys...)

// Keys lists the settings in the order in which people see them.
func Keys() []Key { return slices.Clone(keys) }

// Find returns the key of a name. A name such as "env.PATH" is that of a member
// of a table; then member is what follows the dot. The error names the nearest key.
func Find(name string) (k Key, member string, err error) {
	for _, k := range keys {
		if k.Name == name {
			return k, "", nil
		}
		if rest, ok := strings.CutPrefix(name, k.Name+"."); ok && k.Type == Table {
			return k, rest, checkVariable(rest)
		}
	}
	if f, ok := foreign(name); ok {
		return Key{}, "", fmt.Errorf("the setting %s has no effect here%s", f.name, f.instead())
	}
	return Key{}, "", fmt.Errorf("there is no setting %.100q%s", name, nearest(name))
}

// nearest suggests a key whose last part or whole name is equal or similar.
func nearest(name string) string {
	var names, ends []string
	short := map[string]string{}
	for _, k := range keys {
		end := k.Name[strings.LastIndexByte(k.Name, '.')+1:]
		short[end] = k.Name
		names, ends = append(names, k.Name), append(ends, end)
	}
	own := name[strings.LastIndexByte(name, '.')+1:]
	best := short[own]
	if best == "" {
		best = text.Nearest(name, names)
	}
	if best == "" {
		best = short[text.Nearest(own, ends)]
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

func checkVariable(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return fmt.Errorf("%.100q cannot be the name of a variable", name)
	}
	return nil
}

// Check returns an error if the key does not accept a value.
func (k Key) Check(value json.RawMessage) error {
	n, err := parse(value)
	if err != nil {
		return err
	}
	if err := n.once(); err != nil {
		return err
	}
	return k.accepts(value, n)
}

// accepts checks the value n of a text. The error names its line.
func (k Key) accepts(data []byte, n *node) error {
	switch k.Type {
	case Texts, Rules:
		if n.kind != isList {
			return k.expected(n, "a "+string(k.Type))
		}
		for _, item := range n.items {
			if err := k.acceptsText(data, item); err != nil {
				return err
			}
		}
		return nil
	case Servers:
		return k.acceptsServers(data, n)
	case Hooks:
		return k.acceptsHooks(data, n)
	case Models:
		return k.acceptsModels(data, n)
	case Table:
		if n.kind != isObject {
			return k.expected(n, "an "+string(k.Type))
		}
		for _, m := range n.members {
			if err := checkVariable(m.name); err != nil {
				return wrongAt(m.line, "%s: %v", k.Name, err)
			}
			if m.value.kind != isText {
				return wrongAt(m.line, "%s.%s must be a text in quotes, not %s", k.Name, m.name, m.value.kind)
			}
			if bytes.Contains(data[m.value.start:m.value.end], []byte(`\u0000`)) {
				return wrongAt(m.line, "%s.%s holds a character that no variable can hold", k.Name, m.name)
			}
		}
		return nil
	case Bool:
		if n.kind != isBool {
			return k.expected(n, string(k.Type))
		}
		return nil
	case Whole, Amount:
		return k.acceptsNumber(data, n)
	}
	return k.acceptsText(data, n)
}

func (k Key) expected(n *node, what string) error {
	return wrongAt(n.line, "%s must be %s, not %s", k.Name, what, n.kind)
}

func (k Key) acceptsNumber(data []byte, n *node) error {
	what := "a number above 0"
	if k.Type == Whole {
		what = fmt.Sprintf("a whole number from 1 to %d", math.MaxInt32)
	}
	var f float64
	switch {
	case n.kind != isNumber:
		return k.expected(n, what)
	case json.Unmarshal(data[n.start:n.end], &f) != nil || f <= 0, k.Type == Whole && (bytes.ContainsAny(data[n.start:n.end], ".eE") || f > math.MaxInt32):
		return wrongAt(n.line, "%s must be %s, not %.40s", k.Name, what, data[n.start:n.end])
	}
	return nil
}

const maxText = 4 << 10 // bytes of a text

func (k Key) acceptsText(data []byte, n *node) error {
	if n.kind != isText {
		return k.expected(n, "a text in quotes")
	}
	var s string
	if err := json.Unmarshal(data[n.start:n.end], &s); err != nil {
		return wrongAt(n.line, "%s: %v", k.Name, err)
	}
	switch {
	case strings.TrimSpace(s) == "":
		return wrongAt(n.line, "%s: the text is empty; leave it out instead", k.Name)
	case len(s) > maxText:
		return wrongAt(n.line, "%s: the text has more than %d bytes", k.Name, maxText)
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return wrongAt(n.line, "%s: the text holds a control character", k.Name)
	case k.Words != nil && !slices.Contains(k.Words, s):
		hint := ""
		if best := text.Nearest(s, k.Words); best != "" {
			hint = "; did you mean " + best + "?"
		}
		return wrongAt(n.line, "%s: %.100q is not one of %s%s", k.Name, s, strings.Join(k.Words, ", "), hint)
	case k.Type == Rules:
		if _, err := permission.ParseRule(s); err != nil {
			return wrongAt(n.line, "%s: %v", k.Name, err)
		}
	case k.Type == Span:
		if d, err := time.ParseDuration(s); err != nil || d <= 0 {
			return wrongAt(n.line, "%s: %.100q is not a duration; write one such as 90s or 10m", k.Name, s)
		}
	}
	return nil
}
