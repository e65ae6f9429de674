// Minimal is the least program with eino: one tool, one prompt, the OpenAI client
// of eino-ext, asking the server at BASE_URL.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
)

type number struct {
	N int `json:"n" jsonschema:"required" jsonschema_description:"the number"`
}

func main() {
	ctx := context.Background()
	m, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: "none", BaseURL: os.Getenv("BASE_URL") + "/v1", Model: "gpt-5"})
	if err != nil {
		log.Fatal(err)
	}
	double, err := utils.InferTool("double", "Doubles a number.", func(_ context.Context, in *number) (string, error) {
		return strconv.Itoa(2 * in.N), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	c := &adk.ChatModelAgentConfig{Name: "agent", Description: "Doubles numbers.", Model: m}
	c.ToolsConfig = adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{double}}}
	a, err := adk.NewChatModelAgent(ctx, c)
	if err != nil {
		log.Fatal(err)
	}
	last := ""
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: a}).Query(ctx, "Double all numbers.")
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Err != nil {
			log.Fatal(e.Err)
		}
		if e.Output != nil && e.Output.MessageOutput != nil {
			last = e.Output.MessageOutput.Message.Content
		}
	}
	fmt.Println(last)
}
