package coder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/models"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tools"
)

// Every option arrives, and has the meaning of its name.
func TestOptions(t *testing.T) {
	o := Options{
		Dir: "d", Agent: agent.Agent{System: "s"}, Model: "m", Models: models.Source{Getenv: os.Getenv}, AppendSystem: "a",
		Env: map[string]string{"A": "b"}, Sandbox: Require, SandboxSettings: &sandbox.Settings{}, Tools: []string{"Read"},
		Builtins: tools.Builtins{Web: &tools.Web{}}, Person: true, Trust: All, Without: []string{"team"}, Layers: []string{"user"}, Home: "h",
		Plugins: []string{"p"}, Definitions: json.RawMessage("{}"), RunAs: "r", Servers: map[string]mcp.Config{}, ServerWait: 1,
		OnServer: func(mcp.Status) {}, Memory: &memory.Memory{}, Warn: func(string, error) {},
	}
	given, got := reflect.ValueOf(o), reflect.ValueOf(o.inner())
	for i := range given.NumField() {
		name := given.Type().Field(i).Name
		if given.Field(i).IsZero() {
			t.Errorf("the test does not set %s", name)
		}
		if f := got.FieldByName(name); !f.IsValid() || f.IsZero() {
			t.Errorf("%s does not arrive", name)
		}
	}
	in := o.inner()
	if in.Sandbox != coding.Require || in.Without[0] != coding.Team || in.Layers[0] != "user" {
		t.Errorf("%+v", in)
	}
	zero := reflect.ValueOf(Options{}.inner())
	if !zero.IsZero() {
		t.Errorf("the zero value becomes %+v", zero)
	}
	for mode, same := range map[Sandbox]coding.Sandbox{IfAvailable: coding.IfAvailable, Require: coding.Require, Off: coding.Off, FromSettings: coding.FromSettings} {
		if string(mode) != string(same) {
			t.Errorf("%s is %s", mode, same)
		}
	}
}

// A session goes back to before a prompt, with its files.
func TestRewind(t *testing.T) {
	ctx := t.Context()
	dir, home := t.TempDir(), t.TempDir()
	write := func(text string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Write", map[string]string{"file_path": "f.txt", "content": text}))
	}
	c, err := New(ctx, Options{Dir: dir, Home: home, Sandbox: Off, Without: []string{"settings"}, Agent: agent.Agent{
		Model:       llmtest.Script(write("one"), llmtest.Say("First."), llmtest.Call(llmtest.Use("", "Read", map[string]string{"file_path": "f.txt"})), write("two"), llmtest.Say("Second.")),
		Permissions: permission.Policy{Mode: permission.AcceptEdits}, Sessions: session.Dir(filepath.Join(home, "sessions")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	turns := 0
	if !c.Setting("max_turns", &turns) && turns != 0 {
		t.Errorf("max_turns is %d and not set", turns)
	}
	s := c.Session("s")
	defer s.Close()
	if _, err := s.Prompt(ctx, "Begin."); err != nil {
		t.Fatal(err)
	}
	var before int64
	for e, err := range s.Stream(ctx, "Go on.") {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.Data.(event.UserMessage); ok && m.Delivery == fact.AsPrompt {
			before = e.Seq - 1
		}
	}
	file := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "f.txt"))
		return fmt.Sprint(string(text), err)
	}
	if got := file(); got != "two<nil>" {
		t.Fatal(got)
	}
	report, err := c.Rewind(ctx, s, before)
	if err != nil || len(report.Left) > 0 || len(report.Changes) != 1 || filepath.Base(report.Changes[0].Path) != "f.txt" || report.Changes[0].Kind != "changed" {
		t.Fatal(report, err)
	}
	if got := file(); got != "one<nil>" {
		t.Errorf("the file is %s", got)
	}
	messages, err := s.Messages(ctx)
	if err != nil || len(messages) == 0 || messages[len(messages)-1].Text() != "First." {
		t.Errorf("%v, %v", messages, err)
	}
}

// A session goes back to before its first prompt. Files that the agent hides go too, and the
// report names what stays.
func TestRewindAll(t *testing.T) {
	ctx := t.Context()
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "huge"), make([]byte, 33<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Write", map[string]string{"file_path": name, "content": text}))
	}
	c, err := New(ctx, Options{Dir: dir, Home: home, Sandbox: Off, Without: []string{"settings"}, Agent: agent.Agent{
		Model:       llmtest.Script(write(".gitignore", "evil*\n"), write("evil.go", "package evil\n"), llmtest.Say("First."), write("evil2/f", "x"), llmtest.Say("Second.")),
		Permissions: permission.Policy{Mode: permission.AcceptEdits}, Sessions: session.Dir(filepath.Join(home, "sessions")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := c.Session("s")
	defer s.Close()
	for _, text := range []string{"Begin.", "Go on."} {
		if _, err := s.Prompt(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	report, err := c.Rewind(ctx, s, 0)
	if err != nil || len(report.Changes) != 4 || len(report.Left) != 1 || !strings.Contains(report.Left[0].Error(), "huge") {
		t.Error(report, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "huge" {
		t.Error(left, err)
	}
	if messages, err := s.Messages(ctx); err != nil || len(messages) > 0 {
		t.Errorf("%v, %v", messages, err)
	}
}

// Without sessions in a folder there is nothing to go back to.
func TestRewindNothing(t *testing.T) {
	c, err := New(context.Background(), Options{Dir: t.TempDir(), Home: t.TempDir(), Sandbox: Off, Agent: agent.Agent{Model: llmtest.Script(llmtest.Say("Yes."))}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := c.Session("")
	defer s.Close()
	if _, err := c.Rewind(t.Context(), s, 0); !errors.Is(err, agent.ErrNoCheckpoint) {
		t.Error(err)
	}
}
