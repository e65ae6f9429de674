package responses

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// What is counted keeps to the rules of the end point, whatever the request asks for.
func TestCountTokens(t *testing.T) {
	s := llmtest.NewServer(t)
	m := (&Client{APIKey: "k", BaseURL: s.URL}).Model("gpt-5.4")
	half := 0.5
	req := &llm.Request{System: "be good", Temperature: &half, MaxTokens: 4000, Thinking: llm.Thought{Effort: "low"}, Session: "k",
		Tools:    []llm.Tool{{Name: "f", Description: strings.Repeat("does something ", 100)}},
		Messages: []llm.Message{llm.UserText("q")}, Format: []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}
	few, err := m.(llm.Counter).CountTokens(t.Context(), req)
	if err != nil || few < 300 || few > 700 {
		t.Fatalf("%d, %v", few, err)
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Text{Text: "a"}}}, llm.UserText(strings.Repeat("more ", 1000)))
	if more, err := m.(llm.Counter).CountTokens(t.Context(), req); err != nil || more < few+1000 {
		t.Errorf("%d after %d, %v", more, few, err)
	}
	var api *llm.APIError
	if _, err := m.(llm.Counter).CountTokens(t.Context(), &llm.Request{}); !errors.As(err, &api) || api.Class != llm.Invalid || api.Status != 0 {
		t.Errorf("without a message: %v", err)
	}
}

// A host that does not count is asked once, one that has counted goes on being asked.
func TestCountTokensMissing(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed} {
		asked := 0
		h := wiretest.Handler(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; r.URL.Path != "/responses/input_tokens" || r.URL.RawQuery != "api-version=1" {
				t.Errorf("asked %s", r.URL)
			}
			w.WriteHeader(status)
		})
		m := (&Client{APIKey: "k", BaseURL: h.URL + "?api-version=1"}).Model("m").(llm.Counter)
		for range 3 {
			if _, err := m.CountTokens(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("q")}}); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%d: %v", status, err)
			}
		}
		if asked != 1 {
			t.Errorf("%d: asked %d times", status, asked)
		}
	}
	asked := 0
	h := wiretest.Handler(t, func(w http.ResponseWriter, _ *http.Request) {
		switch asked++; asked {
		case 1:
			_, _ = w.Write([]byte(`{"object":"response.input_tokens","input_tokens":11}`))
		case 2:
			w.WriteHeader(http.StatusBadRequest)
		case 3:
			_, _ = w.Write([]byte(`{"input_tokens":"many"}`))
		default:
			_, _ = w.Write([]byte(`{"input_tokens":12}`))
		}
	})
	m := (&Client{APIKey: "k", BaseURL: h.URL}).Model("m").(llm.Counter)
	count := func() (int, error) {
		return m.CountTokens(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("q")}})
	}
	if n, err := count(); n != 11 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := count(); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a refusal of one that has counted: %v", err)
	}
	var api *llm.APIError
	if _, err := count(); !errors.As(err, &api) || api.Class != llmconst.Protocol {
		t.Errorf("no number: %v", err)
	}
	if n, err := count(); n != 12 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
