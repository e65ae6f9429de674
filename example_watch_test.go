package agent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// An observer joins a session later, with the number of the last fact that it knows.
func ExampleSession_Watch() {
	ctx := context.Background()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Step{Text: "Hello!"}), Sessions: session.Memory()}
	s := a.Session("chat-1")
	defer s.Close()
	if _, err := s.Prompt(ctx, "Hi."); err != nil {
		log.Fatal(err)
	}

	lastSeq := int64(1) // of an earlier Watch
	for e, err := range a.Session("chat-1").Watch(ctx, lastSeq) {
		if err != nil {
			log.Fatal(err)
		}
		switch d := e.Data.(type) {
		case event.UserMessage:
			fmt.Println("user:", d.Message.Text())
		case event.AssistantMessage:
			fmt.Println("agent:", d.Response.Message.Text())
		case event.RunEnd:
			fmt.Println("end:", d.Reason)
			return // no run is stopped by this
		}
	}
	// Output:
	// user: Hi.
	// agent: Hello!
	// end: completed
}

// A program follows all sessions of its agent.
func ExampleAgent_Watch() {
	ctx, cancel := context.WithCancel(context.Background())
	a := &agent.Agent{Model: llmtest.Script(llmtest.Step{Text: "Hello!"}), Sessions: session.Memory()}
	done := make(chan bool)
	go func() {
		defer close(done)
		for e, err := range a.Watch(ctx, agent.Feed{Types: []string{"run_end", "missed"}}) {
			if err != nil {
				return // ctx has ended
			}
			if d, ok := e.Data.(event.RunEnd); ok {
				log.Println(e.Session, d.Reason, d.Usage.Output)
			}
		}
	}()
	if _, err := a.Prompt(ctx, "Hi."); err != nil {
		log.Fatal(err)
	}
	cancel()
	<-done
	// Output:
}
