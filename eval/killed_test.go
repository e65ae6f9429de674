package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
)

const killedCases = 50

// killedSuite notes each trial that begins and each that has ended in files of the folder.
func killedSuite(folder string) *Evaluation {
	note := func(file, line string) error {
		f, err := os.OpenFile(filepath.Join(folder, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(line + "\n")
		return errors.Join(err, f.Close())
	}
	suite := &Suite{Name: "killed", Sandbox: unconfined}
	for i := range killedCases {
		suite.Cases = append(suite.Cases, Case{Name: fmt.Sprintf("c%02d", i), Prompts: []string{"p"}, Setup: []string{"echo x > x"}, Graders: []Grader{Command("test -f x")}})
	}
	return &Evaluation{Suite: suite, Parallel: 4, Dir: filepath.Join(folder, "results"),
		Progress: func(t Trial) { _ = note("ended", t.Case) },
		Variants: []Variant{{Name: "v", Open: func(_ context.Context, p *Place) (*agent.Agent, error) {
			return &agent.Agent{Model: llmtest.Script(llmtest.Step{Text: "a", Delay: 10 * time.Millisecond})}, note("begun", p.Case.Name)
		}}}}
}

// runKilled is the process that is killed.
func runKilled(folder string) {
	if _, err := killedSuite(folder).Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A process that evaluates 50 cases is killed at several moments. Each next one continues, and in
// the end each case has one result. A case whose result was kept never runs again.
func TestKilled(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	journal := filepath.Join(folder, "results", journalFile)
	for _, lines := range []int{5, 17, 18, 36} { // a kill once the journal has so many
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "EVAL_TEST_RUN="+folder)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for done := false; !done; {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatalf("the process ended before it was killed: %v", err)
				}
				ended <- nil // it was faster than this loop
				done = true
				continue
			default:
			}
			data, err := os.ReadFile(journal)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			done = bytes.Count(data, []byte("\n")) > lines
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		<-ended
	}
	kept, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(folder, "begun"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := killedSuite(folder).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Trials) != killedCases {
		t.Fatalf("%d trials", len(report.Trials))
	}
	for i, trial := range report.Trials {
		if trial.Case != fmt.Sprintf("c%02d", i) || !trial.Passed {
			t.Errorf("%d: %+v", i, trial)
		}
	}
	after, err := os.ReadFile(filepath.Join(folder, "begun"))
	if err != nil {
		t.Fatal(err)
	}
	again := strings.Fields(strings.TrimPrefix(string(after), string(before)))
	finished := bytes.Count(kept[:bytes.LastIndexByte(kept, '\n')+1], []byte("\n")) - 1
	if len(again) != killedCases-finished {
		t.Errorf("%d cases had a result, and %d ran after that: %v", finished, len(again), again)
	}
	for _, name := range again {
		if bytes.Contains(kept, []byte(`{"case":"`+name+`"`)) && strings.HasSuffix(string(kept), "\n") {
			t.Errorf("case %s had a result and ran again", name)
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, workPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("folders are left: %v, %v", left, err)
	}
}
