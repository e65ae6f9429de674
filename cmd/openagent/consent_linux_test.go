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
	p.sees(`2  yes, always in this session: .*Bash\(mkdir \*\)`)
	p.sees(`2 exact: .*Bash\(mkdir a\)`)
	p.sees(`2 project: kept for this project`)
	p.answers("2 all\n")
	p.sees(`there is no rule "all": write 2, or 2 and one of exact, usual, session, project, user`)
	p.answers("2 exact project\n")
	p.sees(`saved Bash\(mkdir a\) in \.openagent/settings\.local\.json`)
	p.sees(`allow Bash\?`)
	p.answers("no\n")
	p.sees(`Bash\(touch \*\)`)
	p.answers("2 user\n")
	p.sees(`saved Bash\(touch \*\) in ` + regexp.QuoteMeta(filepath.Join(home, "settings.json")))
	p.sees("kept")
	p.sees(`(?s)done, 5 turns, 4 calls, 1 denied, \d+\.\d s.*, \$.*> `)
	for file, want := range map[string]string{filepath.Join(dir, ".openagent", "settings.local.json"): `"Bash(mkdir a)"`, filepath.Join(home, "settings.json"): `"Bash(touch *)"`} {
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s holds %s, %v", file, data, err)
		}
	}
	p.types("more\n")
	p.sees(`allow Bash\?`)
	p.answers("4\n")
	p.sees("paused: /resume asks again")
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
	p.sees(`yes, always: no rule can allow this call`)
	p.sees("explains: ")
	p.answers("2\n")
	p.sees("no rule can allow this call: write 1 or 3")
	p.answers("1\n")
	p.sees(`yes, always in this session: .*Bash\(touch \*\)`)
	p.sees("explains: ")
	p.answers("2\n")
	p.sees("kept")
	p.types("/quit\n")
	p.leaves()
}
