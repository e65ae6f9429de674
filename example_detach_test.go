package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

func ExampleSession_Detach() {
	ctx := context.Background()
	a := &agent.Agent{
		Model:    llmtest.Script(llmtest.Step{Delay: time.Minute}, llmtest.Step{Text: "Paris."}),
		Sessions: session.Memory(), // session.Dir in a program that ends
	}
	old, ended := a.Session("ann"), make(chan error)
	go func() {
		_, err := old.Prompt(ctx, "What is the capital of France?")
		ended <- err
	}()
	time.Sleep(100 * time.Millisecond) // your program waits for SIGTERM here
	limit, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := old.Detach(limit); err != nil {
		log.Fatal(err)
	}
	fmt.Println("detached:", errors.Is(<-ended, agent.ErrDetached))

	next := a.Session("ann") // in the next life of the program
	defer next.Close()
	for e, err := range next.Resume(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if end, ok := e.Data.(event.RunEnd); ok {
			fmt.Println(end.Text)
		}
	}
	// Output:
	// detached: true
	// Paris.
}
