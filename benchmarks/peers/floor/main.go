// Floor is an agent loop written by hand for this measurement: a slice of
// messages, a map of tools, net/http. It has no permissions, hooks, events or
// store, and says what is possible, not what is complete.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/openagent-go/agent/benchmarks/harness"
)

func main() { harness.Main(peers...) }

var peers = []harness.Peer{
	{
		Name: "floor", Wire: "anthropic",
		Agent: func(s harness.Script) (harness.Run, error) {
			a := newAgent(playing{s}, tenTools())
			return func(ctx context.Context) (string, error) { return a.run(ctx, harness.Prompt) }, nil
		},
		Streams: map[string]func(string) (harness.Stream, error){
			harness.ByAgent: func(url string) (harness.Stream, error) {
				return func(ctx context.Context, text *harness.Text) error { return stream(ctx, url, text) }, nil
			},
		},
		Shared: func() (func() any, error) {
			tools := tenTools()
			return func() any { return newAgent(playing{}, tools) }, nil
		},
		Own: func() (any, error) { return newAgent(playing{}, tenTools()), nil },
	},
	{
		Name: "floor (HTTP)", HTTP: true,
		Agent: func(s harness.Script) (harness.Run, error) {
			client := &http.Client{Transport: harness.Transport{Script: s}}
			tools := tenTools()
			definitions, err := definitions(tools)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (string, error) {
				a := newAgent(&remote{client: client, tools: definitions}, tools)
				return a.run(ctx, harness.Prompt)
			}, nil
		},
	},
}

type message struct {
	role, text string
	use        *use // of an assistant
	id         string
}

type use struct {
	ID    string
	Name  string
	Input json.RawMessage
}

type tool struct {
	name, description string
	schema            json.RawMessage
	run               func(context.Context, json.RawMessage) (string, error)
}

type model interface {
	answer(context.Context, []message) (message, error)
}

type agent struct {
	model model
	tools map[string]tool
}

func newAgent(m model, tools []tool) *agent {
	a := &agent{m, make(map[string]tool, len(tools))}
	for _, t := range tools {
		a.tools[t.name] = t
	}
	return a
}

func (a *agent) run(ctx context.Context, prompt string) (string, error) {
	history := []message{{role: "user", text: prompt}}
	for {
		m, err := a.model.answer(ctx, history)
		if err != nil || m.use == nil {
			return m.text, err
		}
		t, ok := a.tools[m.use.Name]
		if !ok {
			return "", fmt.Errorf("no tool %q", m.use.Name)
		}
		out, err := t.run(ctx, m.use.Input)
		if err != nil {
			return "", err
		}
		history = append(history, m, message{role: "user", text: out, id: m.use.ID})
	}
}

func double(name string) tool {
	return tool{name, harness.ToolText, json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		func(_ context.Context, input json.RawMessage) (string, error) {
			var in struct{ N int }
			if err := json.Unmarshal(input, &in); err != nil {
				return "", err
			}
			return strconv.Itoa(harness.Double(in.N)), nil
		}}
}

func tenTools() []tool {
	tools := make([]tool, len(harness.Names))
	for i := range tools {
		tools[i] = double(harness.Names[i])
	}
	return tools
}

type playing struct{ script harness.Script }

func (p playing) answer(ctx context.Context, history []message) (message, error) {
	u, err := p.script.Next(ctx, len(history))
	if err != nil {
		return message{}, err
	}
	if u == nil {
		return message{role: "assistant", text: harness.Final}, nil
	}
	return message{role: "assistant", use: &use{u.ID, harness.Tool, json.RawMessage(u.Input)}}, nil
}

// definitions describes tools to the model.
func definitions(tools []tool) (json.RawMessage, error) {
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Input       json.RawMessage `json:"input_schema"`
	}
	var out []definition
	for _, t := range tools {
		out = append(out, definition{t.name, t.description, t.schema})
	}
	return json.Marshal(out)
}

// remote asks the Messages API. The history is encoded once: a request is what
// was sent before, and the new messages.
type remote struct {
	client *http.Client
	tools  json.RawMessage
	body   []byte
	known  int
}

func (r *remote) answer(ctx context.Context, history []message) (message, error) {
	if r.body == nil {
		r.body = fmt.Appendf(nil, `{"model":"claude-sonnet-4-6","max_tokens":16384,"tools":%s,"messages":[`, r.tools)
	}
	for _, m := range history[r.known:] {
		if r.known++; r.known > 1 {
			r.body = append(r.body, ',')
		}
		switch {
		case m.use != nil:
			r.body = fmt.Appendf(r.body, `{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}`, m.use.ID, m.use.Name, m.use.Input)
		case m.id != "":
			r.body = fmt.Appendf(r.body, `{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, m.id, m.text)
		default:
			r.body = fmt.Appendf(r.body, `{"role":"user","content":%q}`, m.text)
		}
	}
	end := io.MultiReader(bytes.NewReader(r.body), bytes.NewReader([]byte("]}")))
	req, err := http.NewRequestWithContext(ctx, "POST", "http://127.0.0.1/v1/messages", end)
	if err != nil {
		return message{}, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return message{}, err
	}
	defer resp.Body.Close()
	var reply struct {
		Content []struct {
			use
			Text string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return message{}, err
	}
	if len(reply.Content) != 1 {
		return message{}, errors.New("a reply of other than one block")
	}
	b := reply.Content[0]
	if b.ID == "" {
		return message{role: "assistant", text: b.Text}, nil
	}
	return message{role: "assistant", use: &b.use}, nil
}

// stream reads a reply line by line. Deltas of text have a fixed form and are
// cut out of it; what else comes is left alone.
func stream(ctx context.Context, url string, text *harness.Text) error {
	body := []byte(`{"model":"claude-sonnet-4-6","max_tokens":16384,"stream":true,"messages":[{"role":"user","content":"` + harness.Prompt + `"}]}`)
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewReaderSize(resp.Body, 32<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("the stream had no end: %w", err)
		}
		if bytes.Contains(line, []byte(`"type":"message_stop"`)) {
			_, err := io.Copy(io.Discard, lines)
			return err
		}
		_, delta, ok := bytes.Cut(line, []byte(`"delta":{"type":"text_delta","text":"`))
		if !ok {
			continue
		}
		end := bytes.LastIndex(delta, []byte(`"}}`))
		if end < 0 || bytes.IndexByte(delta[:end], '\\') >= 0 {
			return fmt.Errorf("a delta in another form: %s", line)
		}
		text.Write(string(delta[:end]))
	}
}
