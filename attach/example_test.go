package attach_test

import (
	"fmt"

	"github.com/openagent-go/agent/attach"
	"github.com/openagent-go/agent/llm"
)

// Bytes makes content for a prompt: agent.Prompt(ctx, "What do I have to buy?", blocks...).
// The content decides about its kind, not the name.
func ExampleBytes() {
	blocks, err := attach.Bytes("notes.txt", []byte("Buy milk.\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range blocks {
		if d, ok := b.(llm.Document); ok {
			fmt.Println(d.Title, d.MediaType)
		}
	}
	// Output:
	// notes.txt text/plain
}
