package main

import (
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/coder"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/sandbox"
)

// project returns the options for the folder that args name. Without one, it makes a project with a
// failing test, and a script plays the model.
func project(args []string) (o coder.Options, cleanUp func()) {
	dir, err := os.MkdirTemp("", "ci-fixer")
	if err != nil {
		log.Fatal(err)
	}
	cleanUp = func() { os.RemoveAll(dir) }
	// Confined commands cannot write the user's build cache, so they get one of their own.
	cache := filepath.Join(dir, "cache")
	o.Dir, o.Env = filepath.Join(dir, "project"), map[string]string{"GOCACHE": cache}
	o.SandboxSettings = &sandbox.Settings{Filesystem: sandbox.Filesystem{AllowWrite: []string{cache}}}
	for _, d := range []string{o.Dir, cache} {
		if err := os.Mkdir(d, 0o755); err != nil {
			log.Fatal(err)
		}
	}
	if len(args) > 0 {
		o.Dir = args[0]
		return o, cleanUp
	}
	for name, text := range map[string]string{
		"go.mod":      "module example.com/add\n\ngo 1.24\n",
		"add.go":      "package add\n\nfunc Add(a, b int) int { return a - b }\n",
		"add_test.go": "package add\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(2, 2); got != 4 {\n\t\tt.Errorf(\"Add(2, 2) = %d\", got)\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	o.Agent = agent.Agent{Model: &llmtest.Model{Facts: llm.Info{Price: new(llm.Price)}, Steps: []llmtest.Step{
		llmtest.Call(llmtest.Use("", "Read", map[string]string{"file_path": "add.go"})),
		llmtest.Call(llmtest.Use("", "Edit", map[string]string{"file_path": "add.go", "old_string": "a - b", "new_string": "a + b"})),
		llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "go test ./..."})),
		llmtest.Reply(answer),
	}}}
	return o, cleanUp
}

// answer says what the last call showed.
func answer(r *llm.Request) llm.Response {
	text := "add.go:3 subtracted. It adds now, but I could not see the tests pass."
	if last := (&llmtest.Request{Request: *r}).Results(); len(last) > 0 && strings.Contains(last[len(last)-1].Text, "ok  \texample.com/add") {
		text = "add.go:3 subtracted. It adds now, and the tests pass."
	}
	return llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: text}}}, Stop: llm.EndTurn}
}
