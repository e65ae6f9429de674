// Package arch holds the rules of who may import whom.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/openagent-go/agent"

// rules say for each package, by its path below the module, which packages of
// the module it may import; "/..." covers all below. What is not listed may
// import nothing of the module but the packages of everywhere. The permit "internal/..."
// covers only shared helpers: a package with a row of its own must be named.
var rules = map[string][]string{
	"": {
		"internal/order",
		"internal/fact",
		"internal/conversation",
		"internal/discard",
		"internal/driver",
		"internal/elicitform",
		"internal/eventqueue",
		"internal/executor",
		"internal/safecall",
		"internal/same",
		"internal/secrets",
		"internal/strict",
		"internal/subagents",
		"internal/toolnames",
		"internal/watchers",
		"internal/engine",
		"session",
		"event",
		"hook",
		"llm",
		"tool",
		"trace",
		"permission",
		"internal/toolschema",
		"internal/toolhost",
		"internal/toolrun",
		"internal/hookrun",
		"internal/hookctx",
		"internal/metering",
		"internal/modelcall",
		"internal/policies",
		"internal/rerun",
		"internal/rules",
	},
	"internal/rerun": {
		"internal/conversation",
		"internal/engine",
		"internal/executor",
		"internal/fact",
		"internal/toolrun",
		"event",
		"llm",
		"tool",
	},
	"eval": {
		"",
		"event",
		"internal/environ",
		"internal/plainfile",
		"internal/redact",
		"internal/strictyaml",
		"internal/toolschema",
		"llm",
		"llm/llmtest", // models that a case scripts
		"permission",
		"quota",
		"replay", // models that answer as in a recorded session
		"sandbox",
		"session",
		"workspace",
	},
	"internal/strictyaml": {},
	"eval/report": {
		"eval",
		"internal/environ",
		"internal/htmlpage",
		"internal/plainfile",
		"internal/redact",
		"internal/terminal",
		"internal/turns",
		"llm",
	},
	"replay": {
		"",
		"internal/engine",
		"internal/executor",
		"internal/fact",
		"internal/policies",
		"internal/rerun",
		"internal/toolrun",
		"event",
		"llm",
		"permission",
		"session",
		"tool",
		"trace",
	},
	"permission": {
		"internal/rules",
		"internal/rules/shellword",
		"internal/rules/shellscan",
	},
	"trace": {
		"internal/fact",
		"internal/plainfile",
		"internal/tracefile",
		"event",
		"llm",
	},
	"internal/htmlpage": {},
	"internal/tracehtml": {
		"internal/htmlpage",
		"internal/terminal",
		"internal/tracefile",
		"internal/turns",
	},
	"internal/tracefile": {
		"internal/fact",
		"event",
		"llm",
		"permission",
	},
	"hook": {
		"tool",
		"permission",
		"internal/hookctx",
	},
	"hook/shell": {
		"hook",
		"internal/environ",
		"workspace",
		"internal/hookctx",
		"internal/hookrun",
	},
	"internal/eventtable": {},
	// Not session, and not the root: who records the facts and who acts on them.
	"internal/fact": {
		"internal/eventtable",
		"internal/toolrun",
		"event",
		"hook",
		"llm",
		"permission",
		"tool",
	},
	"internal/engine": {
		"internal/order",
		"internal/fact",
		"event",
		"hook",
		"tool",
		"llm",
		"permission",
		"internal/toolrun",
		"internal/skillscope",
		"internal/tokens",
		"internal/modelcall",
		"internal/policies",
	},
	"session": {
		"internal/sessionid",
		"internal/order",
		"internal/fact",
		"internal/history",
		"event",
		"permission",
		"tool",
		"llm",
	},
	"session/view": {
		"internal/fact",
		"event",
		"llm",
		"permission",
		"tool",
	},
	"session/export": {
		"internal/agentview",
		"session/view",
		"internal/environ",
		"internal/htmlpage",
		"internal/redact",
		"internal/sessionhtml",
		"internal/turns",
		"session",
		"event",
		"llm",
	},
	"internal/turns": {
		"session/view",
		"internal/fact",
		"internal/policies",
		"internal/redact",
		"internal/terminal",
		"event",
		"llm",
		"permission",
	},
	"internal/sessionhtml": {
		"internal/markdown",
		"internal/turns",
		"llm",
	},
	"internal/timeline": {
		"internal/fact",
		"event",
		"llm",
		"permission",
	},
	"internal/agentview": {
		"internal/timeline",
		"session",
		"session/view",
	},
	"internal/transcript": {
		"internal/plainfile",
		"session",
		"internal/history",
		"event",
		"llm",
	},
	"internal/account": {
		"internal/fact",
		"internal/engine",
		"event",
		"llm",
		"internal/tokens",
		"internal/modelcall",
	},
	"internal/history": {
		"internal/fact",
		"internal/engine",
		"event",
		"tool",
		"llm",
		"permission",
	},
	"session/sessiontest": {
		"internal/fact",
		"internal/fill",
		"session",
		"event",
		"permission",
		"tool",
		"llm",
	},
	"event": {
		"internal/eventtable",
		"hook",
		"tool",
		"llm",
		"permission",
	},
	"tool": {
		"llm",
		"permission",
		"internal/toolschema",
		"internal/skillscope",
	},
	"tool/tooltest": {
		"tool",
		"internal/toolrun",
	},
	"attach": {
		"internal/media",
		"internal/plainfile",
		"llm",
	},
	"internal/media": {"llm"},
	"internal/gitworktree": {
		"internal/safefile",
		"internal/environ",
		"internal/plainfile",
		"internal/text",
		"internal/toolapi",
		"permission",
		"tool",
		"workspace",
	},
	"tools": {
		"internal/gitworktree",
		"internal/media",
		"tool",
		"llm",
		"permission",
		"workspace",
		"tools/search",
		"cron",
		"team",
		"trigger",
		"internal/wire",
		"internal/...",
		"internal/cronstore",
		"internal/triggerstore",
		"internal/teamstore",
		"internal/toolrun",
		"internal/skillscope",
		"internal/toolapi",
		"internal/rules/shellscan",
		"internal/policies",
		"internal/rules",
	},
	"internal/toolapi": {
		"internal/plainfile",
		"internal/skillscope",
		"internal/walk",
		"tool",
		"llm",
		"permission",
		"workspace",
	},
	"internal/customtools": {
		"internal/environ",
		"internal/plainfile",
		"tool",
		"llm",
		"workspace",
	},
	"tools/search": {
		"internal/wire",
		"internal/...",
	},
	"cron":                {"internal/cronstore"},
	"internal/cronstore":  {},
	"team":                {"internal/teamstore"},
	"durable":             {"", "event", "hook", "internal/eventqueue", "internal/executor", "internal/fact", "internal/hookconst", "internal/policies", "llm", "permission", "session", "tool"},
	"durable/durabletest": {"", "durable", "event", "llm", "llm/llmtest", "permission", "session", "tool"},
	"internal/teamstore":  {},
	"internal/teamtest":   {"internal/teamstore"},
	// The command and the coding agent use more of a store in a folder than programs do.
	"internal/sessiondir": {"session"},
	"internal/parentrun": {
		"",
		"internal/driver",
		"internal/subagents",
	},
	"subagent": {
		"internal/gitworktree",
		"",
		"internal/parentrun",
		"event",
		"session",
		"tool",
		"tools",
		"permission",
		"hook",
		"hook/shell",
		"internal/config",
		"workspace",
		"team",
		"internal/...",
		"internal/teamstore",
		"internal/toolapi",
		"internal/modelcall",
		"internal/policies",
	},
	// With everything that a coding agent works with; the command is built on it.
	"coder": {
		"",
		"checkpoint",
		"internal/coding",
		"internal/config",
		"event",
		"llm",
		"mcp",
		"memory",
		"models",
		"sandbox",
		"skill",
		"tools",
		"workspace",
	},
	"internal/coding": {
		"internal/fact",
		"internal/mcpnames",
		"internal/mcphost",
		"quota",
		"internal/rules",
		"internal/rules/paths",
		"internal/sessiondir",
		"",
		"internal/checkpoint",
		"internal/config",
		"event",
		"hook/shell",
		"internal/parts",
		"internal/providers",
		"internal/rules",
		"internal/trusted",
		"internal/web",
		"internal/wire",
		"llm",
		"mcp",
		"memory",
		"mcp/resources",
		"models",
		"llm/transport",
		"permission",
		"project",
		"sandbox",
		"session",
		"skill",
		"subagent",
		"team",
		"tool",
		"tools",
		"tools/search",
		"workspace",
		"internal/tooloutput",
		"internal/toolapi",
		"internal/modelinfo",
	},
	"trigger": {"internal/triggerstore"},
	"workspace": {
		"internal/...",
		"internal/tooloutput",
	},
	"checkpoint":          {"internal/checkpoint"},
	"internal/checkpoint": {"internal/..."},
	"sandbox": {
		"permission",
		"internal/...",
		"internal/rules/paths",
		"internal/rules/shellscan",
		"internal/rules/shellword",
		"internal/policies",
		"internal/rules",
	},
	"internal/config": {
		"hook",
		"permission",
		"internal/environ",
		"internal/hookrun",
		"internal/policies",
	},
	"internal/mcpserver": {
		"mcp",
		"tool",
		"llm",
		"permission",
		"internal/toolrun",
		"internal/toolschema",
		"internal/mcpnames",
	},
	"mcp/server": {
		"internal/mcpserver",
		"mcp",
		"tool",
	},
	"mcp/agentserver": {
		"internal/fact",
		"",
		"event",
		"session",
		"mcp/server",
		"internal/mcpserver",
		"tool",
		"permission",
		"internal/toolrun",
	},
	"mcp": {
		"internal/mcphost",
		"internal/...",
		"tool",
		"llm",
		"workspace",
		"mcp/oauth",
		"internal/mcpauth",
		"internal/toolrun",
		"internal/toolhost",
		"internal/toolschema",
	},
	"mcp/oauth": {"internal/mcpauth"},
	"models": {
		"internal/providers",
		"llm",
		"llm/catalog",
	},
	"project": {
		"",
		"event",
		"internal/plainfile",
	},
	"memory": {
		"",
		"event",
		"hook",
		"internal/fact",
		"internal/front",
		"internal/safefile",
		"internal/sharetext",
		"internal/terminal",
		"internal/text",
		"llm",
		"permission",
		"session",
		"tool",
	},
	"suggest": {
		"",
		"internal/terminal",
		"llm",
		"memory",
	},
	"skill/learn": {
		"event",
		"internal/front",
		"internal/plainfile",
		"internal/safefile",
		"internal/sharetext",
		"internal/skillscope",
		"memory",
		"session",
		"skill",
	},
	"skill": {
		"internal/front",
		"internal/plainfile",
		"tool",
		"permission",
		"internal/skillscope",
	},
	"mcp/resources": {
		"mcp",
		"tools",
		"internal/toolapi",
	},
	"llm/anthropic": {
		"internal/claude",
		"llm",
		"llm/catalog",
		"internal/pace",
	},
	"llm/openai": {
		"internal/chat",
		"internal/wire",
		"llm",
		"llm/catalog",
		"internal/pace",
	},
	"llm/responses": {
		"llm",
		"llm/catalog",
		"internal/wire",
		"internal/pace",
	},
	"llm/bedrock": {
		"internal/bedrock",
		"llm",
		"llm/anthropic",
	},
	"llm/vertex": {
		"internal/vertex",
		"llm",
		"llm/anthropic",
	},
	"llm/azure": {
		"llm",
		"llm/openai",
	},
	"llm/helper": {
		"llm",
		"internal/wire",
		"internal/...",
	},
	"llm/transport": {"internal/plainfile"},
	"llm/catalog":   {"llm"},
	"llm/limit": {
		"llm",
		"internal/pace",
	},
	"internal/quotatest":    {"quota"},
	"internal/quotawarning": {},
	"quota": {
		"internal/quotawarning",
		"llm",
		"internal/metering",
		"internal/safefile",
		"internal/modelcall",
	},
	"llm/prompttools": {
		"llm",
		"internal/wire",
		"internal/modelinfo",
	},
	"internal/promptcache": {
		"internal/strictapi",
		"llm",
	},
	"llm/llmtest": {
		"internal/httptape",
		"internal/promptcache",
		"internal/strictapi",
		"llm",
		"internal/...",
	},
	// Neither session nor the root: the meaning of facts does not depend on who records
	// them.
	"internal/conversation": {
		"internal/fact",
		"internal/executor",
		"internal/summary",
		"internal/engine",
		"event",
		"hook",
		"llm",
		"permission",
		"tool",
	},
	"internal/discard": {
		"event",
		"session",
	},
	"internal/elicitform": {"tool"},
	"internal/eventqueue": {"event"},
	"internal/watchers": {
		"internal/eventqueue",
		"event",
	},
	// Not session, and not the root: whose run it is and where facts are recorded is said in two interfaces.
	"internal/driver": {
		"internal/fact",
		"internal/conversation",
		"internal/eventqueue",
		"internal/executor",
		"internal/safecall",
		"internal/engine",
		"event",
		"permission",
		"internal/quotawarning",
		"trace",
		"internal/toolrun",
		"internal/pace",
		"internal/metering",
	},
	"internal/metering": {},
	"internal/safefile": {},
	// Not session, and not the root: effects do not depend on the driver and the store.
	"internal/executor": {
		"internal/order",
		"internal/fact",
		"internal/jsonanswer",
		"internal/jsonfix",
		"internal/safecall",
		"internal/secrets",
		"internal/summary",
		"internal/tracefile",
		"internal/engine",
		"event",
		"hook",
		"llm",
		"permission",
		"tool",
		"trace",
		"internal/toolrun",
		"internal/toolhost",
		"internal/tooloutput",
		"internal/skillscope",
		"internal/toolschema",
		"internal/hookrun",
		"internal/modelcall",
		"internal/policies",
		"internal/rules",
	},
	"internal/jsonanswer": {"internal/toolschema"},
	// Of the models of all providers. Package models and the command are built on it.
	"internal/providers": {
		"internal/bedrock",
		"internal/chat",
		"internal/claude",
		"internal/vertex",
		"llm",
		"llm/anthropic",
		"llm/azure",
		"llm/catalog",
		"llm/limit",
		"llm/openai",
		"llm/prompttools",
		"llm/responses",
		"internal/pace",
	},
	"internal/safecall": {},
	"internal/secrets": {
		"internal/environ",
		"internal/redact",
		"event",
		"llm",
		"tool",
	},
	// Not the root: they know the agents of a session by a type of their user's.
	"internal/subagents": {
		"tool",
		"internal/fact",
		"internal/engine",
		"event",
		"hook",
		"llm",
		"permission",
		"session",
		"internal/policies",
		"internal/rules",
	},
	"internal/summary": {"internal/engine"},
	"internal/skillscope": {
		"llm",
		"permission",
	},
	"internal/toolhost": {"llm"},
	"internal/tooloutput": {
		"internal/order",
		"llm",
		"tool",
		"internal/toolschema",
		"internal/plainfile",
	},
	"internal/toolrun": {
		"tool",
		"internal/toolschema",
	},
	"internal/toolschema": {},
	"internal/hookctx":    {},
	"internal/hookrun": {
		"hook",
		"internal/contentjson",
		"internal/hookctx",
		"tool",
		"llm",
		"permission",
	},
	// Nothing that runs an agent in this process.
	"client": {
		"hook",
		"internal/contentjson",
		"internal/hookrun",
		"llm",
		"mcp/server",
		"permission",
		"session",
		"tool",
		"workspace",
	},
	"internal/claudelog": {
		"event",
		"internal/contentjson",
		"internal/environ",
		"internal/fact",
		"internal/plainfile",
		"internal/redact",
		"llm",
		"session",
	},
	"internal/contentjson": {"llm"},
	"internal/sharetext": {
		"internal/environ",
		"internal/order",
		"internal/redact",
	},
	"internal/text": {},
	"internal/fill": {"llm"},
	"internal/wire": {
		"llm",
		"llm/catalog",
		"internal/...",
		"internal/pace",
		"internal/tokens",
		"internal/modelcall",
		"internal/modelinfo",
	},
	"internal/triggerstore": {
		"internal/connlimit",
		"internal/web",
	},
	"internal/wire/wiretest": {
		"llm",
		"internal/...",
	},
	// The parts of a coding agent that coder and the command's lists find in the same way.
	"internal/parts": {
		"internal/front",
		"internal/badsetting",
		"internal/environ",
		"internal/sessiondir",
		"internal/plainfile",
		"internal/checkpoint",
		"internal/config",
		"hook",
		"hook/shell",
		"llm",
		"llm/catalog",
		"llm/helper",
		"llm/transport",
		"mcp",
		"mcp/oauth",
		"project",
		"sandbox",
		"session",
		"skill",
		"subagent",
		"team",
		"tool",
		"tools",
		"internal/customtools",
		"workspace",
		"internal/teamstore",
		"internal/environ",
	},
	"internal/trusted": {
		"internal/plainfile",
		"internal/config",
	},
	// The clients behind packages of llm.
	"internal/bedrock": {
		"internal/claude",
		"internal/wire",
		"internal/...",
		"llm",
		"llm/anthropic",
	},
	"internal/chat": {
		"internal/wire",
		"llm",
		"llm/catalog",
		"internal/pace",
		"internal/modelinfo",
		"internal/modelcall",
	},
	"internal/claude": {
		"internal/wire",
		"internal/...",
		"llm",
		"llm/catalog",
		"internal/pace",
		"internal/modelcall",
	},
	"internal/vertex": {
		"internal/claude",
		"internal/wire",
		"internal/...",
		"llm",
		"llm/anthropic",
	},
	"internal/mcpauth": {
		"internal/config",
		"internal/...",
	},
	"internal/httptape": {
		"internal/strictapi",
		"internal/wire",
		"internal/...",
		"llm",
	},
	"internal/strictapi": {},
	"internal/pace":      {"llm"},
	"llm":                {"internal/tokens"},
	"internal/tokens":    {},
	"internal/modelcall": {"llm"},
	"internal/modelinfo": {
		"llm",
		"llm/catalog",
	},
	"internal/...": {"internal/..."},
	// A server of sessions learns of their runs as other programs do.
	"serve": {
		"",
		"checkpoint",
		"durable", // sessions that workers run
		"event",
		"internal/connlimit",
		"internal/environ",
		"internal/eventqueue",
		"internal/eventtable",
		"hook",
		"internal/environ",
		"internal/fact",
		"internal/hookconst",
		"internal/redact",
		"internal/sessionhtml",
		"internal/plainfile",
		"internal/sharetext",
		"internal/terminal",
		"internal/timeline",
		"internal/turns",
		"internal/watchers", // to know when its reader gets signals
		"llm",
		"llm/catalog",
		"permission",
		"session",
		"session/export",
		"session/view",
		"tool",
		"hook",
		"internal/hookconst",
		"internal/policies",
		"internal/rules",
		"internal/toolrun",
	},
	"internal/acp": {
		"event",
		"internal/fact",
		"internal/terminal",
		"internal/toolapi",
		"llm",
		"permission",
		"tool",
	},
	"cmd/...": {
		"internal/agentview",
		"internal/timeline",
		"internal/httptape", // openagent record
		"replay",            // openagent sessions replay
		"eval",              // openagent eval
		"eval/report",
		"internal/walk",
		"serve",
		"suggest",
		"internal/claudelog",
		"internal/contentjson",
		"internal/acp",
		"internal/mcphost",
		"internal/hookrun",
		"internal/sessiondir",
		"internal/fact",
		"",
		"cmd/openagent/internal/...",
		"attach",
		"checkpoint",
		"internal/checkpoint",
		"internal/coding",
		"internal/config",
		"cron",
		"internal/cronstore",
		"internal/triggerstore",
		"internal/engine",
		"event",
		"hook",
		"internal/connlimit",
		"internal/front",
		"durable",  // openagent worker
		"postgres", // the sessions of --store
		"team",     // their tasks
		"quota",    // and what they spend
		"serve",
		"internal/media",
		"internal/parts",
		"internal/plainfile",
		"internal/providers",
		"internal/sharetext",
		"internal/sse", // the stream of a server of sessions
		"internal/terminal",
		"internal/toolnames",
		"internal/trusted",
		"internal/web",
		"internal/wire",
		"llm",
		"llm/...",
		"mcp",
		"mcp/agentserver",
		"mcp/oauth",
		"mcp/server",
		"permission",
		"sandbox",
		"session",
		"internal/account",
		"session/export",
		"session/view",
		"internal/tracefile",
		"internal/tracehtml",
		"internal/transcript",
		"skill",
		"skill/learn",
		"subagent",
		"tool",
		"tools",
		"internal/customtools",
		"trace",
		"trigger",
		"workspace",
		"internal/chat",
		"internal/environ",
		"internal/toolrun",
		"internal/tooloutput",
		"internal/skillscope",
		"internal/toolschema",
		"internal/toolapi",
		"internal/hookctx",
		"internal/modelcall",
		"internal/modelinfo",
		"internal/policies",
		"internal/rules",
		"internal/mcpnames",
		"internal/teamstore",
		"memory",
	},
	"examples/...": {"..."},

	"workspace/workspacetest": {
		"permission",
		"tool",
		"tool/tooltest",
		"tools",
		"workspace",
		"internal/toolrun",
		"internal/policies",
		"internal/rules",
	},

	"cmd/openagent/internal/term":      {"internal/terminal"},
	"cmd/openagent/internal/tui/input": {},
	"cmd/openagent/internal/tui/frame": {},
	"cmd/openagent/internal/tui/ui": {
		"cmd/openagent/internal/tui/frame",
		"cmd/openagent/internal/tui/fuzzy",
		"cmd/openagent/internal/tui/input",
		"event",
		"internal/markdown",
		"session/view",
	},
	"cmd/openagent/internal/tui/draw": {
		"cmd/openagent/internal/tui/amount",
		"cmd/openagent/internal/tui/difftext",
		"cmd/openagent/internal/tui/frame",
		"cmd/openagent/internal/tui/mdview",
		"cmd/openagent/internal/tui/styled",
		"cmd/openagent/internal/tui/ui",
		"event",
		"internal/fact",
		"internal/markdown",
		"llm",
		"session/view",
	},
	// What is shown, as rows of spans. They know neither the model nor the terminal.
	"cmd/openagent/internal/tui/styled": {
		"cmd/openagent/internal/tui/frame",
		"internal/highlight",
		"internal/terminal",
	},
	"cmd/openagent/internal/tui/fuzzy": {},
	"cmd/openagent/internal/tui/difftext": {
		"cmd/openagent/internal/tui/styled",
		"internal/terminal",
	},
	"cmd/openagent/internal/tui/mdview": {
		"cmd/openagent/internal/tui/styled",
		"internal/highlight",
		"internal/markdown",
	},
	"cmd/openagent/internal/tui/amount": {},
	"cmd/openagent/internal/tui/timeview": {
		"cmd/openagent/internal/tui/amount",
		"cmd/openagent/internal/tui/frame",
		"cmd/openagent/internal/tui/input",
		"cmd/openagent/internal/tui/styled",
		"internal/timeline",
	},
	"cmd/openagent/internal/tui/pager": {
		"cmd/openagent/internal/tui/difftext",
		"cmd/openagent/internal/tui/frame",
		"cmd/openagent/internal/tui/input",
		"cmd/openagent/internal/tui/mdview",
		"cmd/openagent/internal/tui/styled",
		"event",
		"internal/markdown",
		"internal/terminal",
		"llm",
		"permission",
		"session/view",
	},
	"cmd/openagent/internal/tui/pages": {
		"internal/agentview",
		"cmd/openagent/internal/tui/pager",
		"event",
		"internal/fact",
		"session",
		"session/view",
	},
	"cmd/openagent/internal/tui/term": {
		"cmd/openagent/internal/tui/frame",
		"cmd/openagent/internal/tui/input",
		"internal/terminal",
	},
	"cmd/openagent/internal/tui/term/termtest": {},
	"cmd/openagent/internal/keys": {
		"cmd/openagent/internal/cli",
		"internal/config",
		"internal/parts",
		"internal/plainfile",
		"internal/providers",
	},
	"cmd/openagent/internal/ratelimit": {
		"internal/config",
		"llm/limit",
	},

	"internal/policies": {
		"permission",
		"internal/rules",
	},
	"internal/rules": {
		"internal/order",
		"internal/rules/cmdline",
		"internal/rules/effects",
		"internal/rules/paths",
		"internal/rules/shellscan",
		"internal/rules/shellword",
	},
	"tools/custom": {"internal/customtools", "tool", "workspace"},
	// From the lowest to the highest. None knows of rules.
	"internal/rules/paths": {
		"internal/guarded",
		"internal/plainfile",
		"internal/worktrees",
	},
	"internal/rules/shellword": {"internal/rules/paths"},
	"internal/rules/effects":   {"internal/rules/shellword"},
	"internal/rules/shellscan": {
		"internal/rules/effects",
		"internal/rules/shellword",
		"internal/rules/paths",
	},
	"internal/rules/cmdline": {
		"internal/rules/shellscan",
		"internal/rules/effects",
		"internal/rules/shellword",
		"internal/rules/paths",
		"internal/guarded",
		"internal/plainfile",
	},
	"internal/rules/permtest": {},
}

