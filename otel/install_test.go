package otelagent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/outside"
)

// TestInstall gets this module from a module proxy as a user does, and builds a program
// with it. The program's go.mod needs no replace.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program from a module proxy")
	}
	version := outside.Required(t, "otel")
	proxy := outside.NewProxy(t)
	proxy.Publish(t, "", version)
	proxy.Publish(t, "otel", version)

	dir := t.TempDir()
	outside.Write(t, filepath.Join(dir, "main.go"), []byte(`package main

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	otelagent "github.com/openagent-go/agent/otel"
)

func main() {
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("installed"))}
	otelagent.Instrument(a, otelagent.Options{})
	res, err := a.Prompt(context.Background(), "hi")
	if err != nil {
		panic(err)
	}
	fmt.Print(res.Text)
}
`))
	proxy.Go(t, dir, nil, "mod", "init", "example.com/user")
	proxy.Go(t, dir, nil, "get", "github.com/openagent-go/agent/otel@"+version)
	proxy.Go(t, dir, nil, "build", "-o", "user.exe", ".")
	if out, err := exec.Command(filepath.Join(dir, "user.exe")).CombinedOutput(); err != nil || string(out) != "installed" {
		t.Errorf("%v: %.2000s", err, out)
	}
	file, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(file); strings.Contains(text, "replace") || !strings.Contains(text, "github.com/openagent-go/agent/otel "+version) {
		t.Errorf("the program's go.mod:\n%s", text)
	}
}
