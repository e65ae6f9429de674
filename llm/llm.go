// Package llm defines messages, content blocks and the [Model] interface that every
// provider client implements. It imports only the standard library.
//
//	m := anthropic.Model("claude-sonnet-4-6")
//	res, err := llm.Collect(ctx, m, &llm.Request{Messages: []llm.Message{llm.UserText("Hello")}})
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
	"time"
)

// A Role says who speaks in a [Message].
type Role string

const (
	User      Role = "user"      // the user, and results of tools
	Assistant Role = "assistant" // the model
)

// A Message is one turn of a conversation.
type Message struct {
	Role    Role   `json:"role"`    // who speaks
	Content Blocks `json:"content"` // texts, images, calls and results
	// Model is the model that made the message, by the name that it was asked by.
	// Its thoughts go back to this model only: providers bind them to it. Sessions
	// set it in their requests, from the facts. Empty: not known, the thoughts go
	// to every model of their kind.
	Model string `json:"model,omitempty"`
}

// UserText returns a user message: a text block, then the given blocks. An
// empty text adds no block.
//
//go:noinline // called from many places: every program stays smaller
func UserText(text string, more ...Block) Message {
	m := Message{Role: User}
	if text != "" {
		m.Content = append(m.Content, Text{Text: text})
	}
	m.Content = append(m.Content, more...)
	return m
}

// Text returns the message's text blocks joined together.
//
//go:noinline // called from many places: every program stays smaller
func (m Message) Text() string { return m.Content.Text() }

