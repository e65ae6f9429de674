package eval

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
)

// Links in a repository lead no file of the case out of the trial's folder.
func TestLinksOfARepositoryLeadNowhere(t *testing.T) {
	outside, repository, folder := t.TempDir(), t.TempDir(), t.TempDir()
	precious := filepath.Join(outside, "precious")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(precious, "precious")
	for from, to := range map[string]string{"config": precious, "sub": outside, "link": precious} {
		if err := os.Symlink(to, filepath.Join(repository, from)); err != nil {
			t.Skip(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write(filepath.Join(folder, "link"), "of the case")
	for _, c := range []struct {
		files map[string]string
		fails bool
	}{{map[string]string{"config": "of the case"}, false}, {map[string]string{"sub/new": "of the case"}, true}} {
		suite := &Suite{Name: "links", Cases: []Case{{Name: "links", Prompts: []string{"hi"}, Repository: repository, Folder: folder, Files: c.files,
			Graders: []Grader{{Grade: func(_ context.Context, p *Place, _ *Trial) (Grade, error) {
				for _, name := range []string{"config", "link"} {
					if data, err := p.read(name); err != nil || string(data) != "of the case" {
						return failed("%s is %q, %v", name, data, err)
					}
				}
				return passed()
			}}}}}}
		e := Evaluation{Suite: suite, Variants: []Variant{{Name: "v", Open: func(context.Context, *Place) (*agent.Agent, error) {
			return &agent.Agent{Model: llmtest.Script(llmtest.Step{Text: "ok"})}, nil
		}}}}
		r, err := e.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		trial := r.Trials[0]
		if c.fails != strings.Contains(trial.Error, "escapes") || trial.Passed == c.fails {
			t.Errorf("%v: %+v", c.files, trial)
		}
	}
	if data, err := os.ReadFile(precious); err != nil || string(data) != "precious" {
		t.Errorf("a file outside is now %q, %v", data, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("there are files outside: %v, %v", entries, err)
	}
}

// A score that is no number is an error of its trial, and does not end the evaluation.
func TestScoresAreNumbers(t *testing.T) {
	for _, score := range []float64{math.NaN(), math.Inf(1), -1, 2} {
		suite := &Suite{Name: "scores", Cases: []Case{{Name: "c", Prompts: []string{"hi"}, Graders: []Grader{{Grade: func(context.Context, *Place, *Trial) (Grade, error) {
			return Grade{Passed: true, Score: score}, nil
		}}}}}}
		e := Evaluation{Suite: suite, Dir: t.TempDir(), Variants: []Variant{{Name: "v", Open: func(context.Context, *Place) (*agent.Agent, error) {
			return &agent.Agent{Model: llmtest.Script(llmtest.Step{Text: "ok"})}, nil
		}}}}
		if r, err := e.Run(t.Context()); err != nil || len(r.Trials) != 1 || r.Trials[0].Passed || !strings.Contains(r.Trials[0].Error, "not from 0 to 1") {
			t.Errorf("score %v: %+v, %v", score, r, err)
		}
	}
}
