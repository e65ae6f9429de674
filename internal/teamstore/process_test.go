package teamstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/teamstore"
)

// The test program is started again as other processes, told by these variables
// which folder to use, what to do there and under which name.
const (
	childDir  = "TEAM_TEST_DIR"
	childTask = "TEAM_TEST_TASK"
	childName = "TEAM_TEST_NAME"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childDir); path != "" {
		d := &teamstore.Dir{Path: path}
		if err := children[os.Getenv(childTask)](d, os.Getenv(childName)); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// children are the jobs of other processes. They print acknowledged changes.
var children = map[string]func(d *teamstore.Dir, name string) error{
	"busy":   busy,
	"work":   work,
	"hold":   hold,
	"take":   takeAndDie,
	"sender": sendAndDie,
	"agent":  beAtWork,
}

// busy adds, claims and completes tasks and writes to itself, until it is killed.
func busy(d *teamstore.Dir, name string) error {
	ctx := context.Background()
	for n := 0; ; n++ {
		made, err := d.AddTask(ctx, "s", teamstore.Task{Subject: name})
		if err != nil {
			return err
		}
		fmt.Println("added", made.ID)
		claimed, err := teamstore.Claim(ctx, d, "s", name, time.Hour)
		if err != nil {
			return err
		}
		fmt.Println("claimed", claimed.ID)
		if _, err := d.UpdateTask(ctx, "s", claimed.ID, teamstore.Change{Status: teamstore.Completed, Output: &name, Holder: name}); err != nil {
			return err
		}
		fmt.Println("done", claimed.ID)
		id := fmt.Sprint(name, "-", n)
		if _, err := d.Send(ctx, "s", teamstore.Message{ID: id, From: name, To: "reader", Content: "x"}); err != nil && !errors.Is(err, teamstore.ErrBoxFull) {
			return err
		} else if err == nil {
			fmt.Println("sent", id)
		}
	}
}

// work does tasks until there are none.
func work(d *teamstore.Dir, name string) error {
	ctx := context.Background()
	for {
		claimed, err := teamstore.Claim(ctx, d, "s", name, 2*time.Second)
		if errors.Is(err, teamstore.ErrNone) {
			left, err := d.Tasks(ctx, "s", teamstore.Filter{})
			if err != nil {
				return err
			}
			open := 0
			for _, t := range left {
				if !t.Status.Final() {
					open++
				}
			}
			if open == 0 {
				return nil
			}
			time.Sleep(10 * time.Millisecond) // others are at it
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println("claimed", claimed.ID)
		if _, err := d.UpdateTask(ctx, "s", claimed.ID, teamstore.Change{Status: teamstore.Completed, Output: &name, Holder: name}); err != nil {
			return err
		}
		fmt.Println("done", claimed.ID)
	}
}

// hold claims a task and does no more.
func hold(d *teamstore.Dir, name string) error {
	claimed, err := teamstore.Claim(context.Background(), d, "s", name, 2*time.Second)
	if err != nil {
		return err
	}
	fmt.Println("claimed", claimed.ID)
	return untilKilled()
}

// untilKilled waits. A select without cases would be a deadlock to the runtime where it
// finds no other goroutine, and end the process.
func untilKilled() error {
	time.Sleep(time.Hour)
	return nil
}

// takeAndDie reads its mail and dies before it is taken out.
func takeAndDie(d *teamstore.Dir, name string) error {
	return d.Take(context.Background(), "s", name, func(messages []teamstore.Message) error {
		for _, m := range messages {
			fmt.Println("read", m.ID)
		}
		return untilKilled()
	})
}

// sendAndDie sends and dies before it can take note of it.
func sendAndDie(d *teamstore.Dir, name string) error {
	if _, err := d.Send(context.Background(), "s", teamstore.Message{ID: "s/c1.0", From: name, To: "ann", Content: "x"}); err != nil {
		return err
	}
	fmt.Println("sent s/c1.0")
	return untilKilled()
}

// beAtWork registers and lives on.
func beAtWork(d *teamstore.Dir, name string) error {
	if err := d.Register(context.Background(), "s", teamstore.Agent{Name: name}); err != nil {
		return err
	}
	fmt.Println("at work")
	return untilKilled()
}

// A child is another process. Its words come line by line.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, dir, task, name string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childDir+"="+dir, childTask+"="+task, childName+"="+name, "GORACE=atexit_sleep_ms=0", "GOMAXPROCS=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &child{cmd, bufio.NewScanner(out)}
}

// kill ends the process at once and returns its last output.
func (c *child) kill() []string {
	_ = c.cmd.Process.Kill()
	return c.rest()
}

// rest returns the output of the process until its end.
func (c *child) rest() (lines []string) {
	for c.lines.Scan() {
		lines = append(lines, c.lines.Text())
	}
	_ = c.cmd.Wait()
	return lines
}

// said waits for the next line.
func (c *child) said(t *testing.T, want string) {
	t.Helper()
	if !c.lines.Scan() || !strings.HasPrefix(c.lines.Text(), want) {
		t.Fatalf("the process says %q, want %s", c.lines.Text(), want)
	}
}

// TestKilledAnywhere: processes that share a folder are killed at any moment. Acknowledged
// changes are there, nothing was done twice, and the folder stays usable.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	const rounds, processes = 25, 8
	dir := t.TempDir()
	d := open(t, &teamstore.Dir{Path: dir, Box: 100_000})
	var names []string
	for i := range processes {
		names = append(names, fmt.Sprint("p", i))
	}
	if _, err := d.CreateTeam(t.Context(), "s", "all", "reader", names, ""); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	r := rand.New(rand.NewPCG(9, 10))
	for range rounds {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, name := range names {
			c := start(t, dir, "busy", name)
			after := r.IntN(7) // lines
			wg.Go(func() {
				var lines []string
				for range after {
					if !c.lines.Scan() {
						break
					}
					lines = append(lines, c.lines.Text())
				}
				lines = append(lines, c.kill()...)
				mu.Lock()
				defer mu.Unlock()
				for _, line := range lines {
					seen[line]++
				}
			})
		}
		wg.Wait()
		// A task whose owner was killed would wait for its lease.
		started, err := d.Tasks(t.Context(), "s", teamstore.Filter{Status: teamstore.InProgress})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range started {
			if _, err := d.UpdateTask(t.Context(), "s", task.ID, teamstore.Change{Status: teamstore.Cancelled}); err != nil {
				t.Error(err)
			}
		}
	}
	tasks, err := d.Tasks(t.Context(), "s", teamstore.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]teamstore.Status{}
	for _, task := range tasks {
		status[task.ID] = task.Status
	}
	var mail []teamstore.Message
	if err := d.Take(t.Context(), "s", "reader", func(m []teamstore.Message) error { mail = m; return nil }); err != nil {
		t.Fatal(err)
	}
	received := map[string]int{}
	for _, m := range mail {
		received[m.ID]++
	}
	done := 0
	for line, n := range seen {
		what, id, _ := strings.Cut(line, " ")
		switch {
		case what == "error:":
			t.Errorf("a process failed: %s", line)
		case what == "sent":
			if received[id] != 1 {
				t.Errorf("the message %s was sent %d times and has come %d times", id, n, received[id])
			}
		case n != 1:
			t.Errorf("%q was said %d times", line, n)
		case what == "added" && status[id] == "":
			t.Errorf("%s was added and is not there", id)
		case what == "done":
			if done++; status[id] != teamstore.Completed {
				t.Errorf("%s was completed and is %s", id, status[id])
			}
		}
	}
	if done < rounds*processes/8 {
		t.Errorf("%d tasks were done in all: the test is idle", done)
	}
}