// ToolUses returns the tool calls that the message asks for, in order.
//
//go:noinline // called from many places: every program stays smaller
func (m Message) ToolUses() []ToolUse {
	n := 0
	for _, c := range m.Content {
		if _, ok := c.(ToolUse); ok {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	uses := make([]ToolUse, 0, n)
	for _, c := range m.Content {
		if u, ok := c.(ToolUse); ok {
			uses = append(uses, u)
		}
	}
	return uses
}

// A Block is a piece of content: [Text], [Thinking], [RedactedThinking],
// [Image], [Document], [ToolUse], [ToolResult] or [Verbatim].
type Block interface{ block() }

// Blocks is a slice of [Block] that survives a round trip through JSON.
type Blocks []Block

// Text returns the text blocks, and the text shown in verbatim ones, joined together.
func (bs Blocks) Text() string {
	var b strings.Builder
	for _, c := range bs {
		switch c := c.(type) {
		case Text:
			b.WriteString(c.Text)
		case Verbatim:
			b.WriteString(c.Shown)
		}
	}
	return b.String()
}

type (
	// Text is plain text.
	Text struct {
		Text string `json:"text"`
	}
	// Thinking is the model's reasoning. Signature is opaque; the provider that
	// made it wants the block back unchanged, others never see it.
	Thinking struct {
		Text      string `json:"text"` // what the model thought; may be empty
		Signature string `json:"signature,omitempty"`
		// Extra holds data that the provider needs back beside the text, such as
		// OpenRouter's reasoning_details (a JSON array). Nil for most.
		Extra json.RawMessage `json:"extra,omitempty"`
	}
	// RedactedThinking is reasoning that the provider has encrypted.
	RedactedThinking struct {
		Data string `json:"data"` // encrypted by the provider
	}
	// Image is inline image data: image/png, image/jpeg, image/gif or image/webp.
	Image struct {
		MediaType string `json:"media_type"` // such as image/png
		Data      []byte `json:"data"`       // the file itself
	}
	// Document is an inline document: application/pdf or text/plain.
	Document struct {
		MediaType string `json:"media_type"`      // such as application/pdf
		Title     string `json:"title,omitempty"` // shown to the model; may be empty
		Data      []byte `json:"data"`            // the file itself
	}
	// ToolUse asks for a tool to be called. Input is a JSON object; where the
	// model wrote broken JSON it is {} and Invalid holds the text as written.
	// Extra is an object that the provider wants back with the call, as Gemini
	// does; nil for most.
	ToolUse struct {
		ID      string          `json:"id"`   // the model's name of the call, which its result repeats
		Name    string          `json:"name"` // of the tool
		Input   json.RawMessage `json:"input"`
		Invalid string          `json:"invalid,omitempty"`
		Extra   json.RawMessage `json:"extra,omitempty"`
	}
	// ToolResult answers the ToolUse with the same ID.
	ToolResult struct {
		ID      string `json:"id"`
		Content Blocks `json:"content"`            // what the tool returned
		IsError bool   `json:"is_error,omitempty"` // the call failed
	}
	// Verbatim is a block that only its provider understands (server tools and
	// their results, text with citations). It is replayed to that provider as it
	// came; others see Shown, the text in it, if any.
	Verbatim struct {
		Provider string          `json:"provider"` // whose API the block is of
		Shown    string          `json:"shown,omitempty"`
		Raw      json.RawMessage `json:"raw"` // as that API sent it
	}
)

func (Text) block()             {}
func (Thinking) block()         {}
func (RedactedThinking) block() {}
func (Image) block()            {}
func (Document) block()         {}
func (ToolUse) block()          {}
func (ToolResult) block()       {}
func (Verbatim) block()         {}

// A Tool describes a tool to the model. Input is a JSON Schema of type object.
type Tool struct {
	Name        string          `json:"name"`        // letters, digits, _ and -, at most 64
	Description string          `json:"description"` // tells the model what the tool does
	Input       json.RawMessage `json:"input_schema"`
}

// A Request is one call to a [Model]. Clients clamp or leave out values that their provider
// refuses; the zero value of each field means the provider's default.
type Request struct {
	System      string // instructions; "": none
	Messages    []Message
	Tools       []Tool     // that the model may call
	MaxTokens   int        // 0: the model's default
	Temperature *float64   // nil: the model's default
	ToolChoice  ToolChoice // whether the model has to call a tool
	Stop        []string   // texts that end the answer
	Thinking    Thought    // whether and how much the model thinks first
	Blocking    bool       // ask for one reply instead of a stream
	Cache       Cache      // which parts the provider keeps for the next request
	// Session is the same in the requests of one conversation, for providers that find
	// the cached prompt by it. "" for none.
	Session string
	// Format, if not nil, is the JSON Schema of the answer, of type object. Clients leave it
	// out if host or model do not support it, see [Info].Formats. Providers take a part of
	// JSON Schema and do not guarantee the rest, so that the answer must be checked.
	Format json.RawMessage
	// Memo lets a client keep the encoded bytes of Messages between the
	// requests of one transcript. It holds as long as messages are only
	// appended. May be nil.
	Memo *Memo
}

// A ToolChoice restricts which tool the model may call. The zero value is auto.
type ToolChoice struct {
	Mode ToolChoiceMode `json:"mode,omitempty"` // "": the model decides
	Name string         `json:"name,omitempty"` // with ChooseTool
}

// A ToolChoiceMode is a way to choose tools. The zero value leaves the choice to the model.
type ToolChoiceMode string

const (
	ChooseAny  ToolChoiceMode = "any"  // it must call some tool
	ChooseNone ToolChoiceMode = "none" // it must not call one
	ChooseTool ToolChoiceMode = "tool" // it must call the one named
)

// A Thought says how much a model should think before it answers. The zero
// value asks for nothing: some models then think, others do not. Budget is in
// tokens; Effort is low, medium, high or max, for models that take a word
// instead. Clients translate one into the other where the model knows only one:
// 1,024, 5,120, 10,240, 32,768 tokens.
type Thought struct {
	Mode   ThinkingMode `json:"mode,omitempty"` // "": the model's default
	Budget int          `json:"budget,omitempty"`
	Effort string       `json:"effort,omitempty"`
}

// A ThinkingMode says whether a model thinks. The zero value: it does where a
// Budget or an Effort is set, else as its provider has it.
type ThinkingMode string

const (
	// ThinkAdaptive lets the model decide, guided by the Effort if there is one. A model
	// that needs an amount gets one of high effort.
	ThinkAdaptive ThinkingMode = "adaptive"
	// ThinkOff switches thinking off, where it is on by default and can be.
	ThinkOff ThinkingMode = "off"
)

// On reports whether thinking is asked for.
func (t Thought) On() bool {
	return t.Mode == ThinkAdaptive || t.Mode != ThinkOff && (t.Budget > 0 || t.Effort != "")
}

// Tokens returns the thinking budget in tokens, 0 when thinking is not asked for.
//
//go:noinline // called from many places: every program stays smaller
func (t Thought) Tokens() int {
	switch {
	case !t.On():
		return 0
	case t.Budget > 0:
		return t.Budget
	case t.Effort == "":
		return efforts["high"]
	}
	return efforts[t.Effort]
}

// efforts are the budgets that words stand for.
var efforts = map[string]int{"low": 1024, "medium": 5120, "high": 10240, "max": 32768}

// A Memo caches data that clients derived from the messages of one transcript. Each client
// stores one value under its own key. The zero Memo is ready to use.
type Memo struct{ m sync.Map }

// Load returns the value under key, made by init the first time. A nil Memo
// makes a new value each time.
func (m *Memo) Load(key string, init func() any) any {
	if m == nil {
		return init()
	}
	if v, ok := m.m.Load(key); ok {
		return v
	}
	v, _ := m.m.LoadOrStore(key, init())
	return v
}

// A Cache tells a provider how to cache the prompt, so that the next request pays a tenth
// for the repeated part. The zero Cache lasts for five minutes after each use, which is
// right if the requests of a conversation follow each other.
type Cache struct {
	Off bool          `json:"off,omitempty"` // nothing is marked to be kept
	TTL time.Duration `json:"ttl,omitempty"` // 0: five minutes; one hour is the only other
}

// A Counter is a [Model] that can ask its provider how many tokens the input of a
// request counts, before it is sent. Its errors are those of Stream.
type Counter interface {
	CountTokens(ctx context.Context, req *Request) (int, error) // returns the input tokens of a request
}

// A StopReason says why a model stopped. Others are stop_sequence, pause_turn and
// model_context_window_exceeded.
type StopReason string

const (
	EndTurn   StopReason = "end_turn"   // the answer is complete
	UseTools  StopReason = "tool_use"   // the model waits for results of tools
	MaxTokens StopReason = "max_tokens" // the answer reached the limit and is cut off
	Refusal   StopReason = "refusal"    // the model or the provider refuses to answer
)

// A Response is the result of one call to a [Model].
type Response struct {
	ID        string     `json:"id,omitempty"` // the provider's id of the message
	Model     string     `json:"model"`
	Message   Message    `json:"message"`              // the answer
	Stop      StopReason `json:"stop"`                 // why it ended
	Usage     Usage      `json:"usage"`                // its tokens
	RequestID string     `json:"request_id,omitempty"` // the provider's name of the request, for its support
}

// A Delta is one increment of a streamed [Response].
type Delta struct {
	Index int       // content block that this delta starts or extends
	Block Block     // set when the block starts
	Text  string    // text, thinking, or partial tool input to append
	Done  *Response // set on the last delta of a stream, alone
}

// A Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Name is the model's name as the provider knows it.
	Name() string
	// Stream yields deltas as they arrive. A successful stream ends with a
	// delta whose Done field is set; a failed one ends with an error, which is
	// an [*APIError] unless ctx was cancelled. Leaving the loop ends the call.
	// Done has the tokens that the provider counted: budgets and compaction rely
	// on them. A client limits the time of a silent connection itself, and fails
	// then with an error of a class that is tried again: the agent waits as long
	// as Stream does.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// Collect runs a request to its end and returns the response.
func Collect(ctx context.Context, m Model, req *Request) (*Response, error) {
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		if d.Done != nil {
			return d.Done, nil
		}
	}
	return nil, &APIError{Class: Truncated, Message: "the stream ended without a final event"}
}

// Info describes a model. Zero fields are unknown.
type Info struct {
	Provider  string `json:"provider,omitempty"`   // anthropic, openai …
	Window    int    `json:"window,omitempty"`     // context window in tokens
	MaxOutput int    `json:"max_output,omitempty"` // tokens of an answer at most; 0: not known
	Price     *Price `json:"price,omitempty"`      // nil: unknown, and so is the cost
	Patches   bool   `json:"patches,omitempty"`    // changes files by patches better than by replacing text
	Assumed   bool   `json:"assumed,omitempty"`    // Window is not known, but taken for this; see [Info.Room]
	Formats   bool   `json:"formats,omitempty"`    // host and model take a [Request].Format, beside tools too
	// ThinksInside: thinking counts as output, so that MaxTokens must be above its
	// budget. A Request with less is raised by the budget.
	ThinksInside bool `json:"thinks_inside,omitempty"`
}

// InfoOf returns the Info of m, the zero Info if it has no method Info() Info.
//
//go:noinline // called from many places: every program stays smaller
func InfoOf(m Model) Info {
	if i, ok := m.(interface{ Info() Info }); ok {
		return i.Info()
	}
	return Info{}
}
