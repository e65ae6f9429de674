package agent_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// In these examples a script takes the place of the model. Your program has a model of
// a provider there, such as anthropic.Model("claude-sonnet-4-6").

// order is the input of the tool that the examples use.
type order struct {
	ID string `json:"id"`
}

// refund is a tool that changes something, so that a call needs permission.
func refund() tool.Tool {
	return tool.Func(tool.Spec{Name: "refund", Description: "Refund an order."},
		func(ctx context.Context, in order) (string, error) {
			return "refunded " + in.ID, nil
		})
}

// An agent answers a prompt with the help of a tool.
func ExampleAgent() {
	stock := tool.Func(tool.Spec{Name: "stock", Description: "Tell how many pieces are left.", ReadOnly: true},
		func(ctx context.Context, in struct {
			Item string `json:"item"`
		}) (string, error) {
			return "7 pieces of " + in.Item, nil
		})
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "stock", map[string]string{"item": "lamp"})),
			llmtest.Say("There are 7 lamps left.")),
		System: "You answer questions about the shop.",
		Tools:  []tool.Tool{stock},
		Budget: agent.Budget{Turns: 10, Time: time.Minute},
	}
	res, err := a.Prompt(context.Background(), "How many lamps are there?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	fmt.Println(res.Reason, "after", res.Turns, "turns")
	// Output:
	// There are 7 lamps left.
	// completed after 2 turns
}

// A stream shows the events of a run while they happen.
func ExampleAgent_Stream() {
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "refund", order{ID: "A7"})),
			llmtest.Say("Done.")),
		Tools:       []tool.Tool{refund()},
		Permissions: permission.Policy{Allow: []permission.Rule{"refund"}},
	}
	var text strings.Builder
	for e, err := range a.Stream(context.Background(), "Refund order A7.") {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch d := e.Data.(type) {
		case event.TextDelta: // a piece of the answer
			text.WriteString(d.Text)
		case event.ToolResult:
			fmt.Println("tool:", d.Result.Text())
		case event.RunEnd:
			fmt.Println("model:", text.String())
			fmt.Println("end:", d.Reason)
		}
	}
	// Output:
	// tool: refunded A7
	// model: Done.
	// end: completed
}

