// Package acp is the Agent Client Protocol, version 1: the messages between an editor and an agent,
// a connection that carries them, and an encoder that turns events of sessions into updates.
//
//	conn := acp.NewConn(os.Stdout)
//	err := conn.Serve(ctx, os.Stdin, accept)
//
// The encoder is a pure function of the events that it is given. A session that runs and one that is
// loaded go through the same one.
package acp

import "encoding/json"

// Version is the version of the protocol.
const Version = 1

// A Block is a piece of content.
type Block struct {
	Type     string    `json:"type"` // text, image, audio, resource_link or resource
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
}

// A Resource is the content of a file that a client sends along.
type Resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     string  `json:"blob,omitempty"` // base64
}

// TextBlock returns a block of text.
func TextBlock(text string) Block { return Block{Type: "text", Text: text} }

// An Initialize is the first request of a client.
type Initialize struct {
	Version      int                `json:"protocolVersion"`
	Capabilities ClientCapabilities `json:"clientCapabilities"`
}

// ClientCapabilities are the features of a client.
type ClientCapabilities struct {
	Session struct {
		Compaction json.RawMessage `json:"compaction"`
		Notices    json.RawMessage `json:"notices"`
	} `json:"session"`
	Auth struct {
		Terminal bool `json:"terminal"`
	} `json:"auth"`
	Elicitation struct {
		Form json.RawMessage `json:"form"`
	} `json:"elicitation"`
	Meta struct {
		TerminalOutput bool `json:"terminal_output"` // shows output of calls in a terminal
		TerminalAuth   bool `json:"terminal-auth"`   // Auth.Terminal of older clients
	} `json:"_meta"`
}

// Has reports whether a capability that is an object is there.
func Has(capability json.RawMessage) bool {
	return len(capability) > 0 && string(capability) != "null" && string(capability) != "false"
}

// Initialized answers [Initialize].
type Initialized struct {
	Version      int               `json:"protocolVersion"`
	Capabilities AgentCapabilities `json:"agentCapabilities"`
	Auth         []AuthMethod      `json:"authMethods"`
	Agent        Implementation    `json:"agentInfo"`
}

// An Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// AgentCapabilities are the features of an agent. A feature without options is an empty object.
type AgentCapabilities struct {
	Load    bool                `json:"loadSession"`
	Prompt  map[string]bool     `json:"promptCapabilities"`
	MCP     map[string]bool     `json:"mcpCapabilities"`
	Session map[string]struct{} `json:"sessionCapabilities"`
	Auth    map[string]struct{} `json:"auth"`
}

// An AuthMethod is a way to log in.
type AuthMethod struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Type        string         `json:"type,omitempty"` // terminal: the client runs the agent with Args in a terminal
	Args        []string       `json:"args,omitempty"`
	Meta        map[string]any `json:"_meta,omitempty"`
}

// A Place is what requests that open a session have in common.
type Place struct {
	Session string      `json:"sessionId"`
	Cwd     string      `json:"cwd"`
	Dirs    []string    `json:"additionalDirectories"`
	Servers []MCPServer `json:"mcpServers"`
}

// An MCPServer is a server that a client hands over.
type MCPServer struct {
	Type    string   `json:"type"` // http or sse; "": a command
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []Named  `json:"env"`
	URL     string   `json:"url"`
	Headers []Named  `json:"headers"`
}

// A Named value is a variable or a header.
type Named struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Opened answers the requests that open a session.
type Opened struct {
	Session string         `json:"sessionId,omitempty"`
	Modes   *Modes         `json:"modes,omitempty"`
	Options []ConfigOption `json:"configOptions,omitempty"`
}

// Modes are the permission modes of a session.
type Modes struct {
	Current   string `json:"currentModeId"`
	Available []Mode `json:"availableModes"`
}

// A Mode is a permission mode.
type Mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// A ConfigOption is a choice that a client shows.
type ConfigOption struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Category    string        `json:"category,omitempty"` // mode, model or thought_level
	Type        string        `json:"type"`               // select
	Current     string        `json:"currentValue"`
	Options     []OptionValue `json:"options"`
}

// An OptionValue is a value of a [ConfigOption].
type OptionValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// A SessionInfo is a session in a list.
type SessionInfo struct {
	Session string `json:"sessionId"`
	Cwd     string `json:"cwd"`
	Title   string `json:"title,omitempty"`
	Updated string `json:"updatedAt,omitempty"`
}

// A Listing is a page of sessions.
type Listing struct {
	Sessions []SessionInfo `json:"sessions"`
	Next     string        `json:"nextCursor,omitempty"`
}

// A Prompt asks for a turn.
type Prompt struct {
	Session string  `json:"sessionId"`
	Blocks  []Block `json:"prompt"`
}

// Prompted answers a [Prompt].
type Prompted struct {
	Stop  StopReason `json:"stopReason"`
	Usage *Usage     `json:"usage,omitempty"`
}

// A Usage counts the tokens of a turn.
type Usage struct {
	Total      int `json:"totalTokens"`
	Input      int `json:"inputTokens"`
	Output     int `json:"outputTokens"`
	CacheRead  int `json:"cachedReadTokens"`
	CacheWrite int `json:"cachedWriteTokens"`
}

// A StopReason says why a turn ended.
type StopReason string

