package teamtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

func (b bench) team(t *testing.T, name, leader string, members ...string) teamstore.Team {
	t.Helper()
	made, err := b.CreateTeam(t.Context(), space, name, leader, members, "")
	if err != nil {
		t.Fatalf("creating %s: %v", name, err)
	}
	return made
}

func (b bench) send(t *testing.T, m teamstore.Message) string {
	t.Helper()
	reached, err := b.Send(t.Context(), space, m)
	if err != nil {
		t.Fatalf("sending %+v: %v", m, err)
	}
	return strings.Join(reached, " ")
}

// take reads a mailbox.
func (b bench) take(t *testing.T, agent string) []teamstore.Message {
	t.Helper()
	var got []teamstore.Message
	if err := b.Take(t.Context(), space, agent, func(m []teamstore.Message) error { got = m; return nil }); err != nil {
		t.Fatalf("taking the mail of %s: %v", agent, err)
	}
	return got
}

func contents(messages []teamstore.Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Content)
	}
	return strings.Join(out, " ")
}

func teams(t *testing.T, b bench) {
	made, err := b.CreateTeam(t.Context(), space, "red", "lead", []string{"ann", "bob"}, "win")
	want := teamstore.Team{ID: "team_1", Name: "red", Task: "win", Status: teamstore.Active, CreatedAt: start, UpdatedAt: start,
		Members: []teamstore.Member{{Name: "lead", Role: teamstore.Leader}, {Name: "ann", Role: teamstore.RoleMember}, {Name: "bob", Role: teamstore.RoleMember}}}
	if err != nil || !reflect.DeepEqual(made, want) {
		t.Errorf("created %+v, %v, want %+v", made, err, want)
	}
	made.Members[0].Name = "x"
	for _, agent := range []string{"lead", "ann"} {
		if got, err := b.TeamOf(t.Context(), space, agent); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("team of %s: %+v, %v", agent, got, err)
		}
	}
	b.clock.Advance(time.Minute)
	got, err := b.AddMember(t.Context(), space, "red", "carl")
	if err != nil || strings.Join(got.Others("lead"), " ") != "ann bob carl" || got.UpdatedAt != start.Add(time.Minute) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = b.RemoveMember(t.Context(), space, "team_1", "ann"); err != nil || got.Has("ann") || got.Leader() != "lead" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = b.TeamOf(t.Context(), space, "ann")
	fails(t, "team of who left", err, teamstore.ErrNoTeam)
	b.team(t, "blue", "ann")
	if got, err = b.Disband(t.Context(), space, "red"); err != nil || got.Status != teamstore.Disbanded {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = b.TeamOf(t.Context(), space, "lead")
	fails(t, "team of a disbanded team's leader", err, teamstore.ErrNoTeam)
	again := b.team(t, "red", "lead", "bob")
	if again.ID != "team_3" {
		t.Errorf("created %+v", again)
	}
	all, err := b.Teams(t.Context(), space)
	if err != nil || len(all) != 3 || all[0].Status != teamstore.Disbanded || all[0].Name != "red" || all[1].Name != "blue" {
		t.Errorf("%+v, %v", all, err)
	}
}

func teamRefused(t *testing.T, b bench) {
	b.team(t, "red", "lead", "ann")
	many := make([]string, teamstore.MaxMembers)
	for i := range many {
		many[i] = fmt.Sprintf("a%d", i)
	}
	for _, x := range []struct {
		name, leader string
		members      []string
		want         error
	}{
		{"", "x", nil, teamstore.ErrInvalid},
		{"*", "x", nil, teamstore.ErrInvalid},
		{"a\nb", "x", nil, teamstore.ErrInvalid},
		{strings.Repeat("ü", teamstore.MaxName+1), "x", nil, teamstore.ErrInvalid},
		{"blue", "", nil, teamstore.ErrInvalid},
		{"blue", "x", []string{" y"}, teamstore.ErrInvalid},
		{"blue", "x", []string{"y", "y"}, teamstore.ErrNameTaken},
		{"blue", "x", []string{"x"}, teamstore.ErrNameTaken},
		{"blue", "x", []string{"ann"}, teamstore.ErrNameTaken},
		{"red", "x", nil, teamstore.ErrNameTaken},
		{"blue", "x", many, teamstore.ErrLimit},
	} {
		_, err := b.CreateTeam(t.Context(), space, x.name, x.leader, x.members, "")
		fails(t, fmt.Sprintf("%+v", x), err, x.want)
	}
	change := func(what string, err, want error) { t.Helper(); fails(t, what, err, want) }
	change("adding twice", second(b.AddMember(t.Context(), space, "red", "ann")), teamstore.ErrNameTaken)
	change("unknown team", second(b.AddMember(t.Context(), space, "none", "x")), teamstore.ErrNoTeam)
	change("no member", second(b.RemoveMember(t.Context(), space, "red", "x")), teamstore.ErrNoMember)
	change("the leader", second(b.RemoveMember(t.Context(), space, "red", "lead")), teamstore.ErrInvalid)
	if _, err := b.Disband(t.Context(), space, "team_1"); err != nil {
		t.Fatal(err)
	}
	change("disbanding twice", second(b.Disband(t.Context(), space, "team_1")), teamstore.ErrDisbanded)
	change("adding to a disbanded team", second(b.AddMember(t.Context(), space, "team_1", "x")), teamstore.ErrDisbanded)
	change("removing from a disbanded team", second(b.RemoveMember(t.Context(), space, "team_1", "ann")), teamstore.ErrDisbanded)
	if all, err := b.Teams(t.Context(), space); err != nil || len(all) != 1 || len(all[0].Members) != 2 {
		t.Errorf("refused changes left %+v, %v", all, err)
	}
}

