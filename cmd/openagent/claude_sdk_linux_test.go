package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A claudeScenario is what a scenario of testdata/claude needs and asks of the model.
type claudeScenario struct {
	Steps    []scriptStep      `json:"steps"`
	Asked    []string          `json:"asked"` // each is in some request
	Not      []string          `json:"not"`   // none is in any
	Requests *int              `json:"requests"`
	Files    map[string]string `json:"files"` // in the working folder
	Lenient  bool              `json:"lenient"`
}

// TestClaudeSDK has the official SDK for TypeScript drive the program, over a strict model.
func TestClaudeSDK(t *testing.T) {
	t.Parallel()
	node, sdk := installed.Program(t, "node"), installed.ClaudeSDK(t)
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("testdata", "claude", "run.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command(node, script)
	list.Env = append(os.Environ(), "CLAUDE_SDK="+sdk)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var scenarios map[string]claudeScenario
	if err := json.Unmarshal(out, &scenarios); err != nil || len(scenarios) < 10 {
		t.Fatalf("%d scenarios: %v", len(scenarios), err)
	}
	slots := make(chan struct{}, 2)
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			model := &llmtest.Server{Lenient: s.Lenient}
			for _, l := range s.Steps {
				step, err := l.step()
				if err != nil {
					t.Fatal(err)
				}
				model.Steps = append(model.Steps, step)
			}
			model.Start(t)
			s.run(t, model, node, script, name, append(os.Environ(), "CLAUDE_SDK="+sdk, "OPENAGENT="+program))
			s.check(t, model)
		})
	}
}

// run runs the scenario in folders of its own.
func (s claudeScenario) run(t *testing.T, model *llmtest.Server, node, script, name string, env []string) {
	t.Helper()
	top := t.TempDir()
	work, home := filepath.Join(top, "work"), filepath.Join(top, "home")
	for _, dir := range []string{work, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range s.Files {
		if err := os.WriteFile(filepath.Join(work, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, script, name)
	cmd.Dir = work
	cmd.Env = append(env, "HOME="+home, "OPENAGENT_HOME="+filepath.Join(home, ".openagent"), "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+model.URL)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, output.Bytes())
	}
}

// check checks what the model was asked.
func (s claudeScenario) check(t *testing.T, model *llmtest.Server) {
	t.Helper()
	var all []byte
	for _, r := range model.Requests() {
		all = append(all, r.Body...)
	}
	for _, text := range s.Asked {
		if !bytes.Contains(all, []byte(text)) {
			t.Errorf("no request has %q", text)
		}
	}
	for _, text := range s.Not {
		if bytes.Contains(all, []byte(text)) {
			t.Errorf("a request has %q", text)
		}
	}
	if got := len(model.Requests()); s.Requests != nil && got != *s.Requests {
		t.Errorf("the model was asked %d times, want %d", got, *s.Requests)
	}
}
