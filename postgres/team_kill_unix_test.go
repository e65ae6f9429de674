//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/team"
)

// Variables that make this program a member of the team in the database that they name.
const (
	memberVar     = "TEST_MEMBER"
	memberNameVar = "TEST_MEMBER_NAME"
)

// memberProcess does tasks and reports each to its leader, until it is killed.
func memberProcess(url, name string) int {
	ctx := context.Background()
	err := func() error {
		db, err := postgres.Open(ctx, url, postgres.Options{Lease: killBeat})
		if err != nil {
			return err
		}
		defer db.Close()
		store := db.Team()
		for {
			task, err := store.Claim(ctx, "s", name, killBeat)
			if errors.Is(err, team.ErrNone) {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			if err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
			if _, err := store.Send(ctx, "s", team.Message{ID: task.ID, From: name, To: "lead", Content: name}); err != nil {
				return err
			}
			if _, err := store.UpdateTask(ctx, "s", task.ID, team.Change{Status: team.Completed, Output: &name, Holder: name}); err != nil && !errors.Is(err, team.ErrTaken) {
				return err
			}
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestKilledMembers kills members of a team in the middle of their work. Each task is done in
// the end, and the leader hears of each once.
func TestKilledMembers(t *testing.T) {
	t.Parallel()
	const tasks, members, kills = 150, 3, 6
	url := database(t)
	store := connect(t, url, postgres.Options{Lease: killBeat}).Team()
	defer store.Close()
	var names []string
	for i := range members {
		names = append(names, fmt.Sprint("member ", i))
	}
	if _, err := store.CreateTeam(t.Context(), "s", "red", "lead", names, ""); err != nil {
		t.Fatal(err)
	}
	for range tasks {
		if _, err := store.AddTask(t.Context(), "s", team.Task{Subject: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	start := func(i int) *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), memberVar+"="+url, memberNameVar+"="+names[i], "GORACE=atexit_sleep_ms=0")
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		return c
	}
	var working []*exec.Cmd
	for i := range names {
		working = append(working, start(i))
	}
	heard := map[string]int{}
	hear := func() {
		t.Helper()
		err := store.Take(t.Context(), "s", "lead", func(mail []team.Message) error {
			for _, m := range mail {
				heard[m.ID]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range kills {
		time.Sleep(time.Duration(50+random.IntN(150)) * time.Millisecond)
		hear()
		i := random.IntN(members)
		_ = working[i].Process.Kill()
		_ = working[i].Wait()
		working[i] = start(i)
	}
	open := tasks
	for wait := time.Duration(0); open > 0 && wait < time.Minute; wait += 50 * time.Millisecond {
		time.Sleep(50 * time.Millisecond)
		all, err := store.Tasks(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		open = 0
		for _, task := range all {
			if task.Status != team.Completed {
				open++
			}
		}
	}
	hear()
	if open > 0 || len(heard) != tasks {
		t.Errorf("%d tasks are left, %d of %d reports came", open, len(heard), tasks)
	}
	for id, n := range heard {
		if n != 1 {
			t.Errorf("the report about %s came %d times", id, n)
		}
	}
}
