package agent_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// broken is a tool set that goes wrong when it is asked, the first time.
type broken struct {
	asked int
	how   func()
}

func (b *broken) Tools(context.Context) ([]tool.Tool, error) {
	if b.asked++; b.asked == 1 {
		b.how()
	}
	return nil, nil
}

// A panic before a run has begun becomes an error of the caller, who can continue.
func TestStartThatPanics(t *testing.T) {
	for name, how := range map[string]func(){"panic": func() { panic("no server") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			a := &agent.Agent{Model: llmtest.Script(say("hello")), Toolsets: []tool.Set{&broken{how: how}}}
			s := a.Session("")
			defer s.Close()
			_, err := s.Prompt(t.Context(), "go")
			if !errors.Is(err, agent.ErrInternal) || name == "panic" && !strings.Contains(err.Error(), "no server") {
				t.Errorf("error %v", err)
			}
			if res, err := s.Prompt(t.Context(), "go"); err != nil || res.Text != "hello" {
				t.Errorf("after that: %+v, %v", res, err)
			}
		})
	}
}
