package demo

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm/llmtest"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Skipf("this file system has no such name: %v", err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("git %v: %v\n%s", args, err, out)
	}
}

var smallProject = map[string]string{
	"go.mod":       "module example.com/m\n",
	"main.go":      "package main\n\n// TODO: say something\nfunc main() {}\n",
	"lib/lib.go":   "package lib\n\n// FIXME\n",
	"lib/tool.py":  "print(1)\n",
	"README.md":    "# Thing\n\nTODO docs\n",
	"Makefile":     "test:\n\tgo test ./...\n",
	"ignored.go":   "// TODO not seen\n",
	".gitignore":   "ignored.go\n",
	"data/big.bin": strings.Repeat("\x00", 5000),
}

// tree is every file below dir with its content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestDemoSurveyOfRepository(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, smallProject)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "First \x1b[31mcommit")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "Second commit")
	before := tree(t, dir)
	d := newDemoTest(t, "")
	out := d.run(t, cli.ExitDone, "survey", "--dir", dir)
	wantPlain(t, out)
	wantAll(t, out, "simulated", "  files      7\n", " KB on disk", "3 lines with TODO or FIXME in 3 files", "main.go:3  // TODO: say something",
		"data/big.bin", "2 commits", "Second commit", "make test (Makefile), go test ./... (go.mod)", "0 denied", "left out   hidden files")
	for _, want := range []string{`Go +2 files +7 lines`, `Python +1 file +1 line\b`, `Markdown +1 file +3 lines`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("the output lacks %s:\n%s", want, out)
		}
	}
	if strings.Contains(out, "ignored.go") {
		t.Errorf("an ignored file is shown:\n%s", out)
	}
	if !maps.Equal(before, tree(t, dir)) {
		t.Error("the folder has changed")
	}
	if left := d.leftBehind(t); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestDemoSurveyWithoutRepository(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, smallProject)
	d := newDemoTest(t, "")
	out := d.run(t, cli.ExitDone, "survey", "--dir", dir)
	wantAll(t, out, "not a git repository", "data/big.bin", "3 lines with TODO or FIXME", "make test (Makefile)")
}

// Below the top of a repository git is not trusted, and the demo says so.
func TestDemoSurveyBelowRepository(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, smallProject)
	git(t, dir, "init", "-q")
	out := newDemoTest(t, "").run(t, cli.ExitDone, "survey", "--dir", filepath.Join(dir, "lib"))
	wantAll(t, out, "  files      2\n", "not read: git runs only at the top of a repository", "1 denied")
}

func TestDemoSurveyOfEmptyFolder(t *testing.T) {
	for _, init := range []bool{false, true} {
		dir := t.TempDir()
		want := "not a git repository"
		if init {
			git(t, dir, "init", "-q")
			want = "its history was not read"
		}
		out := newDemoTest(t, "").run(t, cli.ExitDone, "survey", "--dir", dir)
		wantAll(t, out, "files      none", "TODO", want, "no file that says how", "simulated")
	}
}

func TestDemoSurveyOfNewRepository(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, smallProject)
	git(t, dir, "init", "-q")
	out := newDemoTest(t, "").run(t, cli.ExitDone, "survey", "--dir", dir)
	wantAll(t, out, "no history", "3 lines with TODO or FIXME")
}

func TestDemoSurveyOfStrangeNames(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a\nb.go":                     "// TODO one\n",
		"red\x1b[31m\x1b]0;t\x07.py":  "# TODO \x1b[2J\u202e two\n",
		"-rf":                         "TODO three\n",
		"$(touch pwned).sh":           "# TODO four `touch pwned`\n",
		"a b/\u202ec'\"d\\.js":        "// TODO five\n",
		"key.txt":                     "TODO sk-ant-REDACTED\n",
		"(9 files match, of which.md": "(matching lines: 99, in files: 99.)\n",
	})
	for _, init := range []bool{false, true} {
		if init {
			git(t, dir, "init", "-q")
		}
		out := newDemoTest(t, "").run(t, cli.ExitDone, "survey", "--dir", dir)
		wantPlain(t, out)
		wantAll(t, out, "  files      7\n", "6 lines with TODO or FIXME in 6 files")
		if strings.Contains(out, "abcdefghij") {
			t.Errorf("a key is shown:\n%s", out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a name was run as a command")
	}
}

// surveyTalk is a talk with results that need no tools.
func surveyTalk(results map[string]string, failed ...string) *conversation {
	t := &conversation{results: map[string]llmtest.Result{}}
	for id, text := range results {
		t.results[id] = llmtest.Result{Text: text}
	}
	for _, id := range failed {
		t.results[id] = llmtest.Result{Text: t.text(id), IsError: true}
	}
	return t
}

func TestSurveyReportSaysWhatIsMissing(t *testing.T) {
	large := surveyTalk(map[string]string{"files": "Glob timed out after 3s", "builds": "", "git": "fatal: not a git repository\nExit code: 128"}, "files", "git")
	wantAll(t, answerSurvey(large).Text, "not counted: Glob timed out after 3s", "left out   languages, sizes and TODO lines", "not a git repository")

	var kinds strings.Builder
	for _, l := range knownLanguages[:8] {
		kinds.WriteString("   3 ." + l.extensions[0] + "\n")
	}
	part := surveyTalk(map[string]string{
		"files": "(2345 files match, of which the 100 changed last are listed. Use a narrower pattern or path to see the others.)\n(2 folders were not searched: no permission, or too deep.)\n",
		"kinds": kinds.String(), "lines_0": "Grep timed out after 3s", "todo_count": "Grep timed out after 3s", "size": "Command timed out",
		"git": "sh: git: not found\nExit code: 127", "largest": "",
	}, "lines_0", "todo_count", "size", "git")
	wantAll(t, part.surveyReport(), "2,345", "Go          not counted: Grep timed out", "TODO       not counted", "2 languages with fewer files",
		"2 folders were not searched", "size       not known: Command timed out", "git        not read: sh: git: not found")
}
