//go:build unix

package coding_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/quota"
)

// otherQuota is a quota that this module does not know.
type otherQuota struct{}

func (otherQuota) Meter(m llm.Model) llm.Model { return m }

// The limit of a day holds beside the program's own quota. What is spent is shared by all
// agents with the same Home.
func TestDailyBudget(t *testing.T) {
	home(t)
	today := func() string { return time.Now().UTC().Format(time.DateOnly) }
	began := today()
	user := t.TempDir()
	if err := os.WriteFile(filepath.Join(user, "settings.json"), []byte(`{"daily_budget_usd": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	account := func() *quota.Account { return &quota.Account{Store: quota.Memory(), Key: "own", USD: 9} }
	first, second, third := account(), account(), account()
	for name, own := range map[string]agent.Quota{
		"none": nil, "account": first, "accounts": quota.Accounts{second},
		"by": quota.By(func(context.Context, string) quota.Accounts { return quota.Accounts{third} }), "by nobody": quota.By(nil),
	} {
		m := llmtest.Script(llmtest.Step{Text: "done", Usage: llm.Usage{Input: 10_000}})
		m.Facts = llm.Info{Price: &llm.Price{Input: 10, Output: 10}}
		c, err := coding.New(t.Context(), coding.Options{Dir: t.TempDir(), Home: user, Sandbox: coding.Off, Agent: agent.Agent{Model: m, Quota: own, MaxTokens: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Agent.Prompt(t.Context(), "go"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
	for _, a := range []*quota.Account{first, second, third} {
		if b, err := a.Balance(t.Context()); err != nil || b.Spent < 0.1 || b.Spent > 0.11 {
			t.Errorf("the program's own account: %+v, %v", b, err)
		}
	}
	day := &quota.Account{Store: quota.Dir(filepath.Join(user, "quotas")), Key: "user", Period: quota.Day, USD: 1}
	b, err := day.Balance(t.Context())
	if today() != began { // another account has begun
		t.Skip("the day ended during the test")
	}
	if err != nil || b.Spent < 0.5 || b.Spent > 0.51 {
		t.Errorf("the account of the day: %+v, %v", b, err)
	}
	_, err = coding.New(t.Context(), coding.Options{Dir: t.TempDir(), Home: user, Sandbox: coding.Off, Agent: agent.Agent{Model: llmtest.Script(), Quota: otherQuota{}}})
	if bad := (*coding.OptionError)(nil); !errors.As(err, &bad) || bad.Option != "Agent.Quota" {
		t.Errorf("a quota of another kind: %v", err)
	}
}