// outside lists the dependencies that each part may have. The library's public packages and
// those below them stay light.
var outside = map[string][]string{
	"permission":          {},
	"internal/media":      {"golang.org/x/image/..."},
	"tools":               {"github.com/aymanbagabas/go-udiff", "golang.org/x/net/html/charset"},
	"tools/search":        {"golang.org/x/net/html/..."},
	"internal/cronstore":  {"github.com/netresearch/go-cron"},
	"llm/transport":       {"golang.org/x/net/http/httpproxy"},
	"workspace":           {"golang.org/x/sys/..."},
	"internal/checkpoint": {"golang.org/x/sys/...", "github.com/aymanbagabas/go-udiff"},
	"sandbox":             {"golang.org/x/sys/..."},
	"internal/toolschema": {"github.com/google/jsonschema-go/jsonschema"},
	"internal/config":     {"golang.org/x/sys/..."},
	"mcp":                 {"github.com/modelcontextprotocol/go-sdk/..."},
	"mcp/server":          {"github.com/modelcontextprotocol/go-sdk/..."},
	"internal/mcpserver":  {"github.com/modelcontextprotocol/go-sdk/..."},
	"internal/mcpauth":    {"github.com/modelcontextprotocol/go-sdk/..."},
	"internal/...":        {"golang.org/x/...", "github.com/bmatcuk/doublestar/v4", "github.com/JohannesKaufmann/html-to-markdown/v2/...", "github.com/goccy/go-yaml/..."},

	"internal/markdown":        {"github.com/yuin/goldmark/..."},
	"internal/rules/paths":     {"golang.org/x/sys/unix"},
	"internal/rules/shellword": {"mvdan.cc/sh/v3/syntax"},
	"internal/rules/shellscan": {"mvdan.cc/sh/v3/syntax"},

	"cmd/...": {"golang.org/x/...", "mvdan.cc/sh/v3/..."},
	// Only the command stores keys.
	"cmd/openagent/internal/keys": {"github.com/zalando/go-keyring"},
	// Only the terminal UI measures text in cells.
	"cmd/openagent/internal/tui/frame":           {"github.com/clipperhouse/displaywidth"},
	"cmd/openagent/internal/tui/ui":              {"github.com/clipperhouse/uax29/v2/graphemes"},
	"cmd/openagent/internal/tui/draw":            {"github.com/clipperhouse/uax29/v2/graphemes"},
	"cmd/openagent/internal/tui/plain":           {"github.com/clipperhouse/uax29/v2/graphemes"},
	"cmd/openagent/internal/tui/plain/plaintest": {"github.com/clipperhouse/uax29/v2/graphemes"},
	"cmd/openagent/internal/tui/difftext":        {"github.com/aymanbagabas/go-udiff"},
	"cmd/openagent/internal/command/skills":      {"github.com/aymanbagabas/go-udiff"}, // proposals as diffs
	"cmd/openagent/internal/tui/styled":          {"github.com/clipperhouse/uax29/v2/graphemes"},
	"cmd/openagent/internal/tui/term/termtest":   {"github.com/clipperhouse/displaywidth", "golang.org/x/sys/unix"},
	"examples/...": {"github.com/modelcontextprotocol/go-sdk/..."},
}

