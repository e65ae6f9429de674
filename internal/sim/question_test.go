package sim

import (
	"context"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/tool"
)

// quiz is a tool that asks a person.
func (w *world) quiz(l *life, a *agent.Agent) {
	a.Tools = append(a.Tools, w.newTool(l, class{spec: tool.Spec{Name: "quiz", ReadOnly: true}, behave: func(context.Context, *world, tool.Call, work) (*tool.Result, error) {
		w.meet("question of a tool")
		return &tool.Result{Content: tool.Text("nobody has answered").Content, Questions: []tool.Question{{Text: "Which?", Options: []tool.Option{{Label: "red"}, {Label: "blue"}}}}}, nil
	}}))
	a.AskUser = func(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
		select {
		case <-time.After(w.pause(20*time.Millisecond, "quiz", call.Session, call.ID, l.n)):
		case <-ctx.Done():
			return nil, w.cancelled(ctx, call.Session, call.ID)
		}
		if w.number("quiz", call.ID, l.n)%2 == 0 {
			return nil, agent.ErrSuspended
		}
		return red(len(questions)), nil
	}
}

func red(n int) (answers []tool.Answer) {
	for range n {
		answers = append(answers, tool.Answer{Options: []string{"red"}})
	}
	return answers
}