// TestWorkersKilled: of eight processes that work on one list one dies with a task
// in its hands. Each task is done once, that one by another when its lease is over.
func TestWorkersKilled(t *testing.T) {
	t.Parallel()
	const tasks = 60
	dir := t.TempDir()
	d := open(t, &teamstore.Dir{Path: dir})
	for i := range tasks {
		x := teamstore.Task{Subject: fmt.Sprint("n", i)}
		if i > 2 {
			x.BlockedBy = []string{fmt.Sprintf("task_%d", i-2)}
		}
		if _, err := d.AddTask(t.Context(), "s", x); err != nil {
			t.Fatal(err)
		}
	}
	dead := start(t, dir, "hold", "dead")
	dead.said(t, "claimed task_1")
	var workers []*child
	for i := range 7 {
		workers = append(workers, start(t, dir, "work", fmt.Sprint("w", i)))
	}
	dead.kill()
	times := map[string]int{}
	for _, w := range workers {
		for _, line := range w.rest() {
			times[line]++
		}
	}
	for i := range tasks {
		id := fmt.Sprintf("task_%d", i+1)
		if times["claimed "+id] != 1 || times["done "+id] != 1 {
			t.Errorf("%s was claimed %d times and done %d times", id, times["claimed "+id], times["done "+id])
		}
	}
	if got, err := d.Tasks(t.Context(), "s", teamstore.Filter{Status: teamstore.Completed}); err != nil || len(got) != tasks {
		t.Errorf("%d tasks are completed, %v", len(got), err)
	}
}

