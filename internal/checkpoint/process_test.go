package checkpoint_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/checkpoint"
)

// The test program is started again as other processes, told by this variable
// what to be.
const role = "CHECKPOINT_TEST_ROLE"

var roles = map[string]func(s *checkpoint.Store, root string) error{"busy": beBusy, "take": takeOften}

func TestMain(m *testing.M) {
	be := roles[os.Getenv(role)]
	if be == nil {
		goleak.VerifyTestMain(m)
		return
	}
	s := &checkpoint.Store{Dir: os.Getenv("CHECKPOINT_TEST_STORE")}
	if err := be(s, os.Getenv("CHECKPOINT_TEST_ROOT")); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process prepares a process in the given role.
func process(t *testing.T, s *checkpoint.Store, root, as string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), role+"="+as, "CHECKPOINT_TEST_STORE="+s.Dir, "CHECKPOINT_TEST_ROOT="+root)
	return cmd
}

// beBusy does all that a store can do, over and over, and says what it has taken.
func beBusy(s *checkpoint.Store, root string) error {
	ctx := context.Background()
	s.Quota = 3 << 20
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), 0))
	for {
		for range 1 + r.IntN(5) {
			path := filepath.Join(root, fmt.Sprint("d", r.IntN(3)), strconv.Itoa(r.IntN(5)))
			_ = os.MkdirAll(filepath.Dir(path), 0o700)
			if err := os.WriteFile(path, noise(r.Int(), r.IntN(20_000)), 0o600); err != nil {
				return err
			}
		}
		c, err := s.Take(ctx, checkpoint.Mark{Session: session}, root)
		if err != nil {
			return err
		}
		fmt.Println(c.ID)
		list, err := s.List(ctx, session)
		if err != nil {
			return err
		}
		switch r.IntN(5) {
		case 0:
			_, err = s.Prune(ctx)
		case 1, 2:
			_, err = s.Restore(ctx, session, list[r.IntN(len(list))].ID, checkpoint.Restoring{})
		case 3:
			err = s.Fork(ctx, session, "fork", 0)
		}
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) { // dropped by our own prune
			return err
		}
	}
}

// Wherever a program is killed, the store opens again, all that it lists can be
// restored, and nothing unfinished stays in the tree.
func TestKill(t *testing.T) {
	points := 30
	if testing.Short() {
		points = 5
	}
	sideBySide(4, func(i int) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { killOften(t, points, uint64(i)) })
	})
}

func killOften(t *testing.T, points int, seed uint64) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	s := newStore(t)
	r := rand.New(rand.NewPCG(3, seed))
	for i := range points {
		cmd := process(t, s, root, "busy")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewReader(out)
		if i%3 > 0 { // otherwise the start may be hit
			if line, err := lines.ReadString('\n'); err != nil {
				t.Fatalf("point %d: %q, %v", i, line, err)
			}
		}
		time.AfterFunc(time.Duration(r.IntN(100_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		text, err := io.ReadAll(lines)
		must(t, err)
		_ = cmd.Wait()
		if strings.Contains(string(text), "error") {
			t.Fatalf("point %d: %s", i, text)
		}
		damage, err := s.Verify(t.Context())
		if err != nil || len(damage) > 0 {
			t.Fatalf("point %d: %+v, %v", i, damage, err)
		}
		if i%10 != 9 {
			continue
		}
		list, err := s.List(t.Context(), session)
		must(t, err)
		for range 5 { // each takes one itself
			c := list[r.IntN(len(list))]
			r, err := s.Restore(t.Context(), session, c.ID, checkpoint.Restoring{})
			if errors.Is(err, checkpoint.ErrNotFound) {
				continue // a full store drops the oldest
			}
			if err != nil || len(r.Left) > 0 {
				t.Fatalf("point %d: %+v, %v", i, r, err)
			}
		}
		_, err = s.Prune(t.Context())
		must(t, err)
		for _, pattern := range []string{filepath.Join(root, ".openagent-*"), filepath.Join(s.Dir, "tmp", "*")} {
			if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
				t.Fatalf("point %d: %q is left, %v", i, left, err)
			}
		}
	}
}

// takeOften takes checkpoints of a tree of its own and restores each.
func takeOften(s *checkpoint.Store, root string) error {
	ctx := context.Background()
	for i := range 15 {
		path := filepath.Join(root, "a")
		text := fmt.Sprint("content ", i) // the same in all processes
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		c, err := s.Take(ctx, checkpoint.Mark{Session: root}, root)
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		if _, err := s.Restore(ctx, root, c.ID, checkpoint.Restoring{}); err != nil {
			return err
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			return fmt.Errorf("restored %q, %v", got, err)
		}
		if err := s.Drop(ctx, root); err != nil {
			return err
		}
	}
	return nil
}

// Several processes store, drop and prune the same content at once: none loses
// what it needs.
func TestProcesses(t *testing.T) {
	s := newStore(t)
	var all []*exec.Cmd
	var outs []*strings.Builder
	for range 3 {
		cmd := process(t, s, t.TempDir(), "take")
		out := new(strings.Builder)
		cmd.Stdout = out
		must(t, cmd.Start())
		all, outs = append(all, cmd), append(outs, out)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, outs[i])
		}
	}
	if damage, err := s.Verify(t.Context()); err != nil || len(damage) > 0 {
		t.Error(damage, err)
	}
}
