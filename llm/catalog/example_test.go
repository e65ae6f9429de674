package catalog_test

import (
	"fmt"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// A table knows the built-in models, and those that you register.
func ExampleTable() {
	var table catalog.Table
	err := table.Register(catalog.Entry{
		Name: "llama-finance", Provider: "openai", Window: 32_768,
		Price: &llm.Price{Input: 0.20, Output: 0.80}, // USD for a million tokens
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, ok := table.Lookup("openai", "llama-finance")
	fmt.Println(ok, e.Window, e.Price.Cost(llm.Usage{Input: 1_000_000, Output: 500_000}))
	_, ok = table.Lookup("anthropic", "claude-sonnet-4-6")
	fmt.Println(ok)
	// Output:
	// true 32768 0.6
	// true
}
