package quota_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/parentrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// The places in a tree of agents where a call is made.
const (
	atPrompt = "prompt"
	atChild  = "child"
	atDigest = "digest"
	atResume = "resume" // of a prompt, so that it has broken off before
)

// treeOf returns an agent whose calls at a place do what hang says.
func treeOf(dir, sessions, place string, hang llmtest.Step) *agent.Agent {
	step := func(at string, usual llmtest.Step) llmtest.Step {
		if at == place || place == atResume && at == atPrompt {
			return hang
		}
		usual.Usage = llm.Usage{Input: 10, Output: 10}
		return usual
	}
	model := func(name string, rule func(*llmtest.Request, int) llmtest.Step) *llmtest.Model {
		m := priced(rule)
		m.ID = name
		return m
	}
	helper := &agent.Agent{Name: "helper", Model: model("helper", func(*llmtest.Request, int) llmtest.Step { return step(atChild, llmtest.Say("helped")) })}
	long := tool.Func(tool.Spec{Name: "long", ReadOnly: true}, func(context.Context, struct{}) (string, error) { return strings.Repeat("long ", 500), nil })
	return &agent.Agent{MaxTokens: 1900, Permissions: permission.Policy{Mode: permission.Bypass}, SummarizeOver: 1000, Sessions: session.Dir(sessions), Tools: []tool.Tool{long, delegate(helper)},
		SmallModel: model("small", func(*llmtest.Request, int) llmtest.Step { return step(atDigest, llmtest.Say("digest")) }),
		Model: model("main", func(r *llmtest.Request, _ int) llmtest.Step {
			switch {
			case len(r.Messages) > 1:
				return step("", llmtest.Say("done"))
			case place == atChild:
				return step("", llmtest.Call(llmtest.Use("", "delegate", nil)))
			case place == atDigest:
				return step("", llmtest.Call(llmtest.Use("", "long", nil)))
			}
			return step(atPrompt, llmtest.Say("done"))
		}),
		Quota: quota.By(func(_ context.Context, session string) quota.Accounts {
			return quota.Accounts{{Store: quota.Dir(dir), Key: session, Period: quota.Day, USD: 0.03, Wait: -1}}
		})}
}

// delegate returns a tool that runs an agent.
func delegate(to *agent.Agent) tool.Tool {
	return tool.New(tool.Spec{Name: "delegate", Idempotent: true}, func(ctx context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
		p, _ := parentrun.Of(ctx)
		res, err := p.Run(ctx, parentrun.Child{Agent: to, Call: call.ID, Input: agent.Input{Text: "help"}})
		if err != nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	})
}

// hangInSession makes a process that hangs in a call at a place.
func hangInSession(dir, sessions, place string) {
	a := treeOf(dir, sessions, place, llmtest.Step{Text: "late", Delay: time.Hour})
	s := a.Session("chat")
	if place == atResume {
		for range s.Resume(context.Background()) {
		}
		os.Exit(3)
	}
	_, err := s.Prompt(context.Background(), "go")
	fmt.Fprintln(os.Stderr, "not killed:", err)
	os.Exit(2)
}

// kill starts a process that hangs in a call at a place, and kills it during the call.
func kill(t *testing.T, account *quota.Account, dir, sessions, place string) {
	t.Helper()
	before, err := account.Balance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "QUOTA_DIR="+dir, "QUOTA_SESSIONS="+sessions, "QUOTA_PLACE="+place)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last quota.Balance
	for n, end := 0, time.Now().Add(20*time.Second); n < 20; time.Sleep(10 * time.Millisecond) { // until the call hangs
		b, err := account.Balance(t.Context())
		if err != nil || time.Now().After(end) {
			t.Fatalf("%+v, %v", b, err)
		}
		if n++; b != last || b == before {
			n = 0
		}
		last = b
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// After a kill the session's own reservations do not keep it from going on, wherever the
// call was made: a prompt, a sub-agent, a digest. The broken calls cost their input.
func TestResumeAfterKill(t *testing.T) {
	for _, place := range []string{atPrompt, atChild, atDigest} {
		for _, goOn := range []string{"resume", "prompt", "killed again"} {
			if goOn == "killed again" && place != atPrompt {
				continue
			}
			t.Run(place+"/"+goOn, func(t *testing.T) {
				t.Parallel()
				dir, sessions := t.TempDir(), t.TempDir()
				account := &quota.Account{Store: quota.Dir(dir), Key: "chat", Period: quota.Day, USD: 0.03}
				kill(t, account, dir, sessions, place)
				if goOn == "killed again" {
					kill(t, account, dir, sessions, atResume)
					kill(t, account, dir, sessions, atResume)
				}
				a := treeOf(dir, sessions, place, llmtest.Step{Text: "done", Usage: llm.Usage{Input: 10, Output: 10}})
				s := a.Session("chat")
				defer s.Close()
				var err error
				if goOn == "prompt" {
					_, err = s.Prompt(t.Context(), "go on")
				} else {
					for _, e := range s.Resume(t.Context()) {
						err = e
					}
				}
				b, failed := account.Balance(t.Context())
				if err != nil || failed != nil || b.Reserved != 0 || b.Spent > 0.01 || b.Spent < 0.0002 {
					t.Errorf("got %v, %+v, %v", err, b, failed)
				}
			})
		}
	}
}

// A reservation that has expired before the session is resumed is settled once.
func TestResumeAfterExpiry(t *testing.T) {
	dir, sessions := t.TempDir(), t.TempDir()
	account := &quota.Account{Store: quota.Dir(dir), Key: "chat", Period: quota.Day, USD: 0.03}
	kill(t, account, dir, sessions, atPrompt)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	book, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	expires := regexp.MustCompile(`"expires":"[^"]*"`)
	if err := os.WriteFile(files[0], expires.ReplaceAll(book, []byte(`"expires":"2020-01-01T00:00:00Z"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := account.Balance(t.Context())
	if err != nil || before.Reserved != 0 || before.Spent == 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	s := treeOf(dir, sessions, atPrompt, llmtest.Step{Text: "done", Usage: llm.Usage{Input: 10, Output: 10}}).Session("chat")
	defer s.Close()
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	const cost = 10*3e-6 + 10*15e-6
	if b, err := account.Balance(t.Context()); err != nil || b.Reserved != 0 || math.Abs(b.Spent-before.Spent-cost) > 1e-9 {
		t.Errorf("%+v before, %+v after, %v", before, b, err)
	}
}
