package acp

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	protocol "github.com/openagent-go/agent/internal/acp"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

func TestServersOf(t *testing.T) {
	var list []protocol.MCPServer
	if err := json.Unmarshal([]byte(`[{"name":"a","command":"/bin/a","args":["x","${HOME}"],"env":[{"name":"K","value":"${V}"}]},
		{"type":"http","name":"b","url":"https://example.com/mcp","headers":[{"name":"Authorization","value":"Bearer t"}]},
		{"type":"sse","name":"c","url":"https://example.com/sse","headers":[]}]`), &list); err != nil {
		t.Fatal(err)
	}
	got, err := serversOf(list)
	want := map[string]mcp.Config{
		"a": {Type: "stdio", Command: "/bin/a", Args: []string{"x", "${HOME}"}, Env: map[string]string{"K": "${V}"}},
		"b": {Type: "http", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer t"}},
		"c": {Type: "sse", URL: "https://example.com/sse", Headers: map[string]string{}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []protocol.MCPServer{{Name: "x"}, {Name: "x", Type: "http"}, {Name: "x", Type: "http", URL: "not a url"}, {Name: "", Command: "a"}, {Name: "x", Type: "sdk"}} {
		var e *protocol.Error
		if _, err := serversOf([]protocol.MCPServer{bad}); !errors.As(err, &e) || e.Code != protocol.InvalidParams {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestInputOf(t *testing.T) {
	text := "package c"
	in, said, err := inputOf([]protocol.Block{{Type: "text", Text: "Look at "}, {Type: "resource_link", URI: "file:///src/a%20b.go", Name: "a b.go"}, {Type: "text", Text: " and "},
		{Type: "resource_link", URI: "zed:///agent/thread/1", Name: "Thread"}, {Type: "resource_link", URI: "https://example.com", Name: "page"}, {Type: "resource", Resource: &protocol.Resource{URI: "file:///c.go", Text: &text}}})
	if err != nil || in.Text != "Look at /src/a b.go and Thread[page](https://example.com)" || said != "Look at  and " {
		t.Errorf("%q, %q, %v", in.Text, said, err)
	}
	if want := []llm.Block{llm.Document{MediaType: "text/plain", Title: "/c.go", Data: []byte(text)}}; !reflect.DeepEqual(in.Blocks, want) {
		t.Errorf("%+v", in.Blocks)
	}
	for _, bad := range [][]protocol.Block{nil, {{Type: "text", Text: " \n"}}, {{Type: "image", Data: "%"}}, {{Type: "image", Data: "AAAA"}}, {{Type: "resource"}}, {{Type: "resource", Resource: &protocol.Resource{Blob: "%"}}}, {{Type: "audio"}}, {{}}} {
		var e *protocol.Error
		if _, _, err := inputOf(bad); !errors.As(err, &e) || e.Code != protocol.InvalidParams {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestAnswerOf(t *testing.T) {
	one := tool.Question{Options: []tool.Option{{Label: "Red"}, {Label: "Blue"}}}
	many := tool.Question{Options: one.Options, Multiple: true}
	for _, c := range []struct {
		q           tool.Question
		chosen, own string
		want        tool.Answer
	}{
		{one, `"Blue"`, ``, tool.Answer{Options: []string{"Blue"}}},
		{one, `"Green"`, ``, tool.Answer{Text: "Green"}},
		{one, ``, `"mine"`, tool.Answer{Text: "mine"}},
		{many, `["Red","Blue"]`, `"and mine"`, tool.Answer{Options: []string{"Red", "Blue"}, Text: "and mine"}},
		{tool.Question{}, `"Ada"`, ``, tool.Answer{Text: "Ada"}},
		{one, `7`, `{}`, tool.Answer{}},
		{one, ``, ``, tool.Answer{}},
	} {
		if got := answerOf(c.q, json.RawMessage(c.chosen), json.RawMessage(c.own)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %+v, want %+v", c.chosen, c.own, got, c.want)
		}
	}
}