// TestMailKilled: a sender that died after it had sent and sends again, and a
// reader that died before it had taken out: the message comes, with one id, and
// once to who takes it out.
func TestMailKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, &teamstore.Dir{Path: dir})
	if _, err := d.CreateTeam(t.Context(), "s", "red", "lead", []string{"ann"}, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sender := start(t, dir, "sender", "lead")
		sender.said(t, "sent s/c1.0")
		sender.kill()
	}
	for range 2 {
		reader := start(t, dir, "take", "ann")
		reader.said(t, "read s/c1.0")
		reader.kill()
	}
	var got []teamstore.Message
	keep := func(m []teamstore.Message) error { got = append(got, m...); return nil }
	for range 2 {
		if err := d.Take(t.Context(), "s", "ann", keep); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 1 || got[0].ID != "s/c1.0" {
		t.Errorf("got %+v", got)
	}
	sender := start(t, dir, "sender", "lead")
	sender.said(t, "sent s/c1.0")
	sender.kill()
	if err := d.Take(t.Context(), "s", "ann", func([]teamstore.Message) error { return errors.New("it came again") }); err != nil {
		t.Error(err)
	}
}

// TestReadersWait: while one process reads a mailbox another waits for it.
func TestReadersWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, &teamstore.Dir{Path: dir})
	if _, err := d.CreateTeam(t.Context(), "s", "red", "lead", []string{"ann"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Send(t.Context(), "s", teamstore.Message{From: "lead", To: "ann", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	reader := start(t, dir, "take", "ann")
	reader.said(t, "read msg_1")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.Take(ctx, "s", "ann", func([]teamstore.Message) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two processes take at once: %v", err)
	}
	if _, err := d.Send(t.Context(), "s", teamstore.Message{From: "lead", To: "ann", Content: "meanwhile"}); err != nil {
		t.Error(err)
	}
	reader.kill()
	var got []teamstore.Message
	if err := d.Take(t.Context(), "s", "ann", func(m []teamstore.Message) error { got = m; return nil }); err != nil || len(got) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestAgentsKilled: the name of an agent is its own as long as its program lives.
func TestAgentsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, &teamstore.Dir{Path: dir})
	working := func() (names string) {
		t.Helper()
		all, err := d.Agents(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			names += a.Name + " "
		}
		return names
	}
	if got := working(); got != "" {
		t.Errorf("at work are %s", got)
	}
	ann := start(t, dir, "agent", "ann")
	ann.said(t, "at work")
	if err := d.Register(t.Context(), "s", teamstore.Agent{Name: "ann"}); !errors.Is(err, teamstore.ErrNameTaken) {
		t.Errorf("two are called ann: %v", err)
	}
	if err := d.Register(t.Context(), "s", teamstore.Agent{Name: "bob"}); err != nil {
		t.Error(err)
	}
	if got := working(); got != "ann bob " {
		t.Errorf("at work are %s", got)
	}
	ann.kill()
	if got := working(); got != "bob " {
		t.Errorf("at work are %s", got)
	}
	if err := d.Register(t.Context(), "s", teamstore.Agent{Name: "ann"}); err != nil {
		t.Errorf("a dead agent keeps its name: %v", err)
	}
	if err := d.EndSession("s"); err != nil {
		t.Fatal(err)
	}
	if got := working(); got != "" {
		t.Errorf("at the end of the session there are at work %s", got)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "s", "alive")); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