// everywhere lists the internal packages that every package may import. They import
// nothing of the module.
var everywhere = []string{"internal/safefile", "internal/text", "internal/hookconst", "internal/llmconst"}

func TestImports(t *testing.T) {
	root := filepath.Join("..", "..")
	used, usedOutside := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "devtools" || d.Name() == "benchmarks" || d.Name() == "otel" || d.Name() == "postgres" || d.Name() == "temporal" || d.Name() == "a2a") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		check(t, strings.TrimPrefix(filepath.ToSlash(rel), "."), file, used, usedOutside)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	unused(t, "rules", rules, used)
	unused(t, "outside", outside, usedOutside)
}

// unused reports the permits of a table that no import needs.
func unused(t *testing.T, title string, table map[string][]string, used map[string]bool) {
	for row, permits := range table {
		for _, p := range permits {
			if !used[row+" "+p] {
				t.Errorf("nothing in %s imports %s: remove it from the row in %s (internal/arch/arch_test.go)", name(row), p, title)
			}
		}
	}
}

// check reports the imports of a file that its rows do not permit. It notes in used and
// usedOutside which permits the others need.
func check(t *testing.T, pkg, file string, used, usedOutside map[string]bool) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if rel, ok := strings.CutPrefix(imported, module); ok {
			rel = strings.TrimPrefix(rel, "/")
			if !permitted(rules, pkg, rel, used) && !matches(everywhere, rel) {
				t.Errorf("%s: %s must not import %s; if it has to, add %q to its row in rules (internal/arch/arch_test.go) and say why in docs/design.md", file, name(pkg), imported, rel)
			}
		} else if strings.Contains(strings.Split(imported, "/")[0], ".") && !permitted(outside, pkg, imported, usedOutside) {
			t.Errorf("%s: %s must not depend on %s; if it has to, add the module to its row in outside (internal/arch/arch_test.go) and say why in docs/design.md", file, name(pkg), imported)
		}
	}
}