// The stop reasons.
const (
	EndTurn         StopReason = "end_turn"
	MaxTokens       StopReason = "max_tokens"
	MaxTurnRequests StopReason = "max_turn_requests"
	Refusal         StopReason = "refusal"
	Cancelled       StopReason = "cancelled"
)

// A SessionUpdate is the notification session/update.
type SessionUpdate struct {
	Session string `json:"sessionId"`
	Update  any    `json:"update"` // one of the types below
}

// A Chunk is a piece of a message.
type Chunk struct {
	Update  string `json:"sessionUpdate"` // user_message_chunk, agent_message_chunk or agent_thought_chunk
	Content Block  `json:"content"`
	Message string `json:"messageId,omitempty"`
}

// A ToolCall is a call of a tool, or a change of one: then only what is set changes.
type ToolCall struct {
	Update    string          `json:"sessionUpdate,omitempty"` // tool_call or tool_call_update; "" in a request
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title,omitempty"`
	Name      string          `json:"name,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"`
	Content   []ToolContent   `json:"content,omitempty"`
	Locations []Location      `json:"locations,omitempty"`
	Input     json.RawMessage `json:"rawInput,omitempty"`
	Output    json.RawMessage `json:"rawOutput,omitempty"`
	Meta      map[string]any  `json:"_meta,omitempty"`
}

// The states of a call.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Completed  = "completed"
	Failed     = "failed"
)

// A ToolContent is what a call shows.
type ToolContent struct {
	Type     string  `json:"type"` // content, diff or terminal
	Content  *Block  `json:"content,omitempty"`
	Path     string  `json:"path,omitempty"`
	OldText  *string `json:"oldText,omitempty"` // nil: the file is new
	NewText  *string `json:"newText,omitempty"`
	Terminal string  `json:"terminalId,omitempty"`
}

// A Location is a place in a file that a call is about.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // from 1
}

// A Plan is the list of steps.
type Plan struct {
	Update  string      `json:"sessionUpdate"` // plan
	Entries []PlanEntry `json:"entries"`
}

// A PlanEntry is a step.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// Commands are the slash commands of a session.
type Commands struct {
	Update string    `json:"sessionUpdate"` // available_commands_update
	List   []Command `json:"availableCommands"`
}

// A Command is a slash command.
type Command struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *CommandInput `json:"input,omitempty"`
}

// A CommandInput says what follows the name of a command.
type CommandInput struct {
	Hint string `json:"hint"`
}

// A ModeUpdate is a new permission mode.
type ModeUpdate struct {
	Update string `json:"sessionUpdate"` // current_mode_update
	Mode   string `json:"currentModeId"`
}

// An OptionsUpdate has all config options after a change.
type OptionsUpdate struct {
	Update  string         `json:"sessionUpdate"` // config_option_update
	Options []ConfigOption `json:"configOptions"`
}

// An InfoUpdate is a new title.
type InfoUpdate struct {
	Update  string `json:"sessionUpdate"` // session_info_update
	Title   string `json:"title,omitempty"`
	Updated string `json:"updatedAt,omitempty"`
}

// A UsageUpdate says how full the context window is, and what the session has cost.
type UsageUpdate struct {
	Update string `json:"sessionUpdate"` // usage_update
	Used   int    `json:"used"`
	Size   int    `json:"size"`
	Cost   *Cost  `json:"cost,omitempty"` // nil: not known
}

// A Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// A Notice is a message of the program for the user.
type Notice struct {
	Update      string `json:"sessionUpdate"` // notice
	Severity    string `json:"severity"`      // info, warning or error
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// A CompactionUpdate says that the conversation becomes shorter.
type CompactionUpdate struct {
	Update  string  `json:"sessionUpdate"` // compaction_update
	ID      string  `json:"compactionId"`
	Status  string  `json:"status"`
	Summary []Block `json:"summary,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// A PermissionQuestion is the request session/request_permission.
type PermissionQuestion struct {
	Session string             `json:"sessionId"`
	Call    ToolCall           `json:"toolCall"`
	Options []PermissionOption `json:"options"`
}

// A PermissionOption is an answer that the user can choose.
type PermissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once or reject_always
}

// A PermissionAnswer answers a [PermissionQuestion].
type PermissionAnswer struct {
	Outcome struct {
		Outcome string `json:"outcome"` // selected or cancelled
		Option  string `json:"optionId"`
	} `json:"outcome"`
}

// A Form is the request elicitation/create with a form.
type Form struct {
	Session string     `json:"sessionId"`
	Call    string     `json:"toolCallId,omitempty"`
	Mode    string     `json:"mode"` // form
	Message string     `json:"message"`
	Schema  FormSchema `json:"requestedSchema"`
}

// A FormSchema describes the fields of a form.
type FormSchema struct {
	Type       string               `json:"type"` // object
	Properties map[string]FormField `json:"properties"`
	Required   []string             `json:"required,omitempty"`
}

// A FormField is a text, a choice or several choices.
type FormField struct {
	Type        string       `json:"type"` // string or array
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	OneOf       []FormChoice `json:"oneOf,omitempty"`
	Items       *FormItems   `json:"items,omitempty"`
}

// FormItems are the choices of a field of type array.
type FormItems struct {
	AnyOf []FormChoice `json:"anyOf"`
}

// A FormChoice is a choice.
type FormChoice struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// A FormAnswer answers a [Form].
type FormAnswer struct {
	Action  string                     `json:"action"` // accept, decline or cancel
	Content map[string]json.RawMessage `json:"content"`
}
