package secrets_test

import (
	"testing"

	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

func TestRedactor(t *testing.T) {
	s := secrets.Of([]string{"hunter2hunter2"}, nil, nil)
	s.Add([]string{"later-key-1234"})
	if got := s.Text("hunter2hunter2 and later-key-1234"); got != "*** and ***" {
		t.Errorf("%q", got)
	}
	if got := new(secrets.Redactor).Text("hunter2hunter2"); got != "hunter2hunter2" {
		t.Errorf("the zero redactor: %q", got)
	}
	r := &tool.Result{Title: "fine", Content: llm.Blocks{llm.Text{Text: "fine"}}}
	if s.Result(r) != r {
		t.Error("a result without secrets is another one")
	}
	r.Content = llm.Blocks{llm.Text{Text: "\x1b[1mlater-key-1234"}, llm.Image{MediaType: "image/png"}, llm.ToolUse{Name: "no content"}}
	r.Details = []byte(`{"key":"hunter2hunter2"}`)
	got := s.Result(r)
	if len(got.Content) != 2 || got.Content[0].(llm.Text).Text != "***" || string(got.Details) != `{"key":"***"}` {
		t.Errorf("%+v", got)
	}
	r.Content = llm.Blocks{llm.Document{MediaType: "text/plain", Title: "later-key-1234", Data: []byte("key: hunter2hunter2")}}
	if d, ok := s.Result(r).Content[0].(llm.Document); !ok || string(d.Data) != "key: ***" || d.Title != "***" {
		t.Errorf("a document: %+v", d)
	}
	r.Content = llm.Blocks{llm.Text{Text: "\x1b[1mlater-key-1234"}}
	s.Result(r)
	if r.Content[0].(llm.Text).Text != "\x1b[1mlater-key-1234" {
		t.Error("the result itself was changed")
	}
}
