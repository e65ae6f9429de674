package models_test

import (
	"fmt"
	"log"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/models"
)

// The program reads a model's name from its configuration. The key comes from the
// environment.
func ExampleOpen() {
	m, err := models.Open("anthropic/claude-sonnet-4-6")
	if err != nil {
		log.Print(err) // names the variable that is missing
		return
	}
	a := &agent.Agent{Model: m, Models: models.Open}
	_ = a
}

// A model of your own at a host of your own.
func ExampleSource() {
	var table catalog.Table
	if err := table.Register(catalog.Entry{Name: "house-model", Provider: "corp", Window: 64_000, Price: &llm.Price{Input: 0.5, Output: 2}}); err != nil {
		log.Fatal(err)
	}
	source := models.Source{
		BaseURLs: map[string]string{"corp": "https://llm.corp.example/v1"},
		Keys:     map[string]string{"corp": "secret"},
		Catalog:  &table,
	}
	m, err := source.Open("corp/house-model")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Name(), llm.InfoOf(m).Window)
	// Output: house-model 64000
}

func ExampleProviders() {
	for _, p := range models.Providers()[:3] {
		fmt.Println(p.Name, p.Keys)
	}
	// Output:
	// anthropic [ANTHROPIC_API_KEY]
	// openai [OPENAI_API_KEY]
	// openai-responses [OPENAI_API_KEY]
}
