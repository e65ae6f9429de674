package a2aagent_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/openagent-go/agent"
	a2aagent "github.com/openagent-go/agent/a2a"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
)

// An agent that greets, and a client that finds it by its card.
func Example() {
	ctx := context.Background()
	const token = "a-secret-of-at-least-32-characters"
	store := session.Memory()
	greeter := &agent.Agent{Model: llmtest.Script(llmtest.Say("Hello, Ann!"))}
	s := &serve.Server{
		Token:    token,
		Sessions: func(string) session.Store { return store },
		Agent:    func(context.Context, serve.Place) (*agent.Agent, error) { return greeter, nil },
	}
	defer s.Shutdown(ctx)
	h := httptest.NewServer(&a2aagent.Handler{Server: s, PublicCard: true, Card: a2a.AgentCard{
		Name:        "Greeter",
		Description: "Greets people.",
		Skills:      []a2a.AgentSkill{{ID: "greet", Name: "Greet", Description: "Greets a person by name.", Tags: []string{"people"}}},
	}})
	defer h.Close()

	web := &http.Client{Transport: bearer{token}}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	card, err := agentcard.NewResolver(http.DefaultClient).Resolve(ctx, h.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithJSONRPCTransport(web))
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("I am Ann."))})
	if err != nil {
		fmt.Println(err)
		return
	}
	task := res.(*a2a.Task)
	fmt.Println(card.Name, task.Status.State, task.Artifacts[0].Parts[0].Text())
	// Output: Greeter TASK_STATE_COMPLETED Hello, Ann!
}

// bearer sends requests with a token.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}
