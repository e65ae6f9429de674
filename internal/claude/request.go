package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/strict"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

const (
	defaultMaxTokens = 32_000 // for models that allow as much
	unknownMaxTokens = 8192   // for models that are not in the catalogue
	minBudget        = 1024   // smallest thinking budget that the API accepts
	minAnswer        = 256    // least number of tokens for the answer
)

// mark returns the member that makes a block a cache breakpoint, nil if caching is off. All
// breakpoints of a request have the same lifetime. The API refuses a breakpoint of one hour
// after one of five minutes.
func mark(c llm.Cache) []byte {
	switch {
	case c.Off:
		return nil
	case modelcall.KeepsHour(c):
		return hourMark
	}
	return minutesMark
}

var (
	minutesMark = []byte(`,"cache_control":{"type":"ephemeral"}`)
	hourMark    = []byte(`,"cache_control":{"type":"ephemeral","ttl":"1h"}`)
)

// marked appends encoded to body in pieces, and adds mark to the last of the objects that
// end with tail.
//
//go:noinline // called from many places: every program stays smaller
func marked(body [][]byte, encoded []byte, tail string, mark []byte) [][]byte {
	at := len(encoded) - len(tail)
	if at < 0 {
		return body
	}
	return append(body, encoded[:at], mark, encoded[at:])
}

// transcript is this package's value in a [llm.Memo].
type transcript struct {
	history wire.History
	cache   wire.Cache
}

// encode returns the body of a request in pieces. The memo owns the pieces with the
// messages, which stay the same from one request to the next.
func (m *model) encode(req *llm.Request) ([][]byte, error) { return m.body(req, nil) }

// body is encode. With a tally it omits members that the end point for counting refuses.
func (m *model) body(req *llm.Request, tally *Tally) ([][]byte, error) {
	if len(req.Messages) == 0 {
		return nil, invalid("a request needs at least one message")
	}
	c := codec{noImages: m.Entry.NoImages, noPDF: m.Entry.NoPDF, model: m.ID}
	t := req.Memo.Load(fmt.Sprint(provider, c), func() any {
		return &transcript{history: wire.History{Codec: c, IDs: toolIDs}}
	}).(*transcript)
	snap := t.history.Snapshot(req.Messages)
	tools, choice := req.Tools, req.ToolChoice
	if len(tools) == 0 {
		// The history's tool calls must be of declared tools, but none may be called now.
		tools, choice = namesakes(snap.Names), llm.ToolChoice{Mode: llm.ChooseNone}
	}
	toolsJSON, err := t.cache.Tools(tools, encodeTools)
	if err != nil {
		return nil, err
	}
	o, err := m.options(req, tools, choice, snap)
	if err != nil {
		return nil, err
	}
	if m.Entry.Formats {
		o.format = t.cache.Format(req.Format, encodeFormat)
	}
	head, keep := make([]byte, 0, 512), mark(req.Cache)
	switch {
	case tally == nil:
		stream := !req.Blocking && (m.platform == nil || m.platform.Streaming)
		head = o.append(m.lead(head, m.ID), stream)
	case tally.Model == "":
		head, keep = o.append(m.lead(head, m.ID), false), nil
	default:
		head, keep = o.appendCounted(m.leadCounted(head, tally.Model)), nil
	}
	body := append(make([][]byte, 0, 24), head)
	body = marked(body, toolsJSON, `}]`, keep)
	body = marked(body, t.cache.System(req.System, encodeSystem), `}]`, keep)
	body = append(body, []byte(`,"messages":[`))
	body = appendMessages(body, snap, o.thinking != "", keep)
	return append(body, []byte(`]}`)), nil
}

