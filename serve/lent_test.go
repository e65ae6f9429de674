package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// lend serves a session that the test runs itself.
func lend(t *testing.T, a agent.Agent, change ...func(*Server)) (*site, *agent.Session) {
	t.Helper()
	s := newSite(t, a, change...)
	a.Sessions = s.store
	mine := a.Session("mine")
	s.server.Session, s.server.Agent = mine, nil
	t.Cleanup(func() {
		if err := mine.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, mine
}

// asking is an agent whose person at the terminal never answers.
func asking() agent.Agent {
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("written"), nil })
	return agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("It is done.")), Tools: []tool.Tool{write}, CanUseTool: askUsers}
}

// A program shows the session that it runs itself. A browser sees it before and during the run, and
// answers its question.
func TestLent(t *testing.T) {
	var mu sync.Mutex
	var watched []int
	var answered []string
	s, mine := lend(t, asking(), func(s *Server) {
		s.Watched = func(n int) { mu.Lock(); defer mu.Unlock(); watched = append(watched, n) }
		s.Answered = func(call, answer, by string) {
			mu.Lock()
			defer mu.Unlock()
			answered = append(answered, fmt.Sprintln(call != "", answer, by))
		}
	})
	if page := s.page("/s/mine"); !strings.Contains(page, "mine") {
		t.Errorf("before the first prompt: %s", page)
	}
	r := s.open("mine", 0)
	r.until(t, isNamed("state"))
	ended := make(chan error, 1)
	go func() {
		_, err := mine.Do(t.Context(), agent.Input{Text: "hello"})
		ended <- err
	}()
	asked := r.until(t, isType("permission_request"))
	call := asked[len(asked)-1].event.Data.(event.PermissionRequest).Call.ID
	if page := s.page("/s/mine"); !strings.Contains(page, "Allow once") {
		t.Errorf("the question is not on the page: %s", page)
	}
	s.fails("POST", "/v1/sessions/mine/messages", `{"text":"another prompt"}`, 409, "at_terminal")
	s.do("POST", "/v1/sessions/mine/calls/"+call+"/decision", `{"behavior":"allow"}`, 200, nil)
	s.fails("POST", "/v1/sessions/mine/calls/"+call+"/decision", `{"behavior":"deny"}`, 409, "answered")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r.until(t, isType("run_end"))
	r.close()
	second := s.open("mine", 0)
	second.until(t, isNamed("state"))
	second.close()
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(answered, []string{"true allow api\n"}) {
		t.Errorf("answered: %q", answered)
	}
	if len(watched) < 2 || watched[0] != 1 || slices.Max(watched) > 2 {
		t.Errorf("watched: %v", watched)
	}
}

// Such a server has nothing but the one session, and changes it only as far as its users may.
func TestLentServesNothingElse(t *testing.T) {
	s, mine := lend(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"), llmtest.Say("two"))}, sharesIn(""))
	if _, err := mine.Do(t.Context(), agent.Input{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	other := mine.Agent()
	if _, err := other.Session("other").Do(t.Context(), agent.Input{Text: "words of another session"}); err != nil {
		t.Fatal(err)
	}
	before := s.journal("mine")
	for _, at := range slices.Concat(routes, pageRoutes) {
		if at.open || strings.Contains(at.path, "/shares") {
			continue
		}
		for _, id := range []string{"mine", "other"} {
			path := strings.NewReplacer("{$}", "", "{id}", id, "{call}", "c1").Replace(at.path)
			r := s.request(at.method, path, "{}")
			status, body, _ := s.answer(r)
			if strings.Contains(body, "another session") || strings.Contains(body, `"other"`) {
				t.Errorf("%s %s shows another session: %d %s", at.method, path, status, body)
			}
			if status < 300 && (id == "other" && strings.Contains(at.path, "{id}") || at.method != "GET") {
				t.Errorf("%s %s: %d %s", at.method, path, status, body)
			}
		}
	}
	if now := s.journal("mine"); !slices.Equal(now, before) {
		t.Errorf("the journal changed: %v, it was %v", now, before)
	}
	if mode, err := mine.Mode(t.Context()); err != nil || mode == permission.Bypass {
		t.Error(mode, err)
	}
	s.fails("POST", "/v1/shares/preview", `{"session":"other"}`, 404, "not_found")
	made, _ := s.share(`{"session":"mine","live":true}`)
	if status, page, _ := s.strange("GET", made.Path); status != 200 || !strings.Contains(page, "hello") {
		t.Errorf("%d %s", status, page)
	}
}
