// Local-model runs agents without a key on a local host that speaks OpenAI's Chat Completions API.
// The first model can call tools. The second cannot, so its tools are written into the prompt.
//
// The host here is a stand-in that follows Ollama's rules. Set OLLAMA_MODEL=qwen3:8b to use a real
// Ollama at OLLAMA_HOST (default http://localhost:11434/v1).
//
// Run it with: go run ./examples/32-local-model
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/prompttools"
	"github.com/openagent-go/agent/tool"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	client := &openai.Client{Profile: &openai.Profile{Like: "ollama"}, BaseURL: os.Getenv("OLLAMA_HOST")}
	name := os.Getenv("OLLAMA_MODEL")
	if name == "" {
		name = "qwen3:8b"
		host := &llmtest.Server{Host: "ollama", Keyless: true, Rule: standIn}
		if err := host.Listen(); err != nil {
			return err
		}
		defer host.Close()
		client.BaseURL = host.URL + "/v1"
	}
	stock := tool.Func(tool.Spec{Name: "stock", Description: "How many of an article there are.", ReadOnly: true},
		func(_ context.Context, in struct {
			Article string `json:"article"`
		}) (string, error) {
			return fmt.Sprintf("There are %d of %s.", len(in.Article), in.Article), nil
		})
	for _, model := range []llm.Model{client.Model(name), prompttools.Wrap(client.Model(name))} {
		a := &agent.Agent{Model: model, Tools: []tool.Tool{stock}, Thinking: llm.Thought{Mode: llm.ThinkOff}}
		res, err := a.Prompt(ctx, "How many bolts are there?")
		if err != nil {
			return err
		}
		fmt.Fprintln(out, res.Text)
	}
	return nil
}

// standIn calls the tool, in the way that it is told of it, and then reports.
func standIn(r *llmtest.Request, _ int) llmtest.Step {
	_, fence, told := strings.Cut(r.System, "```tool_call_")
	fence, _, _ = strings.Cut(fence, " ")
	results := r.Results()
	switch {
	case len(results) > 0:
		return llmtest.Say("With a tool of its own: " + results[0].Text)
	case strings.Contains(r.Prompt(), "<tool_result>"):
		_, text, _ := strings.Cut(r.Prompt(), "<tool_result>\n")
		text, _, _ = strings.Cut(text, "\n</tool_result>")
		return llmtest.Say("With a tool in the prompt: " + text)
	case told:
		return llmtest.Say("```tool_call_" + fence + " stock\n{\"article\": \"bolts\"}\n```")
	}
	return llmtest.Call(llmtest.Use("", "stock", map[string]string{"article": "bolts"}))
}
