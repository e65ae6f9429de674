package export_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/export"
)

// Markdown writes a conversation for people.
func ExampleMarkdown() {
	ctx := context.Background()
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("Paris.")), Sessions: store}
	s := a.Session("capitals")
	if _, err := s.Prompt(ctx, "What is the capital of France?"); err != nil {
		fmt.Println(err)
		return
	}
	s.Close()
	var page strings.Builder
	if err := export.Markdown(ctx, &page, store, "capitals", export.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	title, _, _ := strings.Cut(page.String(), "\n")
	fmt.Println(title)
	// Output:
	// # What is the capital of France?
}
