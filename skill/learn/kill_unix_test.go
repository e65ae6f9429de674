//go:build unix

package learn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const deciderVar = "LEARN_TEST_DECIDER"

func TestMain(m *testing.M) {
	if root := os.Getenv(deciderVar); root != "" {
		decideForever(root)
	}
	os.Exit(m.Run())
}

// step is the skill with a step of this name.
func step(name string) string {
	return "---\nname: release\ndescription: Releases\n---\n" + strings.Repeat("Look at everything first.\n", 200) + "Step " + name + ".\n"
}

func change(root, name string) (Proposal, error) {
	file := filepath.Join(root, ".agents", "skills", "release", "SKILL.md")
	now, err := os.ReadFile(file)
	return Proposal{Skill: "release", Root: root, File: file, Before: new(string(now)), After: step(name), Why: "it is a test"}, err
}

// decideForever accepts proposals and undoes them until it is killed.
func decideForever(root string) {
	s := &Store{Dir: filepath.Join(root, "proposals")}
	for i := 0; ; i++ {
		p, err := change(root, fmt.Sprintf("%d-%d", os.Getpid(), i))
		id := ""
		if err == nil {
			id, err = s.Add(context.Background(), p)
		}
		if err == nil {
			_, err = s.Accept(context.Background(), id)
		}
		if err == nil && i%2 == 1 {
			_, err = s.Undo(context.Background(), id)
		}
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		fmt.Println(id)
	}
}

// A process is killed while it accepts proposals and undoes them. The file of the skill is never torn,
// no proposal is, and the decision that was cut off can be made again. KILLS says how often; 10 is the
// default.
func TestKilledDecisions(t *testing.T) {
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, ".agents", "skills", "release", "SKILL.md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(step("one")), 0o644)); err != nil {
		t.Fatal(err)
	}
	store := &Store{Dir: filepath.Join(root, "proposals")}
	for kill := range kills {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), deciderVar+"="+root, "GORACE=atexit_sleep_ms=0")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Scan() // it works
		first := lines.Text()
		time.Sleep(rand.N(20 * time.Millisecond))
		_ = c.Process.Kill()
		for lines.Scan() {
			first = lines.Text()
		}
		_ = c.Wait()
		if strings.HasPrefix(first, "failed") {
			t.Fatal(first)
		}
		all, problems := store.All()
		if len(problems) > 0 {
			t.Fatalf("kill %d: %v", kill, problems)
		}
		now, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(now), step("")[:100]) || !strings.HasSuffix(string(now), ".\n") || len(now) < len(step("")) {
			t.Fatalf("kill %d: the file is torn: %v, %d bytes", kill, err, len(now))
		}
		for _, p := range all {
			if p.State != Pending {
				continue
			}
			if _, err := store.Accept(t.Context(), p.ID); err != nil && !errors.Is(err, ErrChanged) {
				t.Fatalf("kill %d: the decision cannot be made again: %v", kill, err)
			}
			if now, _ := os.ReadFile(file); string(now) == p.After {
				continue
			}
			if _, err := store.Reject(t.Context(), p.ID, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Of several that decide at the same time one does.
func TestDecisionsAtOnce(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, ".agents", "skills", "release", "SKILL.md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(step("one")), 0o644)); err != nil {
		t.Fatal(err)
	}
	store := &Store{Dir: filepath.Join(root, "proposals")}
	p, err := change(root, "two")
	if err != nil {
		t.Fatal(err)
	}
	id, err := store.Add(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	results := make([]error, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			own := &Store{Dir: store.Dir}
			if i%2 == 0 {
				_, results[i] = own.Accept(t.Context(), id)
			} else {
				_, results[i] = own.Reject(t.Context(), id, "no")
			}
		})
	}
	wg.Wait()
	done := 0
	for _, err := range results {
		switch {
		case err == nil:
			done++
		case !errors.Is(err, ErrDecided):
			t.Error(err)
		}
	}
	got, err := store.Get(id)
	now, _ := os.ReadFile(file)
	if done != 1 || err != nil || (got.State == Accepted) != (string(now) == step("two")) {
		t.Errorf("%d decisions, %+v, %v", done, got, err)
	}
}
