package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// oddFiles are what may stand in the place of a file.
var oddFiles = map[string]func(path string) error{
	"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
	"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	"sparse": func(path string) error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, 1<<30)
	},
}

// Pipes, devices, folders and files of 1 GB in the place of each file that the program
// reads by itself: each run ends, and one that fails names the file.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"work/AGENTS.md", "work/CLAUDE.md", "work/imported.md", "work/.openagent/settings.json", "work/.openagent/settings.local.json",
		"work/.mcp.json", "work/.openagent/agents/a.md", "work/.openagent/skills/s/SKILL.md", "work/.openagent/tools/t", "work/.gitignore",
		"work/.git", "work/.git/HEAD", "work/.git/config", "work/.git/index", "work/.git/info/exclude", "work/.git/commondir", "work/.gitmodules",
		"home/AGENTS.md", "home/settings.json", "home/trust.json", "home/tools-hung.json", "home/cron/jobs.json", "home/triggers.json", "home/agents/a.md",
		"home/keybindings.json", "home/prices.json", ".gitconfig", ".config/git/ignore",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			for kind, put := range oddFiles {
				runBeside(t, kind, file, put)
			}
		})
	}
}

// runBeside runs a prompt with something odd in the place of a file.
func runBeside(t *testing.T, kind, file string, put func(path string) error) {
	t.Helper()
	top := t.TempDir()
	for _, dir := range []string{"home", "work", filepath.Dir(file), "work/.git/objects", "work/.git/refs"} {
		if dir = filepath.Join(top, dir); strings.Contains(dir, ".git/") && file == "work/.git" {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"work/AGENTS.md": "@imported.md\n", "work/.git/HEAD": "ref: refs/heads/main\n"} {
		if name != file && (file != "work/.git" || name == "work/AGENTS.md") {
			if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := put(filepath.Join(top, file)); err != nil {
		t.Fatal(err)
	}
	bash := func(command string) llm.ToolUse {
		return llmtest.Use("", "Bash", map[string]any{"command": command, "timeout": 3000})
	}
	judged := bash("cat AGENTS.md/* imported.md/*") // the program looks into folders, and into what git reads
	if strings.Contains(file, ".git") {
		judged = bash("git status")
	}
	server := llmtest.NewServer(t, llmtest.Call(judged, llmtest.Use("", "Glob", map[string]any{"pattern": "*"})), llmtest.Say("done"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where nothing ends it
	defer cancel()
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "-p", "go")
	cmd.Dir, cmd.WaitDelay = filepath.Join(top, "work"), time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top, "OPENAGENT_HOME=" + filepath.Join(top, "home"), "ANTHROPIC_API_KEY=sk-test-SECRETSECRET",
		"ANTHROPIC_BASE_URL=" + server.URL, "GORACE=" + quickEnd, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		t.Errorf("%s in the place of %s: the run did not end", kind, file)
	case strings.Contains(errs.String(), "panic:"):
		t.Errorf("%s in the place of %s: %s", kind, file, errs.String())
	case exitCode(err) == cli.ExitNobody: // the line is not known to read only
	case err != nil && !strings.Contains(errs.String(), filepath.Base(file)):
		t.Errorf("%s in the place of %s: the error does not name it: %v, %s", kind, file, err, errs.String())
	case kind == "pipe" && (filepath.Base(file) == "AGENTS.md" || filepath.Base(file) == "CLAUDE.md") && !strings.Contains(errs.String(), filepath.Base(file)+" is left out"):
		t.Errorf("%s in the place of %s: nobody is told: %s", kind, file, errs.String())
	case err == nil && !strings.Contains(out.String(), "done"):
		t.Errorf("%s in the place of %s: %s", kind, file, out.String())
	}
}
