package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
)

func Example() {
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("Hello!"))}
	store := session.Memory()
	s := &serve.Server{
		Token:    "a-secret-of-at-least-32-characters",
		Sessions: func(string) session.Store { return store },
		Agent:    func(context.Context, serve.Place) (*agent.Agent, error) { return a, nil },
	}
	defer s.Shutdown(context.Background())
	h := httptest.NewServer(s)
	defer h.Close()

	r, _ := http.NewRequest("POST", h.URL+"/v1/sessions", strings.NewReader(`{"session":"chat","text":"Hi"}`))
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	res.Body.Close()
	fmt.Println(res.Status)
	// Output: 201 Created
}
