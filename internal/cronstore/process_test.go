package cronstore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/cronstore"
)

// The test program is started again as other processes, told by this variable
// which file to serve.
const served = "CRON_TEST_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(served); path != "" {
		if err := serve(cronstore.File{Path: path}); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serve fires jobs until its input ends, and writes each run to the output.
func serve(f cronstore.File) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		cancel()
	}()
	s := &cronstore.Scheduler{Store: f, Parallel: 20, Fire: func(ctx context.Context, j cronstore.Job, tick time.Time) (string, error) {
		fmt.Printf("%s %s\n", j.Name, tick.UTC().Format(time.RFC3339))
		if j.Name == "hangs" {
			<-ctx.Done()
		}
		return "", nil
	}}
	fmt.Println("ready")
	return s.Run(ctx)
}

// start starts a process that serves the file. end ends it and returns what it ran.
func start(t *testing.T, f cronstore.File) (cmd *exec.Cmd, out *bufio.Scanner, end func() []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), served+"="+f.Path, "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	out = bufio.NewScanner(pipe)
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the process says %q", out.Text())
	}
	return cmd, out, func() (lines []string) {
		_ = in.Close()
		for out.Scan() {
			lines = append(lines, out.Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		return lines
	}
}

// Two processes serve one file: each tick of each job runs once. Many ticks are
// open at the start, and new ones come every second.
func TestProcesses(t *testing.T) {
	f := newFile(t)
	const backlog, jobs = 20, 10
	for i := range jobs {
		add(t, f, fmt.Sprint("job", i), "@every 1s", cronstore.All)
	}
	err := f.Update(t.Context(), func(jobs []cronstore.Job) ([]cronstore.Job, error) {
		for i := range jobs {
			jobs[i].Created = jobs[i].Created.Add(-backlog * time.Second)
		}
		return jobs, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, end1 := start(t, f)
	_, _, end2 := start(t, f)
	wait(t, "the ticks to be claimed", func() bool {
		list, err := f.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list {
			if j.Ticked.Sub(j.Created) < (backlog+3)*time.Second {
				return false
			}
		}
		return true
	})
	ran := [2][]string{end1(), end2()}
	count := map[string]int{}
	for _, lines := range ran {
		for _, l := range lines {
			count[l]++
		}
	}
	t.Logf("%d and %d runs", len(ran[0]), len(ran[1]))
	list, err := f.Load(t.Context())
	if err != nil || len(list) != jobs {
		t.Fatal(len(list), err)
	}
	expected := 0
	for _, j := range list {
		for tick := j.Created.Add(time.Second); !tick.After(j.Ticked); tick = tick.Add(time.Second) {
			key := j.Name + " " + tick.Format(time.RFC3339)
			if count[key] != 1 {
				t.Errorf("%s ran %d times", key, count[key])
			}
			expected++
		}
		if j.Run != nil || len(j.Past) != 10 {
			t.Errorf("%+v", j)
		}
	}
	if total := len(ran[0]) + len(ran[1]); total != expected || total < jobs*backlog {
		t.Errorf("%d runs, want %d", total, expected)
	}
}

// A process that is killed in a run leaves the store whole. Its tick is not run
// again, and others see the job as busy until it has been silent for long.
func TestProcessKilled(t *testing.T) {
	f := newFile(t)
	j := add(t, f, "hangs", "@every 1s", "")
	cmd, out, _ := start(t, f)
	if !out.Scan() || !strings.HasPrefix(out.Text(), "hangs") {
		t.Fatal(out.Text())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	left := job(t, f, j.ID)
	if left.Run == nil || !left.Ticked.Equal(left.Run.Tick) {
		t.Fatalf("%+v", left)
	}
	var d diary
	s := &cronstore.Scheduler{Store: f, Report: d.report, Fire: nothing}
	if err := s.Once(t.Context()); err != nil {
		t.Error(err)
	}
	d.want(t)
	cronstore.SetClock(s, func() time.Time { return time.Now().Add(5 * time.Minute) })
	if err := s.Once(t.Context()); err != nil {
		t.Error(err)
	}
	if past := job(t, f, j.ID).Past; len(past) < 2 || past[0].Status != cronstore.Lost || !past[0].Tick.Equal(left.Run.Tick) || past[1].Status != cronstore.Done {
		t.Errorf("%+v", past)
	}
	if entries, _ := filepath.Glob(filepath.Join(filepath.Dir(f.Path), "*tmp")); len(entries) > 0 {
		t.Error(entries)
	}
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}
