package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// A conversation in a folder with sessions asks once about the memory and reviews. The end of a
// session only notes it; the next conversation reviews it, and says what it cost.
func TestMemoryIsOffered(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	firstFact := regexp.MustCompile(`#(\d+) user: `)
	server := llmtest.NewServer(t)
	server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		at := firstFact.FindStringSubmatch(r.Transcript())
		if at == nil {
			return llmtest.Say("The answer.")
		}
		data, err := json.Marshal(map[string]any{"proposals": []any{map[string]any{"action": "add", "kind": "preference", "title": "Prefers tabs", "facts": []json.Number{json.Number(at[1])}, "why": "said"}}, "skills": []any{map[string]any{"action": "new", "name": "greet", "description": "Greets", "text": "Say hello.", "facts": []json.Number{json.Number(at[1])}, "why": "said"}}})
		if err != nil {
			t.Error(err)
		}
		return llmtest.Say(string(data))
	}
	converse := func(before func(p *person), prompt string, after func(p *person)) {
		t.Helper()
		p := sitAt(t, server, dir, []string{"OPENAGENT_HOME=" + home, "CI="}, nil)
		if before != nil {
			before(p)
		}
		p.sees("> ")
		if prompt != "" {
			p.types(prompt + "\n")
			p.sees("The answer")
			p.sees("> ")
		}
		if after != nil {
			after(p)
		}
		p.types("/quit\n")
		if code := p.leaves(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if strings.Contains(p.all.String(), "Keep a memory?") != (before != nil) {
			t.Errorf("the question: %s", p.all.String())
		}
	}
	converse(nil, "I like tabs", nil)
	converse(func(p *person) {
		p.sees(`preferences, decisions(?s).*Keep a memory\? \[y/N\] `)
		p.answers("y\n")
		p.sees(`costs tokens(?s).*Review sessions that have ended\? \[y/N\] `)
		p.answers("y\n")
		p.sees(`This is kept in .*settings.json`)
	}, "I like tabs a lot", nil)
	if data, err := os.ReadFile(filepath.Join(home, "settings.json")); err != nil || !strings.Contains(string(data), `"enabled": true`) || !strings.Contains(string(data), `"review": true`) {
		t.Fatalf("%s, %v", data, err)
	}
	asked := len(server.Requests())
	if asked != 2 {
		t.Errorf("%d requests before the review", asked)
	}
	converse(nil, "", func(p *person) {
		p.sees(`memory: reviewed session .*, \$0\.\d+: 1 proposal for your decision, see openagent memory pending; 1 proposal about skills, see openagent skills pending`)
		p.types("/memory\n")
		p.sees(`candidate prefers-tabs-\w+ +Prefers tabs`)
		p.types("/memory accept prefers\n")
		p.sees(`accepted prefers-tabs(?s).*state +active.*file +\S+prefers-tabs-\w+\.md`)
		p.types("/memory prefers\n")
		p.sees(`state +active`)
		p.types("/memory fly away\n")
		p.sees(`there is no entry away`)
	})
	converse(nil, "hello", nil)
	last := server.Requests()[len(server.Requests())-1]
	if !strings.Contains(last.Transcript(), "[project, preference] Prefers tabs") {
		t.Errorf("the next session does not know it: %s", last.Transcript())
	}
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "memory", "log")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "OPENAGENT_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil || !regexp.MustCompile(`review +session .*, \$0\.\d+ +prefers-tabs`).Match(out) {
		t.Errorf("%s, %v", out, err)
	}
}

// After a no, nothing is kept, and nobody asks again. Continuous integration is not asked.
func TestMemoryIsDeclined(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	for i, question := range []bool{false, false, true, false} {
		env := []string{"OPENAGENT_HOME=" + home}
		if i != 1 {
			env = append(env, "CI=")
		}
		p := sit(t, dir, env, nil, llmtest.Say("The answer."))
		if question {
			p.sees(`Keep a memory\? \[y/N\] `)
			p.answers("\n")
		}
		p.sees("> ")
		p.types("hi\n")
		p.sees("The answer")
		p.sees("> ")
		p.types("/memory\n")
		p.sees("the memory is off; openagent config set memory.enabled true switches it on")
		p.types("/quit\n")
		p.leaves()
		if got := strings.Contains(p.all.String(), "Keep a memory?"); got != question {
			t.Errorf("start %d: asked is %v", i, got)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, ".openagent")); err == nil {
		t.Errorf("%v is in the project", left)
	}
}
