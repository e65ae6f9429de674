//go:build unix

package memory

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

const writerVar = "MEMORY_TEST_WRITER"

func TestMain(m *testing.M) {
	if root := os.Getenv(writerVar); root != "" {
		write(root)
	}
	os.Exit(m.Run())
}

// write adds entries until it is killed, and says which are there. Each fourth time it reviews a
// session.
func write(root string) {
	s := Open(root, ProjectFolder)
	for i := 0; ; i++ {
		if i%4 == 3 {
			if err := reviewOne(s, fmt.Sprintf("session-%d-%d", os.Getpid(), i)); err != nil {
				fmt.Println("failed:", err)
				os.Exit(1)
			}
			continue
		}
		title := fmt.Sprintf("Note %d of %d", i, os.Getpid())
		e, err := s.Add(context.Background(), Entry{Kind: Pitfall, Title: title, Text: strings.Repeat("text ", 200)}, Reason{By: "agent"})
		if err == nil && i%3 == 0 {
			err = s.Accept(context.Background(), e.ID, Reason{By: "person"})
		}
		if err == nil && i%3 == 1 {
			err = s.Retire(context.Background(), e.ID, Reason{By: "person"})
		}
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		fmt.Println(e.ID)
		time.Sleep(rand.N(10 * time.Millisecond)) // so that the other one gets its turn
	}
}

// reviewOne reviews a session, and says which two entries it has proposed.
func reviewOne(s *Store, id string) error {
	sessions := session.Memory()
	talk := (&agent.Agent{Model: llmtest.Script(llmtest.Say("done")), Sessions: sessions}).Session(id)
	if _, err := talk.Prompt(context.Background(), "Learn."); err != nil {
		return err
	}
	model := &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		at := regexp.MustCompile(`#(\d+) user: `).FindStringSubmatch(r.Transcript())
		one := func(part string) string {
			return `{"action":"add","kind":"pitfall","title":"Learned in ` + id + `, part ` + part + `","facts":[` + at[1] + `],"why":"said"}`
		}
		return llmtest.Say(`{"proposals":[` + one("one") + `,` + one("two") + `]}`)
	}}
	review, err := (&Reviewer{Memory: &Memory{Stores: []Named{{"project", s}}}, Model: model, Sessions: sessions}).Review(context.Background(), id)
	if err != nil {
		return err
	}
	for _, p := range review.Proposals {
		fmt.Println(p.ID)
	}
	return nil
}

// Two processes write and review at the same time and are killed at random moments. No entry that was
// acknowledged is lost, none is torn, none is there twice, and the next writer continues. KILLS
// says how often; 20 is the default.
func TestKilledWriters(t *testing.T) {
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	seed := rand.Uint64()
	t.Logf("seed %d, %d kills", seed, kills)
	random := rand.New(rand.NewPCG(seed, 0))
	for done := 0; done < kills; done += 10 {
		killWriters(t, random, min(10, kills-done))
	}
}

// killWriters kills writers of one folder.
func killWriters(t *testing.T, random *rand.Rand, kills int) {
	root := t.TempDir()
	var acked []string
	for range (kills + 1) / 2 {
		var said [2]chan []string
		var writers [2]*exec.Cmd
		for i := range writers {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), writerVar+"="+root, "GORACE=atexit_sleep_ms=0")
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			writers[i], said[i] = c, make(chan []string, 1)
			began := make(chan bool)
			go func() {
				var ids []string
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if ids = append(ids, lines.Text()); len(ids) == 1 {
						close(began)
					}
				}
				said[i] <- ids
			}()
			select {
			case <-began:
			case <-time.After(time.Minute):
				t.Fatal("a writer does not begin")
			}
		}
		for i, w := range writers {
			time.Sleep(time.Duration(random.IntN(20_000)) * time.Microsecond)
			if err := w.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			acked = append(acked, <-said[i]...)
			_ = w.Wait()
		}
	}
	s := Open(root, ProjectFolder)
	if _, err := s.Add(t.Context(), Entry{Kind: Pitfall, Title: "last"}, person); err != nil {
		t.Fatal(err)
	}
	entries, problems, err := s.Entries()
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	have := map[string]*Entry{}
	titles := map[string]bool{}
	for _, e := range entries {
		if titles[e.Title] {
			t.Errorf("%q is there twice", e.Title)
		}
		have[e.ID], titles[e.Title] = e, true
	}
	for _, id := range acked {
		if have[id] == nil {
			t.Errorf("the entry %q was acknowledged and is lost", id)
		}
	}
	changes, err := s.Changes()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range changes {
		if c.Reviewed != "" && len(c.Files) != 2 {
			t.Errorf("a review changed %d entries of 2", len(c.Files))
		}
		if i > 0 && c.N != changes[i-1].N+1 {
			t.Errorf("change %d follows change %d", c.N, changes[i-1].N)
		}
	}
	for _, f := range changes[len(changes)-1].Files {
		if data, err := os.ReadFile(s.File(f.ID)); err != nil || string(data) != *f.After {
			t.Errorf("%s: %v", f.ID, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.Path(), ".tmp-*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	t.Logf("%d entries, %d acknowledged, %d changes", len(entries), len(acked), len(changes))
}
