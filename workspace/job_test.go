//go:build unix

package workspace

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestJobs(t *testing.T) {
	w := openWorkspace(t, true)
	run(t, w, "A=5; cd /")
	job := func(command string) string {
		t.Helper()
		id, _, err := w.StartJob(t.Context(), CommandLine{Command: command})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	report := func(id string, wait time.Duration) *Outcome {
		t.Helper()
		r, err := w.Job(t.Context(), "", id, nil, wait)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	long := job("echo one $A $PWD; A=6; sleep 1000")
	short := job("echo short; exit 3")
	if long != "bash_1" || short != "bash_2" {
		t.Errorf("ids %s, %s", long, short)
	}
	var first *Outcome
	eventually(t, "output", func() bool { first = report(long, 0); return first.Text != "" })
	if first.Text != "one 5 /\n" || !first.Running {
		t.Errorf("%+v", first)
	}
	if r := report(long, 0); r.Text != "" || !r.Running {
		t.Errorf("again: %+v", r)
	}
	if o := run(t, w, "echo $A"); o.Text != "5\n" {
		t.Errorf("the job changed the shell: %q", o.Text)
	}

	var notices []string
	eventually(t, "a notice", func() bool { notices = w.Notices(""); return len(notices) > 0 })
	if len(notices) != 1 || !strings.Contains(notices[0], "bash_2 (echo short; exit 3) exited with exit code 3") {
		t.Errorf("notices %q", notices)
	}
	if r := report(short, time.Hour); r.Text != "short\n" || r.Running || r.Stopped || r.Code != 3 {
		t.Errorf("%+v", r)
	}
	r, err := w.StopJob(t.Context(), "", long)
	if err != nil || r.Running || !r.Stopped {
		t.Errorf("%+v, %v", r, err)
	}
	if again, err := w.StopJob(t.Context(), "", long); err != nil || again.Running || !again.Stopped {
		t.Errorf("%+v, %v", again, err)
	}
	if left := append(w.Notices(""), w.Notices("other")...); left != nil {
		t.Errorf("notices of what was reported: %q", left)
	}
	if _, err := w.Job(t.Context(), "other", long, nil, 0); err == nil || !strings.Contains(err.Error(), "no such job") {
		t.Errorf("another session sees the job: %v", err)
	}
}

func TestJobNumbersSurvive(t *testing.T) {
	w := openWorkspace(t, true)
	id, state, err := w.StartJob(t.Context(), CommandLine{Command: "true", State: json.RawMessage(`{"dir":"","jobs":7}`)})
	if err != nil || id != "bash_8" || !strings.Contains(string(state), `"jobs":8`) {
		t.Errorf("%s, %s, %v", id, state, err)
	}
}

func TestJobsEnd(t *testing.T) {
	for _, end := range []func(w *Workspace) error{
		(*Workspace).Close,
		func(w *Workspace) error { return w.EndSession("s") },
	} {
		w := openWorkspace(t, true)
		for range 3 {
			if _, _, err := w.StartJob(t.Context(), CommandLine{Session: "s", Command: "sleep 1000 & sleep 1000"}); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		started := make(chan struct{})
		wg.Go(func() {
			o, err := w.Run(t.Context(), CommandLine{Session: "s", Command: "echo started; sleep 1000", Tail: func([]string) { close(started) }})
			if err != nil || !o.Stopped {
				t.Errorf("%+v, %v", o, err)
			}
		})
		<-started
		if err := end(w); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if err := end(w); err != nil {
			t.Errorf("the second time: %v", err)
		}
		w.shell.mu.Lock()
		n := len(w.shell.guard.groups)
		w.shell.mu.Unlock()
		if n != 0 {
			t.Errorf("%d process groups are left", n)
		}
	}
}

func TestJobsAreBounded(t *testing.T) {
	w := openWorkspace(t, true)
	for range maxJobs {
		if _, _, err := w.StartJob(t.Context(), CommandLine{Command: "sleep 1000"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.StartJob(t.Context(), CommandLine{Command: "sleep 1000"}); err == nil {
		t.Error("one too many was started")
	}
	if _, err := w.StopJob(t.Context(), "", "bash_1"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.StartJob(t.Context(), CommandLine{Command: "sleep 1000"}); err != nil {
		t.Error(err)
	}
}

// A person sees the running jobs of every session, and ends one; the session hears of it.
func TestRunningJobs(t *testing.T) {
	w := &Workspace{Root: "/"}
	defer w.Close()
	for _, session := range []string{"b", "a", "a"} {
		if _, _, err := w.StartJob(t.Context(), CommandLine{Session: session, Command: "sleep 1000"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.StopJob(t.Context(), "a", "bash_1"); err != nil {
		t.Fatal(err)
	}
	if got := w.RunningJobs(); !slices.Equal(got, []RunningJob{{"a", "bash_2", "sleep 1000"}, {"b", "bash_1", "sleep 1000"}}) {
		t.Errorf("running: %+v", got)
	}
	if err := w.EndJob(t.Context(), "b", "bash_1"); err != nil {
		t.Fatal(err)
	}
	if got := w.RunningJobs(); !slices.Equal(got, []RunningJob{{"a", "bash_2", "sleep 1000"}}) {
		t.Errorf("after the end: %+v", got)
	}
	if got := w.Notices("b"); len(got) != 1 || !strings.Contains(got[0], "bash_1 (sleep 1000) stopped") {
		t.Errorf("notices %q", got)
	}
	if err := w.EndJob(t.Context(), "b", "bash_2"); !errors.Is(err, ErrNoJob) {
		t.Errorf("a job that is not there: %v", err)
	}
}