// You can run one tool without a model, under the same permissions and hooks.
func ExampleAgent_CallTool() {
	a := &agent.Agent{
		Model:       llmtest.Script(),
		Tools:       []tool.Tool{refund()},
		Permissions: permission.Policy{Allow: []permission.Rule{"refund"}},
	}
	res, err := a.CallTool(context.Background(), "refund", []byte(`{"id": "A7"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text())
	// Output:
	// refunded A7
}

// A hook sees every call before it runs, and may stop it.
func ExampleAgent_hooks() {
	guard := hook.Hook{On: hook.PreToolUse, Match: "refund", Func: func(ctx context.Context, in *hook.Input) (hook.Output, error) {
		if strings.Contains(string(in.Input), "A7") {
			return hook.Output{Permission: permission.Denied, Reason: "order A7 is under review"}, nil
		}
		return hook.Output{}, nil
	}}
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "refund", order{ID: "A7"})),
			llmtest.Reply(func(r *llm.Request) llm.Response { // repeats the result that it got
				result := r.Messages[len(r.Messages)-1].Content[0].(llm.ToolResult)
				return llm.Response{Message: llm.Message{Content: llm.Blocks{llm.Text{Text: "I could not: " + result.Content.Text()}}}}
			})),
		Tools:       []tool.Tool{refund()},
		Permissions: permission.Policy{Allow: []permission.Rule{"refund"}},
		Hooks:       []hook.Hook{guard},
	}
	res, err := a.Prompt(context.Background(), "Refund order A7.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output:
	// I could not: Permission denied: order A7 is under review
}

// A session keeps the conversation. The store decides where: session.Dir keeps files.
func ExampleSession() {
	ctx := context.Background()
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Say("Hello Ada."),
			llmtest.Reply(func(r *llm.Request) llm.Response {
				return llm.Response{Message: llm.Message{Content: llm.Blocks{llm.Text{Text: fmt.Sprintf("I have read %d messages.", len(r.Messages))}}}}
			})),
		Sessions: session.Memory(),
	}
	s := a.Session("support-42")
	defer s.Close()
	for _, prompt := range []string{"My name is Ada.", "How many messages did you read?"} {
		res, err := s.Prompt(ctx, prompt)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Text)
	}
	// Output:
	// Hello Ada.
	// I have read 3 messages.
}

// You can send further messages to a run. The model reads them before its next answer.
func ExampleSession_Steer() {
	ctx := context.Background()
	steered := make(chan struct{})
	slow := tool.Func(tool.Spec{Name: "search", Description: "Search the archive.", ReadOnly: true},
		func(ctx context.Context, in struct{}) (string, error) {
			<-steered
			return "nothing found", nil
		})
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "search", struct{}{})),
			llmtest.Say("I look at 2025 only.")),
		Tools: []tool.Tool{slow},
	}
	s := a.Session("")
	defer s.Close()
	for e, err := range s.Stream(ctx, "Search the archive.") {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch d := e.Data.(type) {
		case event.ToolStart:
			if _, err := s.Steer(ctx, agent.Input{Text: "Only look at 2025."}); err != nil {
				fmt.Println(err)
			}
			close(steered)
		case fact.Delivered:
			fmt.Println("the model reads the message")
		case event.RunEnd:
			fmt.Println(d.Text)
		}
	}
	// Output:
	// the model reads the message
	// I look at 2025 only.
}

// A question can wait. The run is suspended, and any process can answer and resume it.
func ExampleSession_Resume() {
	ctx := context.Background()
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "refund", order{ID: "A7"})),
			llmtest.Say("The order is refunded.")),
		Tools:    []tool.Tool{refund()},
		Sessions: session.Memory(), // session.Store, if another process is to answer
		CanUseTool: func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
			return permission.Defer(), nil
		},
	}
	s := a.Session("support-42")
	res, _ := s.Prompt(ctx, "Refund order A7.")
	fmt.Println(res.Reason)
	s.Close()

	a.CanUseTool = nil
	s = a.Session("support-42")
	defer s.Close()
	questions, err := s.Pending(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range questions {
		fmt.Println("may I call", q.Call.Name, string(q.Call.Input))
		if err := s.Decide(ctx, q.Call.ID, permission.Allow()); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, err := range s.Resume(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(s.Result().Text)
	// Output:
	// suspended
	// may I call refund {"id":"A7"}
	// The order is refunded.
}

// A fork is a copy of a conversation that goes its own way.
func ExampleSession_Fork() {
	ctx := context.Background()
	a := &agent.Agent{
		Model:    llmtest.Script(llmtest.Say("Two plans are possible."), llmtest.Say("Plan A costs 5."), llmtest.Say("Plan B costs 3.")),
		Sessions: session.Memory(),
	}
	original := a.Session("plans")
	defer original.Close()
	if _, err := original.Prompt(ctx, "Which plans are there?"); err != nil {
		fmt.Println(err)
		return
	}
	copied, err := original.Fork(ctx, 0) // 0: all of it
	if err != nil {
		fmt.Println(err)
		return
	}
	defer copied.Close()
	for _, x := range []struct {
		session *agent.Session
		prompt  string
	}{{original, "What does plan A cost?"}, {copied, "What does plan B cost?"}} {
		res, err := x.session.Prompt(ctx, x.prompt)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Text)
	}
	// Output:
	// Plan A costs 5.
	// Plan B costs 3.
}

// PromptAs holds the answer to the schema of a Go type.
func ExamplePromptAs() {
	type receipt struct {
		Shop  string  `json:"shop"`
		Total float64 `json:"total"`
	}
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(
		llmtest.Use("", "StructuredOutput", receipt{Shop: "Corner Bakery", Total: 7.8})))}
	r, _, err := agent.PromptAs[receipt](context.Background(), a, "CORNER BAKERY, rye bread 4.20, croissants 3.60")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.2f\n", r.Shop, r.Total)
	// Output:
	// Corner Bakery: 7.80
}

// A sub-agent does part of the work, and never more than its parent may do.
func ExampleAgent_subagents() {
	reviewer := &agent.Agent{
		Name:  "reviewer",
		Model: llmtest.Script(llmtest.Say("The change is fine.")),
	}
	a := &agent.Agent{
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "Agent", map[string]string{"subagent_type": "reviewer", "description": "Review", "prompt": "Review the change."})),
			llmtest.Say("The reviewer agrees.")),
		Tools: []tool.Tool{tools.Agent(&subagent.Manager{Agents: []*agent.Agent{reviewer}})},
	}
	for e, err := range a.Stream(context.Background(), "Have the change reviewed.") {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch d := e.Data.(type) {
		case event.AgentEnd:
			fmt.Println("reviewer:", d.Reason)
		case event.RunEnd:
			fmt.Println(d.Text)
		}
	}
	// Output:
	// reviewer: completed
	// The reviewer agrees.
}

func ExampleAgent_CheckTools() {
	a := &agent.Agent{
		Model:           llmtest.Script(),
		DisallowedTools: []string{"Bsah"},
		DeferredTools:   []string{"WebSaerch"},
	}
	warnings, err := a.CheckTools(context.Background())
	fmt.Println(err)
	fmt.Println(warnings)
	// Output:
	// agent: bad configuration: DisallowedTools: there is no tool "Bsah"; did you mean Bash?
	// [DeferredTools: there is no tool "WebSaerch"; did you mean WebSearch?]
}

// A prompt may narrow its agent. The next prompt has all of it again.
func ExampleInput() {
	a := &agent.Agent{
		Model: llmtest.Script(llmtest.Step{Text: "Two files."}),
		Tools: []tool.Tool{tool.Func(tool.Spec{Name: "list", ReadOnly: true}, func(context.Context, struct{}) (string, error) { return "a b", nil })},
	}
	res, err := a.Do(context.Background(), agent.Input{
		Text:   "How many files are there?",
		Tools:  []string{"list"},
		Mode:   permission.Plan,
		Budget: agent.Budget{USD: 0.10},
	})
	fmt.Println(res.Text, err)
	// Output: Two files. <nil>
}
