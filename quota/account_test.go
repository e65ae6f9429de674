package quota_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/tool"
)

// slow answers after a moment, and holds its reservation meanwhile.
func slow(*llmtest.Request, int) llmtest.Step {
	return llmtest.Step{Text: "an answer", Delay: 20 * time.Millisecond, Usage: llm.Usage{Input: 10, Output: 10}}
}

// Calls that fit apart from the reservations of others wait for their end.
func TestWait(t *testing.T) {
	for name, s := range stores(t) {
		account := &quota.Account{Store: s, Key: "tenant/x", USD: 0.02}
		a := &agent.Agent{Model: priced(slow), MaxTokens: 1000, Quota: account}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := a.Prompt(t.Context(), "go"); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
		if b, err := account.Balance(t.Context()); err != nil || b.Reserved != 0 || math.Abs(b.Spent-10*0.00018) > 1e-9 {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

// The wait is bounded by Account.Wait and the context. A call that does not fit what is
// spent does not wait. The error has the amounts.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := quota.Memory()
		account := &quota.Account{Store: store, Key: "ada", USD: 1, Wait: time.Minute}
		other := quota.Reservation{Book: "ada", ID: "other", Least: 1, Most: 1, Limit: 1, Expires: time.Now().Add(time.Hour)}
		if b, err := store.Reserve(t.Context(), other); err != nil || b.Granted != 1 {
			t.Fatal(b, err)
		}
		a := &agent.Agent{Model: priced(answers), MaxTokens: 1000, Quota: account}
		start := time.Now()
		_, err := a.Prompt(t.Context(), "go")
		var full *quota.ExhaustedError
		if !errors.As(err, &full) || !errors.Is(err, quota.ErrExhausted) || full.Key != "ada" || full.ReservedUSD != 1 || full.SpentUSD != 0 || full.LimitUSD != 1 || full.NeededUSD < 0.003 || full.NeededUSD > 0.01 {
			t.Errorf("got %v, %+v", err, full)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it waited %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start = time.Now()
		if _, err := a.Prompt(ctx, "go"); errors.Is(err, quota.ErrExhausted) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if err := store.Settle(t.Context(), "ada", "other", 0.9999); err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		if _, err = a.Prompt(t.Context(), "go"); !errors.As(err, &full) || full.ReservedUSD != 0 || full.SpentUSD != 0.9999 || time.Since(start) != 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if !strings.Contains(err.Error(), `: max_budget: the quota is used up: the account "ada" has spent $0.9999 of $1, and the next call could cost $0.0`) {
			t.Errorf("got %v", err)
		}
	})
}

// A waiting call is made when a new period begins, and when a reservation expires.
func TestWaitForPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := quota.Memory()
		first := time.Now()
		account := &quota.Account{Store: store, Key: "ada", USD: 1, Period: func(now time.Time) string {
			if now.Sub(first) < time.Minute {
				return "first"
			}
			return "second"
		}}
		for book, expires := range map[string]time.Duration{"ada@first": time.Hour, "ada@second": 2 * time.Minute} {
			if b, err := store.Reserve(t.Context(), quota.Reservation{Book: book, ID: "other", Least: 1, Most: 1, Limit: 1, Expires: first.Add(expires)}); err != nil || b.Granted != 1 {
				t.Fatal(b, err)
			}
		}
		if _, err := (&agent.Agent{Model: priced(answers), Quota: account}).Prompt(t.Context(), "go"); err != nil || time.Since(first) > 121*time.Second {
			t.Errorf("got %v after %v", err, time.Since(first))
		}
		if b, err := account.Balance(t.Context()); err != nil || b.Spent == 0 {
			t.Errorf("got %+v, %v", b, err)
		}
	})
}

// A quota that cannot work is an error of the configuration. A nil account limits nothing.
func TestBadQuota(t *testing.T) {
	store := quota.Memory()
	by := func(a *quota.Account) quota.By {
		return func(context.Context, string) quota.Accounts { return quota.Accounts{a} }
	}
	good := &quota.Account{Store: store, Key: "ada", USD: 1}
	unpriced := llmtest.Script(llmtest.Say("hi"))
	unpriced.Facts = llm.Info{Window: 1000}
	broken := priced(answers)
	broken.Facts.Price = &llm.Price{Input: 1, Output: math.NaN()}
	for _, tt := range []struct {
		quota agent.Quota
		model llm.Model
		want  string
	}{
		{&quota.Account{Key: "ada", USD: 1}, nil, `the account "ada" has no Store`},
		{&quota.Account{Store: store, Key: "ada"}, nil, `the account "ada" has the limit $0; USD must be more than 0`},
		{&quota.Account{Store: store, Key: "ada", USD: -1}, nil, "the limit $-1;"},
		{&quota.Account{Store: store, Key: "ada", USD: math.NaN()}, nil, "the limit $NaN;"},
		{good, unpriced, "whose price is not known"},
		{good, broken, "whose price has the number NaN;"},
		{quota.Accounts{good, {Store: store, Key: "acme"}}, nil, `the account "acme" has the limit $0`},
		{quota.Accounts{{Key: "ada", USD: 1}, good}, nil, `the account "ada" has no Store`},
		{by(&quota.Account{Store: store, Key: "eve", USD: -2}), nil, "the limit $-2;"},
		{(*quota.Account)(nil), nil, ""},
		{quota.Accounts{nil, good}, nil, ""},
		{quota.By(nil), nil, ""},
		{by(nil), nil, ""},
		{quota.By(func(context.Context, string) quota.Accounts { return nil }), unpriced, ""},
	} {
		m := tt.model
		if m == nil {
			m = priced(answers)
		}
		s := (&agent.Agent{Model: m, Quota: tt.quota}).Session("")
		_, err := s.Prompt(t.Context(), "go")
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !errors.Is(err, agent.ErrConfig) || errors.Is(err, agent.ErrLimit) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%+v: got %v, want %q", tt.quota, err, tt.want)
		}
		if resumable, err := s.CanResume(t.Context()); err != nil || resumable {
			t.Errorf("%+v: a prompt is on record, %v", tt.quota, err)
		}
		s.Close()
	}
}

