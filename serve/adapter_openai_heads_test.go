package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// Callers without a name whose first words are the same do not share a session if their instructions
// differ. Named ones may change their instructions.
func TestOpenAIInstructions(t *testing.T) {
	m := llmtest.Script(llmtest.Say("A"), llmtest.Say("A"), llmtest.Say("B"), llmtest.Say("C"), llmtest.Say("A"), llmtest.Say("D"))
	s := newSite(t, agent.Agent{Model: m})
	system := func(text string) string { return `{"role":"system","content":"` + text + `"},` }
	const first, past = `{"role":"user","content":"1"}`, `{"role":"user","content":"1"},{"role":"assistant","content":"A"},{"role":"user","content":"2"}`
	_, ada := s.chat(`{"messages":[` + system("I am Ada.") + first + `]}`)
	_, bob := s.chat(`{"messages":[` + system("I am Bob.") + first + `]}`)
	if _, again := s.chat(`{"messages":[` + system("I am Ada.") + past + `]}`); again != ada || strings.Contains(m.Requests()[2].Transcript(), "Bob") {
		t.Errorf("the caller does not continue its session: %s", m.Requests()[2].Transcript())
	}
	_, eve := s.chat(`{"messages":[` + system("I am Eve.") + past + `]}`)
	if got := m.Requests()[3].Transcript(); eve == ada || eve == bob || strings.Contains(got, "Ada") || strings.Contains(got, "Bob") || !strings.Contains(got, "took place elsewhere") {
		t.Errorf("another caller gets: %s", got)
	}
	_, named := s.chat(`{"user":"x","messages":[` + system("Monday.") + first + `]}`)
	if _, next := s.chat(`{"user":"x","messages":[` + system("Tuesday.") + past + `]}`); next != named || !strings.Contains(m.Requests()[5].Transcript(), "Tuesday.") {
		t.Error("new instructions begin another session of a named person")
	}
}

// No two conversations have the same id, whatever their texts are.
func TestChatKey(t *testing.T) {
	image := func(data string) llm.Block { return llm.Image{MediaType: "image/png", Data: []byte(data)} }
	seen := map[chatID]int{}
	for i, id := range []chatID{
		chatKey("", []string{"a\x00", "", ""}, nil),
		chatKey("", []string{"a", "\x00", ""}, nil),
		chatKey("", []string{"a", "", "\x00"}, nil),
		chatKey("a", []string{"", "", ""}, nil),
		chatKey("", []string{"user", "x", ""}, nil),
		chatKey("", []string{"", "", ""}, []turn{{role: "user", text: "x"}}),
		chatKey("", []string{""}, []turn{{role: "user", text: "x"}}),
		chatKey("", nil, []turn{{role: "user", text: "x", blocks: []llm.Block{image("user"), image("y")}}}),
		chatKey("", nil, []turn{{role: "user", text: "x", blocks: []llm.Block{image("user")}}, {role: "y"}}),
		chatKey("", nil, []turn{{role: "user", text: "x"}, {role: "user", text: "y"}}),
		chatKey("", nil, []turn{{role: "user", text: "x", blocks: []llm.Block{llm.Document{MediaType: "image/png", Data: []byte("user")}}}, {role: "y"}}),
	} {
		if before, there := seen[id]; there {
			t.Errorf("%d and %d have the same id", before, i)
		}
		seen[id] = i
	}
}

// together is a model whose calls wait for each other after the first one.
type together struct {
	mu    sync.Mutex
	calls []string
	all   chan struct{}
	once  sync.Once
}

func (*together) Name() string { return "together" }

func (m *together) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	m.mu.Lock()
	m.calls = append(m.calls, (&llmtest.Request{Request: *r}).Transcript())
	n := len(m.calls)
	m.mu.Unlock()
	if n > 8 {
		m.open()
	}
	if n > 1 {
		<-m.all
	}
	return llmtest.Script(llmtest.Say("A")).Stream(context.Background(), r)
}

func (m *together) open() { m.once.Do(func() { close(m.all) }) }

// Clients that continue the same conversation at once all get an answer. None sees what another says.
func TestOpenAITogether(t *testing.T) {
	m := &together{all: make(chan struct{})}
	s := newSite(t, agent.Agent{Model: m})
	_, first := s.chat(`{"messages":[{"role":"user","content":"1"}]}`)
	var wait sync.WaitGroup
	sessions := make([]string, 8)
	for i := range sessions {
		wait.Go(func() {
			res, err := http.DefaultClient.Do(s.request("POST", "/openai/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"A"},{"role":"user","content":"client %d"}]}`, i)))
			if err != nil {
				t.Error(err)
				m.open()
				return
			}
			defer res.Body.Close()
			if body, _ := io.ReadAll(res.Body); res.StatusCode != 200 {
				t.Errorf("client %d: %d %s", i, res.StatusCode, body)
				m.open()
			}
			sessions[i] = res.Header.Get("X-Session-Id")
		})
	}
	wait.Wait()
	continued := 0
	for i, id := range sessions {
		if id == first {
			continued++
		}
		for _, other := range sessions[:i] {
			if id == other {
				t.Errorf("two clients have the session %s", id)
			}
		}
	}
	if continued != 1 {
		t.Errorf("%d clients have the first session", continued)
	}
	for _, call := range m.calls[1:] {
		if strings.Count(call, "client ") != 1 || strings.Contains(call, "took place elsewhere") {
			t.Errorf("a client's request: %s", call)
		}
	}
}

// If another program has the session of a conversation, a fork of it continues. A session that the
// client names stays busy, and one that was deleted is replaced by a new one.
func TestOpenAIBusy(t *testing.T) {
	m := llmtest.Script(llmtest.Say("A"), llmtest.Say("B"), llmtest.Say("C"))
	s := newSite(t, agent.Agent{Model: m})
	held := s.agent.Session("held")
	if _, err := held.Prompt(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	last, err := session.Last(t.Context(), s.store, "held", 1, func(typ string) bool { return typ == "run_end" })
	if err != nil || len(last) != 1 {
		t.Fatal(last, err)
	}
	s.server.heads.put(idOf(t, `{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"A"}]}`), head{session: "held", fact: last[0].Seq})
	const past = `{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"A"},{"role":"user","content":"2"}]}`
	if _, id := s.chat(past); id == "held" || strings.Contains(m.Requests()[1].Transcript(), "took place elsewhere") || !strings.Contains(m.Requests()[1].Transcript(), "1") {
		t.Errorf("no fork: %s", m.Requests()[1].Transcript())
	}
	r := s.request("POST", "/openai/v1/chat/completions", past)
	r.Header.Set("X-Session-Id", "held")
	if status, body, _ := s.answer(r); status != 409 {
		t.Errorf("%d %s", status, body)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	s.do("DELETE", "/v1/sessions/held", "", 200, nil)
	if _, id := s.chat(past); id == "held" || !strings.Contains(m.Requests()[2].Transcript(), "took place elsewhere") {
		t.Errorf("no new session: %s", m.Requests()[2].Transcript())
	}
}

// idOf returns the id of the conversation of a request that names nobody.
func idOf(t *testing.T, request string) chatID {
	t.Helper()
	var r chatRequest
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		t.Fatal(err)
	}
	turns, system, err := r.turns()
	if err != nil {
		t.Fatal(err)
	}
	return chatKey("", personOf(&r, "", sha256.Sum256([]byte(system))), turns)
}
