package quota_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/quota"
)

func ExampleAccount() {
	model := &llmtest.Model{Facts: llm.Info{Price: &llm.Price{Input: 3, Output: 15}}, Rule: func(*llmtest.Request, int) llmtest.Step {
		return llmtest.Step{Text: "Done.", Usage: llm.Usage{Input: 100, Output: 600}}
	}}
	ada := &quota.Account{Store: quota.Memory(), Key: "user/ada", Period: quota.Day, USD: 0.02}
	a := &agent.Agent{Model: model, Quota: ada}
	for {
		res, err := a.Prompt(context.Background(), "Tidy up.")
		if errors.Is(err, quota.ErrExhausted) {
			fmt.Println("come back tomorrow:", res.Reason)
			break
		}
		fmt.Println(res.Text)
	}
	balance, _ := ada.Balance(context.Background())
	fmt.Printf("spent $%.4f\n", balance.Spent)
	// Output:
	// Done.
	// Done.
	// come back tomorrow: max_budget
	// spent $0.0186
}
