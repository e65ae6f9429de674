package serve

import (
	"context"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// An answer whose run may not be continued now is not taken: sent again later, it continues the run.
func TestAnswerAtLimitOfRuns(t *testing.T) {
	store := session.Dir(t.TempDir())
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("written"), nil })
	model := llmtest.Script(llmtest.Call(llmtest.Use("", "write", struct{}{})), llmtest.Say("done"))
	asks := agent.Agent{Model: model, Tools: []tool.Tool{write}, Sessions: store}
	old := newSite(t, asks)
	old.do("POST", "/v1/sessions", `{"session":"asks","text":"write"}`, 201, nil)
	r := old.open("asks", 0)
	r.until(t, func(got received) bool { return strings.Contains(got.data, "permission_request") })
	r.close()
	old.close()

	g := gated{make(chan string)}
	s := newSite(t, asks, func(s *Server) {
		s.UserRuns = 1
		s.Agent = func(_ context.Context, at Place) (*agent.Agent, error) {
			if at.ID == "works" {
				return &agent.Agent{Model: g, Sessions: store}, nil
			}
			return &asks, nil
		}
	})
	s.do("POST", "/v1/sessions", `{"session":"works","text":"go"}`, 201, nil)
	var list questionList
	if s.do("GET", "/v1/sessions/asks/pending", "", 200, &list); len(list.Questions) != 1 {
		t.Fatalf("%+v", list)
	}
	decide := "/v1/sessions/asks/calls/" + list.Questions[0].Call + "/decision"
	s.fails("POST", decide, `{"behavior":"allow"}`, 429, "too_many_runs")
	r = s.open("works", 0)
	g.pieces <- ""
	r.until(t, isType("run_end"))
	r.close()
	r = s.open("asks", 0)
	defer r.close()
	for {
		status, body, _ := s.answer(s.request("POST", decide, `{"behavior":"allow"}`))
		if status == 200 {
			break
		}
		if status != 429 { // the run is closed a moment after its end
			t.Fatal(status, body)
		}
	}
	r.until(t, isType("run_end"))
}