// appendMessages adds the messages, with a cache breakpoint in the last two of the user.
func appendMessages(body [][]byte, snap wire.Snapshot, thinking bool, keep []byte) [][]byte {
	open, isUser := snap.Open, snap.Last.Role == llm.User
	if !isUser && mustGoOn(snap.Last, thinking) {
		open, isUser = append(codec{}.Turn(nil, snap.Last, false), ","+message(wire.Continue)...), true
	}
	marks := snap.Ends
	if isUser {
		marks = marks[max(0, len(marks)-1):]
	}
	from := 0
	for _, end := range marks {
		at := end - len(`}`+messageEnd)
		body = append(body, snap.Closed[from:at], keep)
		from = at
	}
	body = append(body, snap.Closed[from:])
	if len(snap.Closed) > 0 {
		body = append(body, []byte(","))
	}
	if !isUser {
		return append(body, open)
	}
	return marked(body, open, `}`+messageEnd, keep)
}

// mustGoOn reports whether a message of the user must follow the last turn of the
// assistant. A turn that paused at a server tool is sent back unchanged.
func mustGoOn(t *wire.Turn, thinking bool) bool {
	parts := paired(t.Parts, true)
	if len(parts) == 0 || !thinking && t.Has(wire.Thought) {
		return true
	}
	switch parts[len(parts)-1].Kind {
	case wire.ServerCall, wire.ServerAnswer, wire.Other:
		return false
	}
	return true
}

func invalid(format string, args ...any) error { return wire.Invalid(provider, format, args...) }

// namesakes declares tools of which only the names are known.
func namesakes(names []string) []llm.Tool {
	var tools []llm.Tool
	for _, name := range names {
		name = wire.ToolName(name, maxName)
		if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == name }) {
			tools = append(tools, llm.Tool{Name: name})
		}
	}
	return tools
}

// options are the settings of a request in the form that the model accepts.
type options struct {
	maxTokens   int
	temperature *float64
	stop        []string
	thinking    string // JSON member, "" when off
	unthinking  bool   // the request must turn thinking off explicitly
	effort      string // a word, "" for none
	format      []byte // JSON, nil for none
	choice      string // JSON member, "" for the default
	fast        bool
}

func (m *model) options(req *llm.Request, tools []llm.Tool, choice llm.ToolChoice, snap wire.Snapshot) (options, error) {
	var o options
	var err error
	if o.choice, err = m.choice(choice, tools); err != nil {
		return o, err
	}
	forced := choice.Mode == llm.ChooseAny || choice.Mode == llm.ChooseTool
	o.maxTokens, o.fast = m.maxTokens(req), m.fast()
	if req.Thinking.On() && (!forced || o.choice == "") {
		o.thinking, o.effort = m.thinking(req.Thinking, o.maxTokens, snap.Spoke)
	}
	// Older models think only if asked to. The newest models, which do not accept a forced
	// tool choice, always think.
	o.unthinking = req.Thinking.Mode == llm.ThinkOff && m.Entry.Thinking == llmconst.ThinkingAdaptive && !m.Entry.NoForcedTool
	if t := req.Temperature; t != nil && o.thinking == "" && !m.Entry.NoSamplers {
		v := min(max(*t, 0), 1)
		if v == v {
			o.temperature = &v
		}
	}
	for _, s := range req.Stop {
		if !wire.Blank(s) {
			o.stop = append(o.stop, s)
		}
	}
	return o, nil
}

func (m *model) maxTokens(req *llm.Request) int {
	n, most := req.MaxTokens, m.Entry.MaxOutput
	if n <= 0 {
		if most == 0 {
			return unknownMaxTokens
		}
		n = defaultMaxTokens
		if m.Entry.Thinking == llmconst.ThinkingBudget {
			n += req.Thinking.Tokens()
		}
	} else if budget := req.Thinking.Tokens(); m.Entry.Thinking == llmconst.ThinkingBudget && n <= budget {
		n += budget // the requested number is for the answer alone
	}
	if most > 0 {
		n = min(n, most)
	}
	return n
}

// choice returns the member "tool_choice" with a comma before it, "" if it can be omitted.
func (m *model) choice(c llm.ToolChoice, tools []llm.Tool) (string, error) {
	if len(tools) == 0 {
		return "", nil
	}
	choice, err := toolForm.Choice(c, tools)
	if m.Entry.NoForcedTool && (c.Mode == llm.ChooseAny || c.Mode == llm.ChooseTool) {
		choice = ""
	}
	return choice, err
}

