package eval

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// ofCase is a variant with the scripted model of the case.
var ofCase = Variant{Name: "script", Open: func(_ context.Context, p *Place) (*agent.Agent, error) {
	ws := &workspace.Workspace{Root: p.Dir}
	p.Cleanup(ws.Close)
	return &agent.Agent{Model: p.Model, Dir: p.Dir, Tools: []tool.Tool{tools.Write(ws), tools.Read(ws)}}, nil
}}

func TestLoad(t *testing.T) {
	s, err := Load("testdata/suite")
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "first steps" || s.Repetitions != 2 || s.Parallel != 3 || s.BudgetUSD != 1.5 || s.Judge != "a-judge" || s.Sandbox.Enabled || len(s.Cases) != 2 {
		t.Fatalf("%+v", s)
	}
	inline, files := s.Cases[0], s.Cases[1]
	if !reflect.DeepEqual(inline.Tags, []string{"all", "fast"}) || inline.Budget != (agent.Budget{Turns: 5}) || inline.Permissions.Mode != permission.AcceptEdits {
		t.Errorf("%+v", inline)
	}
	var names []string
	for _, g := range inline.Graders {
		names = append(names, g.Kind+" "+g.Name)
	}
	if got := strings.Join(names, ", "); got != "command diff given.txt copy.txt, file the file, file file other.txt, answer , schema , trajectory " || inline.Graders[0].Timeout != 30*time.Second {
		t.Error(got)
	}
	if files.Name != "with-files" || files.Budget != (agent.Budget{Turns: 9, Time: 2 * time.Minute}) || !reflect.DeepEqual(files.Permissions.Allow, []permission.Rule{"Bash(go test *)"}) {
		t.Errorf("%+v", files)
	}
	Test(t, Evaluation{Suite: s, Variants: []Variant{ofCase}, Repetitions: 1})
}

// A suite with mistakes says all of them at once.
func TestLoadMistakes(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "suite.yaml", `nmae: x
defaults:
  mode: fast
  graders:
    - command: a
      answer: {equals: b}
cases:
  - prompt: p
    graders:
      - judge: {rubric: " "}
      - {}
      - file: {path: ../x}
      - file: {path: a, absent: true, contains: [b]}
      - answer: {matches: "("}
      - schema: {type: 3}
      - trajectory: {}
  - name: b
    prompt: p
    prompts: [q]
    commit: abc
    allow: ["Bash("]
    folder: nowhere
    repository: nowhere
    script: [{}]
    graders: []
  - name: one
    prompt: p
    graders: [{command: "true"}, {answer: {contains: x}}]
`)
	put(t, dir, "one/case.yaml", "name: two\nprompt: p\ngraders:\n  - command: 'true'\n")
	put(t, dir, "three/case.yaml", "promptt: p\ngraders:\n  - comand: 'true'\n")
	_, err := Load(dir)
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
	for _, want := range []string{
		`suite.yaml:1: there is no key "nmae"; did you mean "name"?`,
		"suite.yaml:5: a grader has one kind, not command and answer",
		"suite.yaml:8: the case has no name",
		"suite.yaml:10: judge: add the key rubric",
		"suite.yaml:11: a grader needs one of the keys",
		`suite.yaml:12: file: path must be a path within the folder of the trial, not "../x"`,
		"suite.yaml:13: file: a file that is absent has no content",
		"suite.yaml:14: answer: matches: error parsing regexp",
		"suite.yaml:15: schema: ",
		"suite.yaml:16: trajectory: add at least one of",
		"suite.yaml:17: write prompt or prompts, not both",
		"suite.yaml:17: folder: there is no folder",
		"suite.yaml:17: repository: there is no folder",
		"suite.yaml:17: allow: ",
		"suite.yaml:24: a step of a script needs one of the keys",
		"suite.yaml:28: contains must be a list, such as [a, b]",
		"suite.yaml:3: mode: unknown permission mode",
		"one/case.yaml:1: a case in a folder has the name of the folder",
		`suite.yaml: two cases have the name "one"`,
		`three/case.yaml:3: there is no key "comand" in a member of graders; did you mean "command"?`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no mistake %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "three/case.yaml:3: a grader needs") || strings.Contains(got, "has no prompt") || strings.Contains(got, "suite.yaml:28: answer") {
		t.Errorf("mistakes that follow from others:\n%s", got)
	}
	if _, err := Load(filepath.Join(dir, "one")); err == nil || !strings.Contains(err.Error(), "a suite is a folder with the file suite.yaml") {
		t.Error(err)
	}
}

// A case can begin with a commit of a repository.
func TestRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q")
	put(t, repo, "a.txt", "first")
	run("add", ".")
	run("commit", "-q", "-m", "first")
	first := run("rev-parse", "HEAD")
	put(t, repo, "a.txt", "second")
	run("commit", "-q", "-a", "-m", "second")
	put(t, dir, "suite.yaml", `
sandbox: {off: true}
cases:
  - name: old
    prompt: p
    repository: repo
    commit: `+first+`
    files: {more.txt: more}
    script: [{say: a}]
    graders: [{file: {path: a.txt, equals: first}}, {file: {path: more.txt, equals: more}}, {command: git diff --quiet HEAD}]
  - name: new
    prompt: p
    repository: repo
    script: [{say: a}]
    graders: [{file: {path: a.txt, equals: second}}]
`)
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	Test(t, Evaluation{Suite: s, Variants: []Variant{ofCase}})
}

// A case can have a recorded session in the place of a model.
func TestRecorded(t *testing.T) {
	dir := t.TempDir()
	a := &agent.Agent{Model: scripted([]stepSpec{{Calls: []callSpec{{"Write", json.RawMessage(`{"file_path":"out.txt","content":"recorded"}`)}}}, {Say: "done"}}),
		Sessions: session.Dir(filepath.Join(dir, "store"))}
	s := a.Session("before")
	if _, err := s.Prompt(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "suite.yaml", `
defaults: {mode: acceptEdits}
cases:
  - {name: c, prompt: p, session: store/before, graders: [{file: {path: out.txt, equals: recorded}}]}
`)
	suite, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	Test(t, Evaluation{Suite: suite, Variants: []Variant{ofCase}})
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A suite copies no folder from elsewhere.
func TestFolderOutside(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "keys/id", "secret")
	put(t, dir, "suite/shared/a", "fine")
	if err := os.Symlink("../keys", filepath.Join(dir, "suite", "linked")); err != nil {
		t.Skip(err)
	}
	for folder, want := range map[string]string{"shared": "", "linked": "outside of the suite", "../keys": "outside of the suite", "nowhere": "there is no folder"} {
		put(t, dir, "suite/suite.yaml", "cases: [{name: c, prompt: p, folder: "+folder+", graders: [{command: 'true'}]}]\n")
		if _, err := Load(filepath.Join(dir, "suite")); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// Git reads repositories only by protocols that neither run programs nor wait for a pipe of this process.
func TestProtocols(t *testing.T) {
	for _, address := range []string{"fd::17", "ext::sleep 60"} {
		err := clone(t.Context(), address, "", t.TempDir())
		if err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