// An account for each session limits and warns each of them alone. Sub-agents pay by the
// session at the root.
func TestBy(t *testing.T) {
	accounts := map[string]*quota.Account{}
	for _, user := range []string{"ada", "eve"} {
		accounts[user] = &quota.Account{Store: quota.Memory(), Key: user, USD: 0.1}
	}
	var mu sync.Mutex
	var asked []string
	by := quota.By(func(_ context.Context, session string) quota.Accounts {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, session)
		user, _, _ := strings.Cut(session, ".")
		return quota.Accounts{accounts[user]}
	})
	helper := &agent.Agent{Name: "helper", Model: priced(answers)}
	main := priced(func(r *llmtest.Request, _ int) llmtest.Step {
		if len(r.Messages) == 1 {
			return llmtest.Call(llmtest.Use("", "delegate", nil))
		}
		return answers(r, 0)
	})
	a := &agent.Agent{Model: main, Quota: by, Tools: []tool.Tool{delegate(helper)}, Permissions: permission.Policy{Mode: permission.Bypass}}
	ada, eve := a.Session("ada.1"), a.Session("eve.1")
	defer ada.Close()
	defer eve.Close()
	if _, err := ada.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if b, _ := accounts["ada"].Balance(t.Context()); b.Reserved != 0 || b.Spent < 2*0.01803 || b.Spent > 0.037 { // both agents' answers
		t.Errorf("ada: %+v", b)
	}
	if b, _ := accounts["eve"].Balance(t.Context()); b != (quota.Balance{}) {
		t.Errorf("eve: %+v", b)
	}
	if _, err := eve.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if b, _ := accounts["eve"].Balance(t.Context()); b.Spent == 0 {
		t.Errorf("eve: %+v", b)
	}
	for _, session := range asked {
		if session != ada.ID && session != eve.ID {
			t.Errorf("asked for %q", session)
		}
	}
}

// The session whose call crosses the threshold is warned, at the end of that call, once.
func TestWarning(t *testing.T) {
	for name, s := range stores(t) {
		account := &quota.Account{Store: s, Key: "ada", USD: 0.1, WarnAt: 0.3}
		a := &agent.Agent{Model: priced(answers), Quota: account}
		for prompt, want := range []int{0, 1, 0} {
			got := 0
			for e, err := range a.Stream(t.Context(), "go") {
				if w, ok := e.Data.(event.BudgetWarning); ok {
					if got++; math.Abs(w.SpentUSD-2*0.01803) > 1e-9 {
						t.Errorf("%s: got %+v", name, w)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if got != want {
				t.Errorf("%s: prompt %d: %d warnings, want %d", name, prompt, got, want)
			}
		}
	}
}

// The error of a call that does not fit says what to do.
func TestExhaustedRemedies(t *testing.T) {
	for want, e := range map[string]quota.ExhaustedError{
		`the quota is used up: the account "ada" has spent $0.9 of $1, and the next call could cost $0.2; wait for the next period, raise the limit, or lower Agent.MaxTokens`:                                 {Key: "ada", SpentUSD: 0.9, LimitUSD: 1, NeededUSD: 0.2},
		`the quota is used up: the account "ada" has spent $0.5 of $1, other calls have reserved $0.4, and the next call could cost $0.2; try again when they have ended`:                                      {Key: "ada", SpentUSD: 0.5, LimitUSD: 1, ReservedUSD: 0.4, NeededUSD: 0.2},
		`the quota is used up: the account "ada" has spent $0.9 of $1, other calls have reserved $0.1, and the next call could cost $0.2; wait for the next period, raise the limit, or lower Agent.MaxTokens`: {Key: "ada", SpentUSD: 0.9, LimitUSD: 1, ReservedUSD: 0.1, NeededUSD: 0.2},
		`the quota is used up: the account "" has spent $0 of $1, and the next call could cost $2; raise the limit, or lower Agent.MaxTokens`:                                                                  {LimitUSD: 1, NeededUSD: 2},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
