package session_test

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// Memory keeps sessions for as long as the program runs. Dir keeps them in files:
// session.Folder{Path: "/home/me/.myapp/sessions"}.
func ExampleMemory() {
	ctx := context.Background()
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("Restart the server.")), Sessions: store}
	s := a.Session("support-42")
	if _, err := s.Prompt(ctx, "The server is slow."); err != nil {
		fmt.Println(err)
		return
	}
	s.Close()

	for e, err := range store.Read(ctx, "support-42", 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Seq, event.Type(e.Data))
	}
	// Output:
	// 1 configured
	// 2 user_message
	// 3 model_start
	// 4 assistant_message
	// 5 run_end
}

// Search finds words in all sessions of a store.
func ExampleSearch() {
	ctx := context.Background()
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("Restart the server."), llmtest.Say("Paris.")), Sessions: store}
	for _, prompt := range []string{"The server is slow.", "What is the capital of France?"} {
		s := a.Session("") // a new session
		if _, err := s.Prompt(ctx, prompt); err != nil {
			fmt.Println(err)
			return
		}
		s.Close()
	}
	for hit, err := range session.Search(ctx, store, "SERVER", session.SearchOptions{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s\n", hit.Type, hit.Snippet)
	}
	// Output:
	// user_message: The server is slow.
	// assistant_message: Restart the server.
}