// permitted reports whether a package's row in a table permits an import, and notes in used
// the permit.
func permitted(table map[string][]string, pkg, imported string, used map[string]bool) bool {
	row := rowOf(table, pkg)
	i := slices.IndexFunc(table[row], func(permit string) bool { return covers(permit, imported) })
	if i < 0 {
		return false
	}
	used[row+" "+table[row][i]] = true
	return true
}

// covers reports whether a permit covers a package.
func covers(permit, imported string) bool {
	if _, own := rules[imported]; own && permit == "internal/..." {
		return false
	}
	return matches([]string{permit}, imported)
}

func name(pkg string) string { return path.Join(module, pkg) }

// rowOf returns the row of a table that holds for a package: the one of its name, or else
// the longest that covers it; its own name if none does.
func rowOf(table map[string][]string, pkg string) string {
	if _, ok := table[pkg]; ok {
		return pkg
	}
	best := pkg
	for pattern := range table {
		if (best == pkg || len(pattern) > len(best)) && matches([]string{pattern}, pkg) {
			best = pattern
		}
	}
	return best
}

func matches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, tree := strings.CutSuffix(p, "...")
		return p == pkg || tree && strings.HasPrefix(pkg+"/", prefix)
	})
}

// A program that embeds the agent with one client links few modules.
func TestModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", module, module+"/llm/anthropic", module+"/tools").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	if modules = slices.Compact(modules); len(modules) > 12 {
		t.Errorf("%d modules are linked: %v", len(modules), modules)
	}
}

// The program holds nothing of what only other tools than the core need.
func TestCoreLinks(t *testing.T) {
	program := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/core").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command("go", "tool", "nm", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "/tools.(") { // the core tools are in it
		t.Fatal("this test does not see the symbols of the program")
	}
	for _, method := range []string{"internal/lsp.(", "cronstore.(", "go-cron.(", "triggerstore.(", "teamstore.(", "internal/customtools.("} {
		if i := strings.Index(string(out), "/"+method); i >= 0 {
			symbol, _, _ := strings.Cut(string(out[i:]), "\n")
			t.Errorf("it holds %s", symbol)
		}
	}
}
