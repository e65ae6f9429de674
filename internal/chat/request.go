package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

const (
	maxTools = 128
	maxStops = 4
)

// transcript is this package's value in a [llm.Memo].
type transcript struct {
	history wire.History
	cache   wire.Cache
}

// encode returns the body of a request in pieces. The memo owns the pieces with the
// messages, which stay the same from one request to the next.
func (m *model) encode(req *llm.Request, host target) ([][]byte, error) {
	if len(req.Messages) == 0 {
		return nil, invalid("a request needs at least one message")
	}
	c := codec{model: m.ID, echo: host.echo, ids: host.IDs, images: !m.Entry.NoImages && !host.NoImages, gifs: !host.NoGIF, files: host.Files && !m.Entry.NoPDF,
		bridge: host.AnswersFirst, signatures: host.Signatures, signed: signs(m.ID)}
	t := req.Memo.Load(fmt.Sprint(provider, c, host.Schemas), func() any {
		return &transcript{history: wire.History{Codec: c, IDs: c.ids.rule()}}
	}).(*transcript)
	toolsJSON, err := t.cache.Tools(req.Tools, host.encodeTools)
	if err != nil {
		return nil, err
	}
	choice := ""
	if len(req.Tools) > 0 {
		if choice, err = toolForm.Choice(req.ToolChoice, req.Tools); err != nil {
			return nil, err
		}
	}
	snap := t.history.Snapshot(req.Messages)
	head := m.head(req, host, choice)
	if m.Entry.Formats {
		head = append(head, t.cache.Format(req.Format, encodeFormat)...)
	}
	head = m.appendCache(head, req, host)
	body := append(make([][]byte, 0, 8), head, toolsJSON, []byte(`,"messages":[`), t.cache.System(req.System, encodeSystem), snap.Closed)
	if len(snap.Closed) > 0 {
		body = append(body, []byte(","))
	}
	end := `]}`
	if host.AnswersFirst && snap.Last.Role == llm.Assistant {
		end = `,{"role":"user","content":"` + wire.Continue + `"}]}`
	}
	return append(body, snap.Open, []byte(end)), nil
}

// head returns the body from its start up to the tools.
func (m *model) head(req *llm.Request, host target, choice string) []byte {
	b := wire.AppendString(append(make([]byte, 0, 512), `{"model":`...), m.ID)
	if !req.Blocking {
		b = append(b, `,"stream":true`...)
		if !host.NoStreamOptions {
			b = append(b, `,"stream_options":{"include_usage":true}`...)
		}
	}
	b = appendMembers(b, host.Members)
	thinking, choice, least := m.thinking(req, host, choice)
	if n := req.MaxTokens; n > 0 {
		// If thinking counts as output, the limit must leave room for it.
		if n <= least {
			n += least
		}
		if m.Entry.MaxOutput > 0 {
			n = min(n, m.Entry.MaxOutput)
		}
		name := host.Limit
		switch {
		case name == "" && m.Entry.MaxCompletionTokens:
			name = "max_completion_tokens"
		case name == "":
			name = "max_tokens"
		}
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = strconv.AppendInt(b, int64(n), 10)
	}
	samplers := !m.Entry.NoSamplers && !host.noSamplers
	if t := req.Temperature; t != nil && *t == *t && samplers {
		b = strconv.AppendFloat(append(b, `,"temperature":`...), min(max(*t, 0), cmp.Or(host.Hottest, 2)), 'g', -1, 64)
	}
	if samplers && !host.NoStop {
		stops := slices.DeleteFunc(slices.Clone(req.Stop), func(s string) bool { return s == "" })
		b = wire.AppendStrings(b, "stop", stops[:min(len(stops), maxStops)])
	}
	b = append(b, thinking...)
	return append(b, choice...)
}

// maxCacheKey is the length of the longest conversation id that hosts accept.
const maxCacheKey = 64

// appendCache appends the members that make the host cache the prompt and find it again.
// Most hosts need none.
func (m *model) appendCache(b []byte, req *llm.Request, host target) []byte {
	c := req.Cache
	if c.Off {
		return b
	}
	if id := req.Session; host.CacheKey != "" && id != "" && len(id) <= maxCacheKey {
		b = wire.AppendString(append(append(append(b, `,"`...), host.CacheKey...), `":`...), id)
	}
	switch {
	case !host.CacheMark || !strings.Contains(strings.ToLower(m.ID), "claude"):
	case modelcall.KeepsHour(c):
		b = append(b, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`...)
	default:
		b = append(b, `,"cache_control":{"type":"ephemeral"}`...)
	}
	return b
}

// appendMembers appends the members of a JSON object.
func appendMembers(b []byte, object json.RawMessage) []byte {
	if len(object) == 0 {
		return b
	}
	inside := bytes.TrimSpace(wire.AppendObject(nil, object))
	if inside = inside[1 : len(inside)-1]; len(inside) == 0 {
		return b
	}
	return append(append(b, ','), inside...)
}

// encodeFormat returns the member "response_format" with a comma before it.
func encodeFormat(f json.RawMessage) []byte {
	b := wire.OpenAIFormat(`,"response_format":{"type":"json_schema","json_schema":{`, f)
	if b == nil {
		return nil
	}
	return append(b, '}')
}

var toolForm = wire.ToolForm{
	Provider: provider, Most: maxTools, Name: maxName, Open: `{"type":"function","function":{`, Schema: `,"parameters":`, Close: `}}`,
	None: `"none"`, Any: `"required"`, One: `{"type":"function","function":{"name":`, OneEnd: `}}`,
}

func (p *Profile) encodeTools(tools []llm.Tool) ([]byte, error) {
	if p.Schemas == SchemasGoogle {
		return toolForm.Encode(tools, googleSchema)
	}
	return toolForm.Encode(tools, nil)
}

// encodeSystem returns the system message with a comma after it.
func encodeSystem(prompt string) []byte {
	return append(wire.AppendString([]byte(`{"role":"system","content":`), prompt), `},`...)
}
