package llmtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
)

// RunContract checks that a model of any protocol keeps the contract of [llm.Model]: the
// order of deltas, their sum, errors and their classes, cancellation, leaving a stream, and
// concurrent requests. newModel returns a model whose nth request is answered by the nth
// step. Usually it starts a server of the protocol that plays the steps, and ends it with
// t.Cleanup.
//
//	llmtest.RunContract(t, func(t *testing.T, steps ...llmtest.Step) llm.Model {
//		server := httptest.NewServer(play(steps))
//		t.Cleanup(server.Close)
//		return newModel(server.URL)
//	})
//
// The server has to play these fields of a [Step]: Text, Calls, Usage and Stop; Err, an
// [*llm.APIError] whose Class and Message the model reports; Delay; and CutAfter, after
// that many pieces of the stream. For a client of the Messages API, Chat Completions or
// Responses, [RunModelTests] checks more.
func RunContract[T interface {
	tb
	Run(name string, f func(T)) bool
}](t T, newModel func(t T, steps ...Step) llm.Model) {
	for _, c := range []struct {
		name string
		test func(*contract)
	}{
		{"text", contractText},
		{"blocking", contractBlocking},
		{"calls", contractCalls},
		{"empty answer", contractEmpty},
		{"errors", contractErrors},
		{"broken stream", contractBroken},
		{"cancel", contractCancel},
		{"leave the stream", contractLeave},
		{"concurrent requests", contractConcurrent},
	} {
		t.Run(c.name, func(t T) {
			t.Helper()
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel)
			c.test(&contract{suite: &suite{tb: t, ctx: ctx}, open: func(steps ...Step) llm.Model { return newModel(t, steps...) }})
		})
	}
}

// A contract is one test that models of every protocol must pass.
type contract struct {
	*suite
	open func(steps ...Step) llm.Model
}

// begin opens a model for the steps.
func (c *contract) begin(steps ...Step) {
	c.Helper()
	if c.model = c.open(steps...); c.model == nil {
		c.Fatalf("newModel returned no model")
	}
}

func contractText(c *contract) {
	c.begin(Step{Text: motley, Usage: llm.Usage{Input: 7, Output: 3}})
	if strings.TrimSpace(c.model.Name()) == "" {
		c.Errorf("the model has no name")
	}
	h := c.mustListen(ask("Tell me."))
	if h.text != motley || h.done.Stop != llm.EndTurn {
		c.Errorf("got %q, stop %q", h.text, h.done.Stop)
	}
	if u := h.done.Usage; u.Input != 7 || u.Output != 3 {
		c.Errorf("got usage %+v", u)
	}
}

func contractBlocking(c *contract) {
	c.begin(Say(motley))
	req := ask("Tell me.")
	req.Blocking = true
	if got, err := llm.Collect(c.ctx, c.model, req); err != nil || got.Message.Text() != motley {
		c.Errorf("got %+v, %v", got, err)
	}
}

func contractCalls(c *contract) {
	c.begin(Call(Use("x1", "add", strictapi.Object{"a": 1, "b": 2}), Use("x2", "add", strictapi.Object{"note": motley})), Say("done"))
	req := ask("Add twice.", addTool)
	h := c.mustListen(req)
	uses := h.done.Message.ToolUses()
	if len(uses) != 2 || h.done.Stop != llm.UseTools {
		c.Fatalf("got %+v, stop %q", h.done.Message, h.done.Stop)
	}
	answer := llm.Message{Role: llm.User}
	for i, want := range []string{`{"a":1,"b":2}`, `{"note":` + text.QuoteJSON(motley) + `}`} {
		if uses[i].Name != "add" || uses[i].ID == "" || !sameJSON(string(uses[i].Input), want) {
			c.Errorf("call %d is %+v, want the input %s", i, uses[i], want)
		}
		answer.Content = append(answer.Content, llm.ToolResult{ID: uses[i].ID, Content: llm.Blocks{llm.Text{Text: "3"}}})
	}
	if uses[0].ID == uses[1].ID {
		c.Errorf("two calls have the id %s", uses[0].ID)
	}
	req.Messages = append(req.Messages, h.done.Message, answer)
	if h := c.mustListen(req); h.text != "done" {
		c.Errorf("after the results: %q", h.text)
	}
}

func contractEmpty(c *contract) {
	c.begin(Step{})
	if h := c.mustListen(ask("Say nothing.")); h.text != "" || len(h.done.Message.ToolUses()) != 0 || h.done.Stop != llm.EndTurn {
		c.Errorf("got %+v", h.done)
	}
}

func contractErrors(c *contract) {
	for _, class := range []llm.Class{llm.RateLimit, llm.Overloaded, llm.ServerError, llm.Auth, llm.Forbidden, llm.Invalid} {
		c.begin(Fail(&llm.APIError{Class: class, Message: "the words of the provider", RetryAfter: -1}))
		e := c.mustFail(ask("Go on."))
		if e.Class != class {
			c.Errorf("class %s became %q: %v", class, e.Class, e)
		}
		if words := "the words of the provider"; !strings.Contains(e.Error(), words) {
			c.Errorf("the error of class %s says %q, and not the Message of the step's Err: %q", class, e.Error(), words)
		}
	}
}

func contractBroken(c *contract) {
	step := Say(motley)
	step.CutAfter = 2
	c.begin(step)
	if e := c.mustFail(ask("Go on.")); !e.Retryable() {
		c.Errorf("a broken stream gave %v, which is not retryable", e)
	}
}

func contractCancel(c *contract) {
	c.begin(Step{Text: "late", Delay: time.Hour})
	ctx, cancel := context.WithTimeout(c.ctx, 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := c.listen(ctx, ask("Hello.")); !errors.Is(err, context.DeadlineExceeded) {
		c.Errorf("got %v, want the error of the context", err)
	}
	if late := time.Since(begin); late > 5*time.Second {
		c.Errorf("the stream ended %v after its context", late)
	}
}

func contractLeave(c *contract) {
	c.begin(Say(motley), Say("again"))
	for _, err := range c.model.Stream(c.ctx, ask("Hello.")) {
		if err != nil {
			c.Fatalf("the stream failed: %v", err)
		}
		break
	}
	if h := c.mustListen(ask("Hello again.")); h.text != "again" {
		c.Errorf("after leaving a stream: %q", h.text)
	}
}

func contractConcurrent(c *contract) {
	const requests = 8
	var steps []Step
	for range requests {
		steps = append(steps, Say("ok"))
	}
	c.begin(steps...)
	var wg sync.WaitGroup
	for range requests {
		wg.Go(func() {
			got, err := llm.Collect(c.ctx, c.model, ask("Hello."))
			if err != nil || got.Message.Text() != "ok" {
				c.Errorf("got %+v, %v", got, err)
			}
		})
	}
	wg.Wait()
}
