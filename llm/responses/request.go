package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

const (
	maxTools    = 128
	minOutput   = 16 // smallest max_output_tokens that the API accepts
	maxCacheKey = 64
)

// transcript is this package's value in a [llm.Memo].
type transcript struct {
	history wire.History
	cache   wire.Cache

	mu    sync.Mutex
	first *llm.Block // first block of the first message, from which key is made
	key   string
}

// cacheKey returns the key that routes the requests of a conversation to the same cache:
// the conversation's own key, otherwise a hash of its first message.
func (t *transcript) cacheKey(req *llm.Request) string {
	m := req.Messages[0]
	if key := req.Session; key != "" && len(key) <= maxCacheKey || len(m.Content) == 0 {
		return key
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first != &m.Content[0] || t.key == "" {
		data, err := json.Marshal(m.Content)
		if err != nil {
			return ""
		}
		sum := sha256.Sum256(data)
		t.first, t.key = &m.Content[0], hex.EncodeToString(sum[:16])
	}
	return t.key
}

// encode returns the body of a request in pieces. The memo owns the pieces with the
// messages, which stay the same from one request to the next.
func (m *model) encode(req *llm.Request, at host) ([][]byte, error) { return m.body(req, at, false) }

// body is encode. counted: it omits members that the end point for counting refuses.
func (m *model) body(req *llm.Request, at host, counted bool) ([][]byte, error) {
	if len(req.Messages) == 0 {
		return nil, invalid("a request needs at least one message")
	}
	c := codec{model: m.ID, own: at.own, images: !m.Entry.NoImages, files: at.own && !m.Entry.NoPDF}
	t := req.Memo.Load(fmt.Sprint(provider, c), func() any {
		c.seen = set{}
		return &transcript{history: wire.History{Codec: c, IDs: toolIDs}}
	}).(*transcript)
	toolsJSON, err := t.cache.Tools(req.Tools, encodeTools)
	if err != nil {
		return nil, err
	}
	if toolsJSON, err = m.withBuiltIn(toolsJSON); err != nil {
		return nil, err
	}
	choice := ""
	if len(toolsJSON) > 0 {
		if choice, err = toolForm.Choice(req.ToolChoice, req.Tools); err != nil {
			return nil, err
		}
	}
	snap := t.history.Snapshot(req.Messages)
	head := m.head(req, choice, counted)
	if m.Entry.Formats {
		head = append(head, t.cache.Format(req.Format, encodeFormat)...)
	}
	if at.own && !req.Cache.Off && !counted {
		if key := t.cacheKey(req); key != "" {
			head = wire.AppendString(append(head, `,"prompt_cache_key":`...), key)
		}
	}
	body := append(make([][]byte, 0, 8), head, toolsJSON, t.cache.System(req.System, encodeSystem), []byte(`,"input":[`), snap.Closed)
	if len(snap.Closed) > 0 {
		body = append(body, []byte(","))
	}
	return append(body, snap.Open, []byte(`]}`)), nil
}

// head returns the body from its start up to the tools.
func (m *model) head(req *llm.Request, choice string, counted bool) []byte {
	b := wire.AppendString(append(make([]byte, 0, 512), `{"model":`...), m.ID)
	if counted {
		if m.Entry.Thinking == llmconst.ThinkingEffort {
			b = m.reasoning(b, req.Thinking)
		}
		return append(b, choice...)
	}
	b = append(b, `,"store":false,"truncation":"disabled"`...)
	if !req.Blocking {
		b = append(b, `,"stream":true`...)
	}
	if n := req.MaxTokens; n > 0 {
		if m.Entry.MaxOutput > 0 {
			n = min(n, m.Entry.MaxOutput)
		}
		b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), int64(max(n, minOutput)), 10)
	}
	if t := req.Temperature; t != nil && *t == *t && !m.Entry.NoSamplers {
		b = strconv.AppendFloat(append(b, `,"temperature":`...), min(max(*t, 0), 2), 'g', -1, 64)
	}
	if m.Entry.Thinking == llmconst.ThinkingEffort {
		b = m.reasoning(append(b, `,"include":["reasoning.encrypted_content"]`...), req.Thinking)
	}
	return append(b, choice...)
}

// reasoning appends the amount of thinking, and whether the model reports its thoughts.
func (m *model) reasoning(b []byte, want llm.Thought) []byte {
	summary := wire.First(m.client.Summary, "auto")
	word := m.effort(want)
	if !want.On() || summary == "none" {
		summary = ""
	}
	switch {
	case word != "" && summary != "":
		return append(b, `,"reasoning":{"effort":"`+word+`","summary":"`+summary+`"}`...)
	case word != "":
		return append(b, `,"reasoning":{"effort":"`+word+`"}`...)
	case summary != "":
		return append(b, `,"reasoning":{"summary":"`+summary+`"}`...)
	}
	return b
}

var numbered = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?`)

// effort returns the word for an amount of thinking, "" for the model's default. Models
// since gpt-5.1 can turn thinking off. Models since gpt-5.2 have a word for the most
// thinking.
func (m *model) effort(t llm.Thought) string {
	version := 0
	if match := numbered.FindStringSubmatch(m.ID[strings.LastIndexByte(m.ID, '/')+1:]); match != nil {
		major, _ := strconv.Atoi(match[1])
		minor, _ := strconv.Atoi(match[2])
		version = 100*major + minor
	}
	switch n := t.Tokens(); {
	case t.Mode == llm.ThinkOff && version > 500:
		return "none"
	case t.Mode == llm.ThinkOff && version == 500:
		return "minimal"
	case !t.On() || t.Mode == llm.ThinkAdaptive && t.Budget == 0 && t.Effort == "":
		return ""
	case n <= 1024:
		return "low"
	case n <= 5120:
		return "medium"
	case n > 10240 && version > 501:
		return "xhigh"
	}
	return "high"
}

// encodeFormat returns the member "text" with a comma before it.
func encodeFormat(f json.RawMessage) []byte {
	b := wire.OpenAIFormat(`,"text":{"format":{"type":"json_schema",`, f)
	if b == nil {
		return nil
	}
	return append(b, '}')
}

var toolForm = wire.ToolForm{
	Provider: provider, Most: maxTools, Name: maxName, Open: `{"type":"function",`, Schema: `,"parameters":`, Close: `,"strict":false}`, // without it, strict would be true
	None: `"none"`, Any: `"required"`, One: `{"type":"function","name":`, OneEnd: `}`,
}

func encodeTools(tools []llm.Tool) ([]byte, error) { return toolForm.Encode(tools, nil) }

// withBuiltIn adds the provider's own tools to the member "tools".
func (m *model) withBuiltIn(tools []byte) ([]byte, error) {
	if len(m.client.BuiltIn) == 0 {
		return tools, nil
	}
	out := []byte(`,"tools":[`)
	if len(tools) > 0 {
		out = append(slices.Clone(tools[:len(tools)-1]), ',')
	}
	for i, raw := range m.client.BuiltIn {
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(raw, &head); err != nil || head.Type == "" {
			return nil, invalid("built-in tool %d is no JSON object with a type", i)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendObject(out, raw)
	}
	return append(out, ']'), nil
}

// encodeSystem returns the member "instructions" with a comma before it.
func encodeSystem(prompt string) []byte {
	return wire.AppendString([]byte(`,"instructions":`), prompt)
}
