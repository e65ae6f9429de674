package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// A rule is kept for the project or for the user, narrower or wider, and what comes
// later is not asked about; a question can be left for later.
func TestRulesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := func(id, line string) llmtest.Step {
		return llmtest.Call(llmtest.Use(id, "Bash", map[string]string{"command": line}))
	}
	home := t.TempDir()
	p := sit(t, dir, []string{"OPENAGENT_HOME=" + home}, nil,
		command("b1", "mkdir a"), command("b2", "mkdir a b"), command("b3", "touch a/x"), command("b4", "touch a/y"), llmtest.Say("kept"),
		command("b5", "chmod +x a/x"), llmtest.Say("end"))
	p.sees("> ")
	p.types("go\n")
	p.sees(`Bash\(mkdir \*\), \[p\]roject or \[u\]ser`)
	p.types("e\n")
	p.sees(`1 Bash\(mkdir a\)`)
	p.types("p 9\n")
	p.sees("choose a rule from 1 to 2")
	p.types("p 1\n")
	p.sees(`saved Bash\(mkdir a\) in \.openagent/settings\.local\.json`)
	p.sees(`allow\?`)
	p.types("n\n")
	p.sees(`Bash\(touch \*\)`)
	p.types("u\n")
	p.sees(`saved Bash\(touch \*\) in ` + regexp.QuoteMeta(filepath.Join(home, "settings.json")))
	p.sees("kept")
	p.sees(`(?s)done · 5 turns · 4 calls, 1 denied · \d+\.\d s.* · \$.*> `)
	for file, want := range map[string]string{filepath.Join(dir, ".openagent", "settings.local.json"): `"Bash(mkdir a)"`, filepath.Join(home, "settings.json"): `"Bash(touch *)"`} {
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s holds %s, %v", file, data, err)
		}
	}
	p.types("more\n")
	p.sees(`allow\?`)
	p.types("l\n")
	p.sees("suspended|decision")
	p.types("/quit\n")
	p.leaves()
}

// Where managed settings let no rules allow but their own, no rule is kept, for the
// session neither: the next call is asked about as well.
func TestRulesAreNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	managed := filepath.Join(dir, "managed.json")
	if err := os.WriteFile(managed, []byte(`{"allowManagedPermissionRulesOnly":true,"permissions":{"allow":["Bash(touch *)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(id, line string) llmtest.Step {
		return llmtest.Call(llmtest.Use(id, "Bash", map[string]string{"command": line}))
	}
	p := sit(t, dir, []string{"TEST_MANAGED=" + managed}, nil, command("b1", "mkdir a"), command("b2", "touch x"), command("b3", "touch y"), llmtest.Say("kept"))
	p.sees("> ")
	p.types("go\n")
	p.sees(`\[l\]ater, \[e\]xplain: `)
	p.types("a\n")
	p.sees("allows only the rules that it lists.*answer y or n")
	p.types("y\n")
	p.sees(`\[a\]lways in this session: Bash\(touch \*\)`)
	p.types("a\n")
	p.sees("kept")
	p.types("/quit\n")
	p.leaves()
}
