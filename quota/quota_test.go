package quota_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/quotatest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/quota"
)

func stores(t *testing.T) map[string]quota.Store {
	return map[string]quota.Store{"memory": quota.Memory(), "dir": quota.Dir(t.TempDir())}
}

func TestStore(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		quotatest.Run(t, 4, 400, func(*testing.T) func() quota.Store {
			s := quota.Memory()
			return func() quota.Store { return s }
		})
	})
	t.Run("dir", func(t *testing.T) {
		quotatest.Run(t, 4, 40, func(t *testing.T) func() quota.Store { // each round syncs files
			path := t.TempDir()
			return func() quota.Store { return quota.Dir(path) }
		})
	})
}

func priced(rule func(*llmtest.Request, int) llmtest.Step) *llmtest.Model {
	return &llmtest.Model{Facts: llm.Info{Price: &llm.Price{Input: 3, Output: 15}}, Rule: rule}
}

func answers(r *llmtest.Request, _ int) llmtest.Step {
	return llmtest.Step{Text: "an answer", Usage: llm.Usage{Input: 10, Output: min(r.MaxTokens, 1200)}} // at most $0.01803
}

// Prompts of several sessions use up an account. The last of them ends as max_budget, with a
// warning before.
func TestAccount(t *testing.T) {
	for name, s := range stores(t) {
		day := "monday"
		account := &quota.Account{Store: s, Key: "ada", Period: func(time.Time) string { return day }, USD: 0.1}
		tenant := &quota.Account{Store: s, Key: "tenant", USD: 10}
		a := &agent.Agent{Model: priced(answers), Quota: quota.Accounts{account, tenant}}
		var last error
		warnings, prompts := 0, 0
		for last == nil && prompts < 10 {
			for e, err := range a.Stream(t.Context(), "go") {
				if last = err; err != nil {
					break
				}
				if w, ok := e.Data.(event.BudgetWarning); ok {
					if warnings++; w.Account != "ada" || w.LimitUSD != 0.1 || w.SpentUSD < 0.08 {
						t.Errorf("got %+v", w)
					}
				}
			}
			prompts++
		}
		var end *agent.EndError
		if !errors.As(last, &end) || end.Reason != event.MaxBudget || !errors.Is(last, quota.ErrExhausted) || !errors.Is(last, agent.ErrLimit) || !strings.Contains(last.Error(), `"ada" has spent $`) {
			t.Errorf("%s: got %v", name, last)
		}
		b, err := account.Balance(t.Context())
		if whole, _ := tenant.Balance(t.Context()); err != nil || b.Reserved != 0 || b.Spent > 0.1 || b.Spent < 0.07 || whole.Spent != b.Spent || warnings != 1 {
			t.Errorf("%s: got %+v and %+v, %v, after %d warnings", name, b, whole, err, warnings)
		}
		day = "tuesday"
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Errorf("%s: the next day: %v", name, err)
		}
	}
}

// A stream that breaks off costs its input and what was streamed, by estimate.
func TestBrokenCall(t *testing.T) {
	account := &quota.Account{Store: quota.Memory(), Key: "ada", USD: 0.2}
	a := &agent.Agent{Quota: account, Retry: &agent.Retry{Base: time.Millisecond}, Model: priced(func(r *llmtest.Request, n int) llmtest.Step {
		if n < 2 {
			return llmtest.Step{Text: "half an answer", CutAfter: 2}
		}
		return answers(r, n)
	})}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if b, err := account.Balance(t.Context()); err != nil || b.Reserved != 0 || b.Spent <= 0.018 || b.Spent > 0.0185 {
		t.Errorf("got %+v, %v", b, err)
	}
}

// TestMain lets the test be another process that works on an account until it is killed.
func TestMain(m *testing.M) {
	dir := os.Getenv("QUOTA_DIR")
	switch {
	case dir == "":
		os.Exit(m.Run())
	case os.Getenv("QUOTA_SESSIONS") != "":
		hangInSession(dir, os.Getenv("QUOTA_SESSIONS"), os.Getenv("QUOTA_PLACE"))
	}
	hang, _ := strconv.Atoi(os.Getenv("QUOTA_HANG"))
	account := &quota.Account{Store: quota.Dir(dir), Key: "ada", USD: 0.5, Expiry: time.Second}
	for n := 0; ; n++ {
		step := llmtest.Step{Text: "an answer", Usage: llm.Usage{Input: 10, Output: 500}}
		if n == hang {
			step.Stall, step.StallAfter = time.Hour, 1
			os.Stdout.WriteString("hangs\n")
		}
		a := &agent.Agent{MaxTokens: 1000, Quota: account, Model: priced(func(*llmtest.Request, int) llmtest.Step { return step })}
		if _, err := a.Prompt(context.Background(), "go"); err != nil {
			if !errors.Is(err, quota.ErrExhausted) {
				os.Stderr.WriteString(err.Error())
				os.Exit(2)
			}
			os.Exit(0)
		}
	}
}

// Processes never exceed an account together. The reservation of one that is killed during a
// call expires.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	program := func(hang int) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "QUOTA_DIR="+dir, "QUOTA_HANG="+strconv.Itoa(hang))
		cmd.Stderr = os.Stderr
		return cmd
	}
	killed := program(3)
	out, err := killed.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Error(err)
	}
	account := &quota.Account{Store: quota.Dir(dir), Key: "ada", USD: 0.5}
	for b := (quota.Balance{}); b.Reserved == 0; { // its call is under way
		if b, err = account.Balance(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()
	if b, err := account.Balance(t.Context()); err != nil || b.Reserved < 0.014 {
		t.Errorf("the killed process left %+v, %v", b, err)
	}
	var others []*exec.Cmd
	for range 3 {
		cmd := program(-1)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		others = append(others, cmd)
	}
	for _, cmd := range others {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(time.Second) // until the reservation expires
	b, err := account.Balance(t.Context())
	if err != nil || b.Reserved != 0 || b.Spent > 0.5 || b.Spent < 0.46 {
		t.Errorf("got %+v, %v", b, err)
	}
}
