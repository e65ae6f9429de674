package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// A chunk is a piece of a stream, or a whole reply. They differ only in the name of one
// member.
type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

func (c *chunk) failed() bool { return len(c.Error) > 0 && string(c.Error) != "null" }

type choice struct {
	Index   int     `json:"index"`
	Delta   message `json:"delta"`
	Message message `json:"message"`
	Finish  words   `json:"finish_reason"`
}

type message struct {
	Content   content           `json:"content"`
	Refusal   words             `json:"refusal"`
	Plain1    words             `json:"reasoning_content"`
	Plain2    words             `json:"reasoning"`
	Details   []json.RawMessage `json:"reasoning_details"`
	ToolCalls []toolCall        `json:"tool_calls"`
	Function  *function         `json:"function_call"`
}

// reasoning returns the reasoning in plain text. Hosts use two names for it.
func (m *message) reasoning() string {
	if m.Plain1 != "" {
		return string(m.Plain1)
	}
	if m.Plain2 != "" {
		return string(m.Plain2)
	}
	return m.Content.thinking
}

type toolCall struct {
	Index    *int            `json:"index"`
	ID       words           `json:"id"`
	Function function        `json:"function"`
	Extra    json.RawMessage `json:"extra_content"`
}

type function struct {
	Name      words     `json:"name"`
	Arguments arguments `json:"arguments"`
}

// words is a string; any other JSON reads as "".
type words string

func (w *words) UnmarshalJSON(data []byte) error {
	var s string
	if data[0] == '"' && json.Unmarshal(data, &s) == nil {
		*w = words(s)
	}
	return nil
}

// arguments is a string that contains JSON, or that JSON itself.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	var s string
	switch {
	case data[0] == '"':
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*a = arguments(s)
	case data[0] == '{':
		*a = arguments(data)
	}
	return nil
}

// content is text, or a list of parts with text and thinking.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &c.text)
	case '[':
		var parts []struct {
			Text     words     `json:"text"`
			Thinking innerText `json:"thinking"`
		}
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		var text, thinking strings.Builder
		for _, p := range parts {
			text.WriteString(string(p.Text))
			thinking.WriteString(string(p.Thinking))
		}
		c.text, c.thinking = text.String(), thinking.String()
	}
	return nil
}

// innerText is text, or a list of text parts without further nesting. Deep nesting would
// make decoding slow, because each level reads the rest again.
type innerText string

func (t *innerText) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case '[':
		var parts []struct {
			Text words `json:"text"`
		}
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		var all strings.Builder
		for _, p := range parts {
			all.WriteString(string(p.Text))
		}
		*t = innerText(all.String())
	}
	return nil
}

type usage struct {
	Prompt     wire.Count `json:"prompt_tokens"`
	Completion wire.Count `json:"completion_tokens"`
	Total      wire.Count `json:"total_tokens"`
	PromptHas  struct {
		Cached  wire.Count `json:"cached_tokens"`
		Written wire.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionHas struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Written wire.Count `json:"cache_creation_input_tokens"` // Vercel
	Cached  wire.Count `json:"cached_tokens"`               // Moonshot
	Hit     wire.Count `json:"prompt_cache_hit_tokens"`     // DeepSeek
}

// normal returns u in the library's terms: input without cached tokens, output with the
// reasoning.
func (u *usage) normal() llm.Usage {
	read := max(u.PromptHas.Cached, u.Cached, u.Hit)
	written := max(u.PromptHas.Written, u.Written)
	reasoning, output := u.CompletionHas.Reasoning, u.Completion
	// xAI, and Gemini behind Vercel, report reasoning separately from the completion.
	if reasoning > 0 && (u.Total == u.Prompt+u.Completion+reasoning || reasoning > u.Completion) {
		output = min(output+reasoning, wire.MaxCount)
	}
	return llm.Usage{
		Input: int(max(0, u.Prompt-read-written)), Output: int(output),
		CacheRead: int(read), CacheWrite: int(written), Reasoning: int(reasoning),
	}
}

// details are the pieces of reasoning_details, joined again.
type details struct {
	list      []*detail
	signature string
}

type detail struct {
	kind, index string
	fields      map[string]json.RawMessage
	text        map[string]*wire.Text // text and summary
}

// add adds a piece and returns its readable text.
func (ds *details) add(raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return ""
	}
	d := ds.find(unquote(fields["type"]), string(fields["index"]))
	var shown strings.Builder // at most two
	for name, value := range fields {
		s := unquote(value)
		switch {
		case name == "text" || name == "summary":
			if d.text[name] == nil {
				d.text[name] = &wire.Text{}
			}
			d.text[name].Add([]byte(s))
			shown.WriteString(s)
			continue
		case name == "signature" && s != "":
			ds.signature = s
		}
		if old := d.fields[name]; old == nil || s != "" || len(value) > 0 && value[0] != '"' && string(value) != "null" {
			d.fields[name] = bytes.Clone(value)
		}
	}
	return shown.String()
}