// thinking returns the JSON member that turns thinking on, "" if the model cannot think
// here. word is the amount of thinking, if the model takes one.
func (m *model) thinking(want llm.Thought, maxTokens int, spoke *wire.Turn) (member, word string) {
	switch m.Entry.Thinking {
	case llmconst.ThinkingAdaptive:
		if want.Budget == 0 && want.Effort == "" {
			return `"thinking":{"type":"adaptive"}`, ""
		}
		word := effort(want)
		if word == "max" && strings.HasPrefix(m.ID, "claude-sonnet-4-6") {
			word = "high" // https://platform.claude.com/docs/en/build-with-claude/effort: of that generation only Opus takes max
		}
		return `"thinking":{"type":"adaptive"}`, word
	case llmconst.ThinkingBudget:
		budget := min(max(want.Tokens(), minBudget), maxTokens-minAnswer)
		// If a tool loop began without thinking, thinking must stay off.
		if budget < minBudget || spoke != nil && spoke.Has(wire.Call) && spoke.Parts[0].Kind != wire.Thought {
			return "", ""
		}
		return `"thinking":{"type":"enabled","budget_tokens":` + strconv.Itoa(budget) + `}`, ""
	}
	return "", ""
}

// effort returns the word for an amount of thinking.
func effort(t llm.Thought) string {
	switch n := t.Tokens(); {
	case n <= 1024:
		return "low"
	case n <= 5120:
		return "medium"
	case n <= 10240:
		return "high"
	}
	return "max"
}

// appendCounted is append for the end point that counts tokens.
func (o options) appendCounted(b []byte) []byte {
	if o.thinking != "" {
		b = append(append(b, ','), o.thinking...)
	}
	return append(b, o.choice...)
}

// append writes the body from max_tokens up to the tools.
func (o options) append(b []byte, stream bool) []byte {
	b = strconv.AppendInt(append(b, `,"max_tokens":`...), int64(o.maxTokens), 10)
	if stream {
		b = append(b, `,"stream":true`...)
	}
	if o.fast {
		b = append(b, `,"speed":"fast"`...)
	}
	if o.temperature != nil {
		b = strconv.AppendFloat(append(b, `,"temperature":`...), *o.temperature, 'g', -1, 64)
	}
	if o.thinking != "" {
		b = append(append(b, ','), o.thinking...)
	} else if o.unthinking {
		b = append(b, `,"thinking":{"type":"disabled"}`...)
	}
	b = o.appendConfig(b)
	b = wire.AppendStrings(b, "stop_sequences", o.stop)
	return append(b, o.choice...)
}

// appendConfig writes the effort and the format of the answer.
func (o options) appendConfig(b []byte) []byte {
	if o.effort == "" && o.format == nil {
		return b
	}
	b = append(b, `,"output_config":{`...)
	if o.effort != "" {
		b = append(append(append(b, `"effort":"`...), o.effort...), '"')
	}
	if o.format != nil {
		if o.effort != "" {
			b = append(b, ',')
		}
		b = append(append(b, `"format":`...), o.format...)
	}
	return append(b, '}')
}

// encodeFormat returns the format of an answer, nil for a schema that the API cannot accept
// in any form.
func encodeFormat(f json.RawMessage) []byte {
	schema, ok := strict.Anthropic(f)
	if !ok {
		return nil
	}
	return append(append([]byte(`{"type":"json_schema","schema":`), schema...), '}')
}

var toolForm = wire.ToolForm{
	Provider: provider, Name: maxName, Open: `{`, Schema: `,"input_schema":`, Close: `}`,
	None: `{"type":"none"}`, Any: `{"type":"any"}`, One: `{"type":"tool","name":`, OneEnd: `}`,
}

func encodeTools(tools []llm.Tool) ([]byte, error) { return toolForm.Encode(tools, nil) }

// encodeSystem returns the member "system" with a comma before it.
func encodeSystem(prompt string) []byte {
	out := wire.AppendString([]byte(`,"system":[{"type":"text","text":`), prompt)
	return append(out, `}]`...)
}
