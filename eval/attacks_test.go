package eval

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// gitIn runs git without the settings of the machine.
func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

// Links of a repository or of a case's files lead no file of the case out of the trial's folder.
func TestLinksOfFiles(t *testing.T) {
	fine := Grader{Kind: "go", Name: "fine", Grade: func(context.Context, *Place, *Trial) (Grade, error) { return passed() }}
	for name, prepare := range map[string]func(outside string, c *Case){
		"files through a linked folder": func(outside string, c *Case) {
			c.Folder = t.TempDir()
			link(t, outside, filepath.Join(c.Folder, "out"))
			c.Files = map[string]string{"out/victim": "attacked", "out/new": "attacked"}
		},
		"files through a linked file": func(outside string, c *Case) {
			c.Folder = t.TempDir()
			link(t, filepath.Join(outside, "victim"), filepath.Join(c.Folder, "a"))
			c.Files = map[string]string{"a": "attacked"}
		},
		"folder through links of a repository": func(outside string, c *Case) {
			c.Repository, c.Folder = t.TempDir(), t.TempDir()
			link(t, outside, filepath.Join(c.Repository, "out"))
			link(t, filepath.Join(outside, "victim"), filepath.Join(c.Repository, "a"))
			gitIn(t, c.Repository, "init", "-q")
			gitIn(t, c.Repository, "add", ".")
			gitIn(t, c.Repository, "commit", "-qm", "links")
			put(t, c.Folder, "a", "attacked")
			put(t, c.Folder, "out/victim", "attacked")
			put(t, c.Folder, "out/new", "attacked")
			link(t, "victim", filepath.Join(c.Folder, "out", "link"))
		},
		"files of a repository with a dangling link": func(outside string, c *Case) {
			c.Folder = t.TempDir()
			link(t, filepath.Join(outside, "new"), filepath.Join(c.Folder, "a"))
			c.Files = map[string]string{"a": "attacked"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			put(t, outside, "victim", "fine")
			c := Case{Name: "c", Prompts: []string{"p"}, Graders: []Grader{fine}}
			prepare(outside, &c)
			e := &Evaluation{Suite: &Suite{Name: "s", Sandbox: unconfined, Cases: []Case{c}}, Variants: []Variant{scriptedVariant("v", llmtest.Say("done"))}}
			report, err := e.Run(t.Context())
			if err != nil || len(report.Trials) != 1 {
				t.Fatal(report, err)
			}
			if got, _ := os.ReadFile(filepath.Join(outside, "victim")); string(got) != "fine" {
				t.Errorf("the file outside is %q", got)
			}
			if all, _ := os.ReadDir(outside); len(all) != 1 {
				t.Errorf("there are %v outside", all)
			}
		})
	}
}

// A suite copies no files from outside of its folder.
func TestFoldersOutside(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "keys/id", "secret")
	put(t, dir, "suite/shared/a", "fine")
	for folder, wrong := range map[string]bool{"../shared": false, "../../keys": true, "../linked": true, "../linked/sub": true, "../deep/keys": true} {
		t.Run(folder, func(t *testing.T) {
			put(t, dir, "keys/sub/id", "secret")
			_ = os.Symlink("../keys", filepath.Join(dir, "suite", "linked"))
			_ = os.Symlink("..", filepath.Join(dir, "suite", "deep"))
			put(t, dir, "suite/suite.yaml", "name: s\n")
			put(t, dir, "suite/c/case.yaml", "prompt: p\nfolder: "+folder+"\nscript: [{say: a}]\ngraders: [{answer: {equals: a}}]\n")
			_, err := Load(filepath.Join(dir, "suite"))
			if (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "outside of the suite") {
				t.Error(err)
			}
		})
	}
}

// A change of a folder that several cases share is noticed.
func TestSharedFolderCounts(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "shared/a", "one")
	put(t, dir, "suite.yaml", "name: s\n")
	put(t, dir, "c/case.yaml", "prompt: p\nfolder: ../shared\nscript: [{say: a}]\ngraders: [{answer: {equals: a}}]\n")
	sums := map[string]bool{}
	for _, content := range []string{"one", "two"} {
		put(t, dir, "shared/a", content)
		s, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := s.Cases[0].sum()
		if err != nil {
			t.Fatal(err)
		}
		sums[sum] = true
	}
	if len(sums) != 2 {
		t.Error("the change was not noticed")
	}
}

// Commands of a suite do not get the keys of the person who runs it.
func TestSecretsOfCommands(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-attack-0123456789")
	t.Setenv("GITHUB_TOKEN", "ghp_attack0123456789")
	c := Case{Name: "c", Prompts: []string{"p"}, Setup: []string{"env > env.txt"}, Graders: []Grader{Command("grep attack env.txt && exit 7 || exit 0")}}
	e := &Evaluation{Suite: &Suite{Name: "s", Sandbox: unconfined, Cases: []Case{c}}, Variants: []Variant{scriptedVariant("v", llmtest.Say("done"))}}
	report, err := e.Run(t.Context())
	if err != nil || !report.Trials[0].Passed {
		t.Error(report.Trials, err)
	}
}

// A repository's address carries no options and no commands.
func TestAddresses(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	for _, address := range []string{"ext::sh -c touch% " + mark, "--upload-pack=touch " + mark, "-u touch " + mark, "ssh://-oProxyCommand=touch%20" + mark + "/x", "fd::17", "file:///dev/zero"} {
		c := Case{Name: "c", Prompts: []string{"p"}, Repository: address, Graders: []Grader{Command("true")}}
		e := &Evaluation{Suite: &Suite{Name: "s", Sandbox: unconfined, Cases: []Case{c}}, Variants: []Variant{scriptedVariant("v", llmtest.Say("done"))}}
		report, err := e.Run(t.Context())
		if err == nil && report.Trials[0].Error == "" {
			t.Errorf("%s: it was cloned", address)
		}
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%s: its command ran", address)
		}
	}
}
