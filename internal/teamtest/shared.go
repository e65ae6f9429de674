package teamtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

// RunShared tests stores of several programs on the same, empty storage. open returns a store
// of another program, and what ends that program without a farewell; nil: nothing does.
func RunShared(t *testing.T, open func(t *testing.T) (s Store, kill func())) {
	for name, test := range map[string]func(*testing.T, func() (Store, func())){
		"claims":     sharedClaims,
		"mail":       sharedMail,
		"compaction": sharedCompaction,
		"death":      sharedDeath,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func() (Store, func()) { return open(t) })
		})
	}
}

// sharedClaims: agents of three programs want the same tasks, and each is one agent's.
func sharedClaims(t *testing.T, open func() (Store, func())) {
	const tasks = 40
	var stores []Store
	for range 3 {
		s, _ := open()
		stores = append(stores, s)
	}
	for range tasks {
		if _, err := stores[0].AddTask(t.Context(), "claims", teamstore.Task{Subject: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	owners := map[string][]string{}
	for i := range 6 {
		all.Go(func() {
			s, name := stores[i%len(stores)], fmt.Sprint("agent ", i)
			for n := range tasks {
				id := fmt.Sprint("task_", n+1) // all want the same one
				_, err := s.UpdateTask(t.Context(), "claims", id, teamstore.Change{Status: teamstore.InProgress, Owner: &name})
				if err != nil && !errors.Is(err, teamstore.ErrTaken) {
					t.Errorf("%s claims %s: %v", name, id, err)
				}
				if err == nil {
					mu.Lock()
					owners[id] = append(owners[id], name)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	for _, s := range stores {
		list, err := s.Tasks(t.Context(), "claims", teamstore.Filter{})
		if err != nil || len(list) != tasks {
			t.Fatalf("%d tasks, %v", len(list), err)
		}
		for _, task := range list {
			if len(owners[task.ID]) != 1 || task.Owner != owners[task.ID][0] {
				t.Errorf("%s is %s's, claimed by %q", task.ID, task.Owner, owners[task.ID])
			}
		}
	}
}

// sharedMail: what two programs send is read once, though two programs read it.
func sharedMail(t *testing.T, open func() (Store, func())) {
	const each = 40
	one, _ := open()
	two, _ := open()
	if _, err := one.CreateTeam(t.Context(), "mail", "red", "lead", []string{"ann", "bob"}, ""); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	read := map[string]int{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var senders, readers sync.WaitGroup
	for _, s := range []Store{one, two, one, two} {
		woken, err := s.Watch(ctx, "mail", "lead")
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			for range woken {
				err := s.Take(t.Context(), "mail", "lead", func(mail []teamstore.Message) error {
					mu.Lock()
					defer mu.Unlock()
					for _, m := range mail {
						read[m.ID]++
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i, s := range []Store{one, two} {
		senders.Go(func() {
			for n := range each {
				m := teamstore.Message{ID: fmt.Sprint(i, "-", n), From: []string{"ann", "bob"}[i], To: "lead", Content: "x"}
				for range 2 { // as a sender that cannot know whether it was delivered
					if _, err := s.Send(t.Context(), "mail", m); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	senders.Wait()
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(read) == 2*each
	}
	for wait := time.Duration(0); !enough() && wait < patience; wait += 10 * time.Millisecond {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	readers.Wait()
	for id, n := range read {
		if n != 1 {
			t.Errorf("message %s was read %d times", id, n)
		}
	}
	if len(read) != 2*each {
		t.Errorf("%d messages were read, %d sent", len(read), 2*each)
	}
}

// sharedCompaction: one program writes much more than it keeps, while others read. They see
// every state in its order, and a program that comes late sees the last one.
func sharedCompaction(t *testing.T, open func() (Store, func())) {
	writer, _ := open()
	made, err := writer.AddTask(t.Context(), "long", teamstore.Task{Subject: "0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.CreateTeam(t.Context(), "long", "red", "lead", []string{"ann"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Send(t.Context(), "long", teamstore.Message{ID: "m", From: "ann", To: "lead", Content: "kept"}); err != nil {
		t.Fatal(err)
	}
	const changes = 60
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		s, _ := open()
		readers.Go(func() {
			last := 0
			for end := false; !end; {
				select {
				case <-done:
					end = true
				default:
				}
				task, err := s.Task(t.Context(), "long", made.ID)
				if err != nil {
					t.Error(err)
					return
				}
				n := 0
				if _, err := fmt.Sscan(task.Subject, &n); err != nil || n < last {
					t.Errorf("saw change %d after %d, %v", n, last, err)
					return
				}
				last = n
			}
			if last != changes {
				t.Errorf("the last change seen is %d", last)
			}
		})
	}
	for n := range changes {
		subject, output := fmt.Sprint(n+1), strings.Repeat("long ", 12_000)
		if _, err := writer.UpdateTask(t.Context(), "long", made.ID, teamstore.Change{Subject: &subject, Output: &output}); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	readers.Wait()
	late, _ := open()
	if task, err := late.Task(t.Context(), "long", made.ID); err != nil || task.Subject != fmt.Sprint(changes) {
		t.Errorf("the late one sees %q, %v", task.Subject, err)
	}
	var got []teamstore.Message
	err = late.Take(t.Context(), "long", "lead", func(mail []teamstore.Message) error { got = mail; return nil })
	if err != nil || len(got) != 1 || got[0].Content != "kept" {
		t.Errorf("mail %+v, %v", got, err)
	}
	if _, err := writer.Send(t.Context(), "long", teamstore.Message{ID: "m", From: "ann", To: "lead", Content: "kept"}); err != nil {
		t.Fatal(err)
	}
	if err := late.Take(t.Context(), "long", "lead", func(mail []teamstore.Message) error { return fmt.Errorf("%d messages again", len(mail)) }); err != nil {
		t.Error(err)
	}
}

// sharedDeath: when a program dies, another one gets its task and its names, after their
// leases and not before.
func sharedDeath(t *testing.T, open func() (Store, func())) {
	one, kill := open()
	two, _ := open()
	if kill == nil {
		t.Skip("only real processes die here")
	}
	if _, err := one.AddTask(t.Context(), "death", teamstore.Task{Subject: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := one.Register(t.Context(), "death", teamstore.Agent{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	claimed, err := teamstore.Claim(t.Context(), one, "death", "ann", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := teamstore.Claim(t.Context(), two, "death", "bob", time.Second); !errors.Is(err, teamstore.ErrNone) {
		t.Errorf("claiming what is claimed: %v", err)
	}
	if err := two.Register(t.Context(), "death", teamstore.Agent{Name: "ann"}); !errors.Is(err, teamstore.ErrNameTaken) {
		t.Errorf("taking the name of a living agent: %v", err)
	}
	if agents, err := two.Agents(t.Context(), "death"); err != nil || len(agents) != 1 {
		t.Errorf("agents %+v, %v", agents, err)
	}
	kill()
	eventually := func(what string, try func() error) {
		t.Helper()
		err := try()
		for wait := time.Duration(0); err != nil && wait < patience; wait += 20 * time.Millisecond {
			time.Sleep(20 * time.Millisecond)
			err = try()
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	eventually("claiming the task of a dead program", func() error {
		again, err := teamstore.Claim(t.Context(), two, "death", "bob", time.Minute)
		if err == nil && again.ID != claimed.ID {
			t.Errorf("claimed %s", again.ID)
		}
		return err
	})
	eventually("taking the name of a dead agent", func() error { return two.Register(t.Context(), "death", teamstore.Agent{Name: "ann"}) })
}
