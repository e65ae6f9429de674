package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// The commands that look at a session: the rules in force, the changes of files, the checks. A rule
// of the session can be removed, and /init does not touch an AGENTS.md unasked.
func TestChatLooksAtTheSession(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("invoice.sh", "one\ntwo\nthree\n")
	write("AGENTS.md", "# Notes\n")
	p := sitAtUI(t, dir, []string{"--disallowed-tools", "Bash(rm *)"}, callBash("sed -i s/two/2/ invoice.sh"), llmtest.Say("Done."), llmtest.Say("I have read it."))
	p.sees(`enter send`)
	p.types("/diff\r")
	p.sees(`no file has changed`)
	p.types("change it\r")
	p.sees(`yes, once`)
	p.thinks()
	p.types("2\r")
	p.sees(`done · 2 turns`)
	p.types("/permissions\r")
	p.sees(`mode default`)
	p.sees(`deny\s+Bash\(rm \*\)\s+--disallowed-tools`)
	p.sees(`allow\s+Bash\(sed .*\)\s+you, in this session`)
	p.types("/permissions remove Bash(sed -i s/two/2/ invoice.sh)\r")
	p.sees(`removed Bash\(sed`)
	p.types("/diff\r")
	p.sees(`invoice\.sh`)
	p.sees(`changed \(\+1 −1\)`)
	p.sees(`- `)
	p.types("q")
	p.sees(`1049l`)
	p.types("/diff 99\r")
	p.sees(`there is no prompt 99`)
	p.types("/doctor\r")
	p.sees(`ok\s+version`)
	p.sees(`terminal`)
	p.types("/init\r")
	p.sees(`improve it`)
	p.types("\r")
	p.sees(`/init improve`)
	p.sees(`I have read it`)
	p.types("\x04")
	p.leaves()
}

// The menu offers the commands of a project that the person trusts, and the prompts of MCP servers.
// Both run.
func TestChatProjectCommands(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".claude/commands/db/migrate.md": "---\ndescription: Migrates the database\n---\nMigrate it $ARGUMENTS.\n",
		".mcp.json":                      `{"mcpServers": {"demo": {"command": "promptserver"}}}`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := llmtest.NewServer(t, llmtest.Say("Migrated."), llmtest.Say("Reviewed."))
	p := sitDown(t, server, dir, nil, nil)
	p.sees(`MCP servers`)
	p.sees(`\[y/N\]`)
	p.types("y\n")
	p.sees(`commands contains skills`)
	p.sees(`\[y/N\]`)
	p.types("y\n")
	p.sees(`enter send`)
	p.types("/migr")
	p.sees(`Migrates the database`)
	p.types("ate up\r")
	p.sees(`Migrated\.`)

	p.types("/mcp__demo")
	p.sees(`/mcp__demo__review`)
	p.types("__review 'a b.go' brief\r")
	p.sees(`Reviewed\.`)
	p.types("/mcp__demo__review\r")
	p.sees(`needs the argument file`)
	p.types("\x04")
	p.leaves()
	asked := ""
	for _, r := range server.Requests() {
		asked += string(r.Body)
	}
	for _, want := range []string{"Migrate it up.", "Review a b.go: be brief."} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model did not get %q", want)
		}
	}
}

// Plain mode has the same commands. Its changes are lines.
func TestPlainLooksAtTheSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := sitAtUI(t, dir, []string{"--plain", "--allowed-tools", "Bash(touch *) Edit(/made)"}, callBash("touch made; echo one > made"), llmtest.Say("Done."))
	p.sees(`> `)
	p.types("make it\r")
	p.sees(`Done\.`)
	p.sees(`done, 2 turns`)
	p.types("/diff\r")
	p.sees(`added\s+made`)
	p.sees(`\+one`)
	p.types("/permissions\r")
	p.sees(`allow\s+Bash\(touch \*\)\s+--allowed-tools`)
	p.types("/doctor\r")
	p.sees(`ok\s+version\s+\(`)
	p.types("\x04")
	p.leaves()
}