func agents(t *testing.T, b bench) {
	for _, a := range []teamstore.Agent{{Name: "ann", Type: "Explore", Session: "s1"}, {Name: "bob"}} {
		if err := b.Register(t.Context(), space, a); err != nil {
			t.Fatal(err)
		}
	}
	fails(t, "a name twice", b.Register(t.Context(), space, teamstore.Agent{Name: "ann"}), teamstore.ErrNameTaken)
	fails(t, "a bad name", b.Register(t.Context(), space, teamstore.Agent{Name: "*"}), teamstore.ErrInvalid)
	got, err := b.Agents(t.Context(), space)
	if want := []teamstore.Agent{{Name: "ann", Type: "Explore", Session: "s1", Started: start}, {Name: "bob", Started: start}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for range 2 {
		if err := b.Unregister(t.Context(), space, "ann"); err != nil {
			t.Error(err)
		}
	}
	if err := b.Register(t.Context(), space, teamstore.Agent{Name: "ann"}); err != nil {
		t.Error(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 8 {
		wg.Go(func() {
			if b.Register(context.Background(), space, teamstore.Agent{Name: "carl"}) == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d agents are called carl", won)
	}
}

func mail(t *testing.T, b bench) {
	b.team(t, "red", "lead", "ann", "bob")
	b.team(t, "blue", "other")
	if got := b.take(t, "ann"); got != nil {
		t.Errorf("an empty mailbox has %+v", got)
	}
	if got := b.send(t, teamstore.Message{From: "lead", To: "ann", Content: "one", Time: start.Add(-time.Hour)}); got != "ann" {
		t.Errorf("reached %s", got)
	}
	b.clock.Advance(time.Second)
	if got := b.send(t, teamstore.Message{From: "bob", To: teamstore.Everyone, Content: "all", Type: teamstore.ShutdownRequest}); got != "lead ann" {
		t.Errorf("reached %s", got)
	}
	got := b.take(t, "ann")
	if len(got) != 2 || got[0].ID == "" || got[0].ID == got[1].ID {
		t.Fatalf("got %+v", got)
	}
	got[0].ID, got[1].ID = "", ""
	want := []teamstore.Message{{From: "lead", To: "ann", Content: "one", Time: start, Type: teamstore.TextMessage},
		{From: "bob", To: "ann", Content: "all", Time: start.Add(time.Second), Type: teamstore.ShutdownRequest}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if again := b.take(t, "ann"); again != nil {
		t.Errorf("read twice: %+v", again)
	}
	if got := b.take(t, "bob"); got != nil {
		t.Errorf("the sender has got %+v", got)
	}
	if got := contents(b.take(t, "lead")); got != "all" {
		t.Errorf("the leader got %q", got)
	}
	b.send(t, teamstore.Message{From: "lead", To: "ann", Content: "bye"})
	if _, err := b.Disband(t.Context(), space, "red"); err != nil {
		t.Fatal(err)
	}
	if got := contents(b.take(t, "ann")); got != "bye" {
		t.Errorf("what was sent before the team was disbanded is gone: %q", got)
	}
}

func bounce(t *testing.T, b bench) {
	b.team(t, "red", "lead", "ann", "bob")
	b.team(t, "blue", "other")
	bounces := func(m teamstore.Message, want error, words ...string) {
		t.Helper()
		_, err := b.Send(t.Context(), space, m)
		fails(t, fmt.Sprintf("%.80v", m), err, want, words...)
	}
	bounces(teamstore.Message{From: "lead", To: "annn", Content: "x"}, teamstore.ErrUnreachable, "annn", "ann, bob")
	bounces(teamstore.Message{From: "lead", To: "other", Content: "x"}, teamstore.ErrUnreachable, "ann, bob")
	bounces(teamstore.Message{From: "lead", To: "lead", Content: "x"}, teamstore.ErrUnreachable)
	bounces(teamstore.Message{From: "other", To: "ann", Content: "x"}, teamstore.ErrUnreachable, "nobody")
	bounces(teamstore.Message{From: "stranger", To: "ann", Content: "x"}, teamstore.ErrNoTeam)
	bounces(teamstore.Message{From: "lead", To: "ann", Content: " "}, teamstore.ErrInvalid)
	bounces(teamstore.Message{From: "lead", To: "ann", Content: "\xff"}, teamstore.ErrInvalid)
	bounces(teamstore.Message{From: "lead", To: "ann", Content: "x", Type: "order"}, teamstore.ErrInvalid, "order")
	bounces(teamstore.Message{From: "lead", To: "ann", Content: strings.Repeat("x", teamstore.MaxMessage+1)}, teamstore.ErrLimit)

	if err := b.Register(t.Context(), space, teamstore.Agent{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Unregister(t.Context(), space, "ann"); err != nil {
		t.Fatal(err)
	}
	bounces(teamstore.Message{From: "lead", To: "ann", Content: "x"}, teamstore.ErrUnreachable, "ended", "bob")
	reached, err := b.Send(t.Context(), space, teamstore.Message{From: "lead", To: teamstore.Everyone, Content: "x"})
	if fails(t, "broadcast", err, teamstore.ErrUnreachable, "ann"); !slices.Equal(reached, []string{"bob"}) {
		t.Errorf("reached %v", reached)
	}
	if err := b.Register(t.Context(), space, teamstore.Agent{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	b.send(t, teamstore.Message{From: "lead", To: "ann", Content: "x"})

	// Who has ended and is in a new team may be started again.
	if err := b.Unregister(t.Context(), space, "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.RemoveMember(t.Context(), space, "red", "ann"); err != nil {
		t.Fatal(err)
	}
	b.team(t, "green", "boss", "ann")
	b.send(t, teamstore.Message{From: "boss", To: "ann", Content: "x"})
	if _, err := b.Disband(t.Context(), space, "green"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.AddMember(t.Context(), space, "red", "ann"); err != nil {
		t.Fatal(err)
	}

	// A mailbox that nobody empties is full some day, and takes more once it was read.
	big := strings.Repeat("x", teamstore.MaxMessage)
	for n := 1; ; n++ {
		_, err := b.Send(t.Context(), space, teamstore.Message{From: "lead", To: "bob", Content: big})
		if errors.Is(err, teamstore.ErrBoxFull) {
			break
		}
		if err != nil || n > teamstore.MaxBox {
			t.Fatalf("message %d: %v", n, err)
		}
	}
	reached, err = b.Send(t.Context(), space, teamstore.Message{From: "lead", To: teamstore.Everyone, Content: big})
	if fails(t, "broadcast", err, teamstore.ErrBoxFull, "bob"); !slices.Equal(reached, []string{"ann"}) {
		t.Errorf("reached %v", reached)
	}
	b.take(t, "bob")
	b.send(t, teamstore.Message{From: "lead", To: "bob", Content: big})
	b.take(t, "bob")
	for n := 1; ; n++ {
		_, err := b.Send(t.Context(), space, teamstore.Message{From: "lead", To: "bob", Content: "x"})
		if errors.Is(err, teamstore.ErrBoxFull) {
			break
		}
		if err != nil || n > teamstore.MaxBox {
			t.Fatalf("message %d: %v", n, err)
		}
	}
}

// mailDedupe: a message that is sent again arrives once, read or not.
func mailDedupe(t *testing.T, b bench) {
	b.team(t, "red", "lead", "ann", "bob")
	m := teamstore.Message{ID: "s/c1.0", From: "lead", To: "ann", Content: "x"}
	b.send(t, m)
	b.send(t, m)
	if got := b.take(t, "ann"); len(got) != 1 || got[0].ID != "s/c1.0" {
		t.Errorf("got %+v", got)
	}
	b.send(t, m)
	m.To = teamstore.Everyone
	b.send(t, m)
	if got := b.take(t, "ann"); len(got) != 0 {
		t.Errorf("got again %+v", got)
	}
	if got := b.take(t, "bob"); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
}

// mailKept: what could not be kept comes again.
func mailKept(t *testing.T, b bench) {
	b.team(t, "red", "lead", "ann")
	b.send(t, teamstore.Message{From: "lead", To: "ann", Content: "one"})
	lost := errors.New("the disk is full")
	var first []teamstore.Message
	fails(t, "keeping", b.Take(t.Context(), space, "ann", func(m []teamstore.Message) error { first = m; return lost }), lost)
	err := b.Take(t.Context(), space, "ann", func(m []teamstore.Message) error {
		if !reflect.DeepEqual(m, first) {
			t.Errorf("got %+v, then %+v", first, m)
		}
		b.send(t, teamstore.Message{From: "lead", To: "ann", Content: "two"}) // while the mail is being read
		return nil
	})
	if got := contents(b.take(t, "ann")); err != nil || got != "two" {
		t.Errorf("got %q, %v", got, err)
	}
}

// mailRacing: many senders, several readers of one mailbox: each message is read
// once, and those of one sender in order.
func mailRacing(t *testing.T, b bench) {
	const senders, each = 4, 50
	b.team(t, "red", "lead", "ann", "s0", "s1", "s2", "s3")
	var sending, reading sync.WaitGroup
	done := make(chan struct{})
	for i := range senders {
		sending.Go(func() {
			for n := range each {
				if _, err := b.Send(context.Background(), space, teamstore.Message{From: fmt.Sprintf("s%d", i), To: "ann", Content: fmt.Sprint(n)}); err != nil {
					t.Errorf("sending: %v", err)
				}
			}
		})
	}
	var mu sync.Mutex
	next := map[string]int{}
	take := func() {
		err := b.Take(context.Background(), space, "ann", func(messages []teamstore.Message) error {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range messages {
				if m.Content != fmt.Sprint(next[m.From]) {
					t.Errorf("%s's message %s came where %d was due", m.From, m.Content, next[m.From])
				}
				next[m.From]++
			}
			return nil
		})
		if err != nil {
			t.Errorf("taking: %v", err)
		}
	}
	for range 3 {
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					take()
				}
			}
		})
	}
	sending.Wait()
	close(done)
	reading.Wait()
	take()
	for i := range senders {
		if n := next[fmt.Sprintf("s%d", i)]; n != each {
			t.Errorf("s%d: %d messages of %d were read", i, n, each)
		}
	}
}

// randomTeams: whatever is asked for, an agent is in one active team at most,
// names are unique, and a disbanded team does not change.
func randomTeams(t *testing.T, b bench) {
	r := rand.New(rand.NewPCG(5, 6))
	agent := func() string { return fmt.Sprintf("a%d", r.IntN(8)) }
	name := func() string { return fmt.Sprintf("t%d", r.IntN(4)) }
	ended := map[string]teamstore.Team{}
	for range 800 {
		var err error
		switch r.IntN(6) {
		case 0:
			_, err = b.CreateTeam(t.Context(), space, name(), agent(), []string{agent(), agent()}, "")
		case 1, 2:
			_, err = b.AddMember(t.Context(), space, name(), agent())
		case 3:
			_, err = b.RemoveMember(t.Context(), space, name(), agent())
		case 4:
			if r.IntN(4) == 0 {
				_, err = b.Disband(t.Context(), space, name())
			}
		case 5:
			_, err = b.Send(t.Context(), space, teamstore.Message{From: agent(), To: agent(), Content: "x"})
		}
		_ = err // refused or not, it must stay sound
		all, err := b.Teams(t.Context(), space)
		if err != nil {
			t.Fatal(err)
		}
		of, names := map[string]string{}, map[string]bool{}
		for _, x := range all {
			if was, ok := ended[x.ID]; ok && !reflect.DeepEqual(was, x) {
				t.Fatalf("a disbanded team changed from %+v to %+v", was, x)
			}
			if x.Status == teamstore.Disbanded {
				ended[x.ID] = x
				continue
			}
			if names[x.Name] || x.Leader() == "" {
				t.Fatalf("teams are %+v", all)
			}
			names[x.Name] = true
			for _, m := range x.Members {
				if of[m.Name] != "" {
					t.Fatalf("%s is in %s and %s", m.Name, of[m.Name], x.ID)
				}
				of[m.Name] = x.ID
			}
		}
	}
	if len(ended) < 3 {
		t.Errorf("%d teams were disbanded: the test is idle", len(ended))
	}
}