// find returns the detail to which a piece belongs. Text continues the detail at its index.
// Encrypted pieces stand alone.
func (ds *details) find(kind, index string) *detail {
	if n := len(ds.list); n > 0 && !strings.HasSuffix(kind, "encrypted") {
		for _, d := range ds.list[max(0, n-8):] {
			if d.kind == kind && d.index == index {
				return d
			}
		}
	}
	d := &detail{kind: kind, index: index, fields: map[string]json.RawMessage{}, text: map[string]*wire.Text{}}
	ds.list = append(ds.list, d)
	return d
}

func unquote(raw json.RawMessage) string {
	var s words
	if len(raw) > 0 {
		_ = s.UnmarshalJSON(raw)
	}
	return string(s)
}

// json returns the details as an array, nil if there are none.
func (ds *details) json() json.RawMessage {
	if len(ds.list) == 0 {
		return nil
	}
	all := make([]map[string]json.RawMessage, len(ds.list))
	for i, d := range ds.list {
		all[i] = d.fields
		for name, text := range d.text {
			all[i][name] = wire.AppendString(nil, text.String())
		}
	}
	out, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return out
}

// A form is the common text around the piece of text in a chunk. Most chunks of a stream
// are equal up to that piece and after it, so a comparison replaces decoding. OpenAI adds a
// member of random length at the end.
//
// It keeps a delta under 1 µs and 2 allocations (BenchmarkDelta). Decoding each chunk would
// take 6 µs and 16 allocations. The members around the text differ between hosts, so a
// fixed form is not possible.
type form struct {
	prefix, suffix, tail []byte
	padded               bool
}

var padding = []byte(`"obfuscation":"`)

// learn sets the form from data, a chunk whose member name holds text.
func (f *form) learn(data []byte, name, text string) {
	*f = form{}
	at := bytes.Index(data, []byte(`"`+name+`":`))
	if lower := bytes.ToLower(data); at < 0 || bytes.Count(lower, []byte(`"`+name+`"`)) != 1 || bytes.Count(lower, []byte(`"delta"`)) != 1 {
		return
	}
	// The member must be in the delta itself.
	brace := bytes.LastIndexByte(data[:at], '{')
	if brace < 0 || bytes.ContainsAny(data[brace:at], "}]") || !bytes.HasSuffix(bytes.TrimRight(data[:brace], " "), []byte(`"delta":`)) {
		return
	}
	at += len(name) + 3
	for at < len(data) && data[at] == ' ' {
		at++
	}
	if at == len(data) || data[at] != '"' {
		return
	}
	at++
	got, n, ok := wire.AppendUnquoted(nil, data[at:])
	if !ok || string(got) != text {
		return
	}
	if bytes.IndexByte(data[:at], '\\') >= 0 || bytes.IndexByte(data[at+n:], '\\') >= 0 {
		return
	}
	f.prefix, f.suffix = bytes.Clone(data[:at]), bytes.Clone(data[at+n:])
	if i := bytes.Index(f.suffix, padding); i >= 0 {
		i += len(padding)
		end := bytes.IndexByte(f.suffix[i:], '"')
		if end < 0 {
			*f = form{}
			return
		}
		f.tail, f.suffix, f.padded = f.suffix[i+end:], f.suffix[:i], true
	}
}

// match returns the text in data if it has the form.
func (f *form) match(scratch, data []byte) ([]byte, bool) {
	if f.prefix == nil || !bytes.HasPrefix(data, f.prefix) {
		return scratch, false
	}
	rest := data[len(f.prefix):]
	text, n, ok := wire.AppendUnquoted(scratch, rest)
	if !ok {
		return scratch, false
	}
	if !f.padded {
		return text, bytes.Equal(rest[n:], f.suffix)
	}
	rest, ok = bytes.CutPrefix(rest[n:], f.suffix)
	if !ok {
		return text, false
	}
	end := bytes.IndexByte(rest, '"')
	return text, end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 && bytes.Equal(rest[end:], f.tail)
}
