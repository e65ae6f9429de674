//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

// inSpaces is a ledger with spaces of its own within another one.
type inSpaces struct {
	teamstore.Ledger
	prefix string
}

func (l inSpaces) Read(ctx context.Context, space, after string) ([]string, string, time.Time, error) {
	return l.Ledger.Read(ctx, l.prefix+space, after)
}

func (l inSpaces) Write(ctx context.Context, space, after string, fn func([]string, time.Time) ([]string, bool, error)) (string, error) {
	return l.Ledger.Write(ctx, l.prefix+space, after, fn)
}

func (l inSpaces) Watch(ctx context.Context, space string) (<-chan struct{}, error) {
	return l.Ledger.Watch(ctx, l.prefix+space)
}

func (l inSpaces) Lock(ctx context.Context, name string) (func(), error) {
	return l.Ledger.Lock(ctx, l.prefix+name)
}

func (l inSpaces) Locked(ctx context.Context, name string) (bool, error) {
	return l.Ledger.Locked(ctx, l.prefix+name)
}

// TestTeam tests the rules of tasks, teams and mail in a database.
func TestTeam(t *testing.T) {
	db := connect(t, database(t)+"&pool_max_conns=16", postgres.Options{})
	var n atomic.Int64
	teamtest.Run(t, func(t *testing.T, clock *teamtest.Clock) teamtest.Store {
		apart := inSpaces{postgres.LedgerOf(db), fmt.Sprint("t", n.Add(1), "/")}
		s := &teamstore.LedgerStore{Ledger: teamtest.ByClock(apart, clock)}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func TestLedger(t *testing.T) {
	url := database(t)
	teamtest.RunLedger(t, func(t *testing.T) (teamstore.Ledger, func()) {
		db := connect(t, url, postgres.Options{Lease: time.Second})
		return postgres.LedgerOf(db), db.Close
	})
}

// TestSharedTeam tests stores of several programs on one database.
func TestSharedTeam(t *testing.T) {
	url := database(t)
	teamtest.RunShared(t, func(t *testing.T) (teamtest.Store, func()) {
		db := connect(t, url, postgres.Options{Lease: time.Second})
		return &teamstore.LedgerStore{Ledger: postgres.LedgerOf(db)}, db.Close
	})
}

type subject struct {
	Subject string `json:"subject"`
}

// sharing returns tools that add and list the tasks of a session.
func sharing(shared *team.Store) []tool.Tool {
	return []tool.Tool{
		tool.New(tool.Spec{Name: "add"}, func(ctx context.Context, call tool.Call, s subject) (*tool.Result, error) {
			made, err := shared.AddTask(ctx, call.Session, team.Task{Subject: s.Subject})
			return tool.Text(made.ID), err
		}),
		tool.New(tool.Spec{Name: "list", ReadOnly: true}, func(ctx context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
			all, err := shared.Tasks(ctx, call.Session)
			return tool.Text(fmt.Sprint(all)), err
		}),
	}
}

// The tasks of a session continue on another machine, by the tools of its agent, and any
// program reaches them by the id of the session. They are deleted with it.
func TestTeamOfSession(t *testing.T) {
	url := database(t)
	work := func(reply ...llmtest.Step) *postgres.DB {
		t.Helper()
		db := connect(t, url, postgres.Options{})
		shared := db.Team()
		a := &agent.Agent{Model: llmtest.Script(reply...), Sessions: db.Store("", nil), Tools: sharing(shared),
			Permissions: permission.Policy{Mode: permission.Bypass}}
		s := a.Session("s")
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(), shared.Close()); err != nil {
			t.Fatal(err)
		}
		return db
	}
	work(llmtest.Call(llmtest.Use("", "add", subject{"Buy milk"})), llmtest.Say("added"))
	third := connect(t, url, postgres.Options{}).Team()
	if _, err := third.AddTask(t.Context(), "s", team.Task{Subject: "Buy bread"}); err != nil {
		t.Fatal(err)
	}
	db := work(llmtest.Call(llmtest.Use("", "list", struct{}{})), llmtest.Say("read"))
	read := ""
	for e, err := range db.Store("", nil).Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := e.Data.(event.ToolResult); ok {
			read = fmt.Sprint(r)
		}
	}
	if !strings.Contains(read, "Buy milk") || !strings.Contains(read, "Buy bread") {
		t.Errorf("the other machine sees %s", read)
	}
	if err := db.Store("", nil).(session.Deleter).Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if all, err := third.Tasks(t.Context(), "s"); err != nil || len(all) != 0 {
		t.Errorf("after the deletion of the session there are %v, %v", all, err)
	}
	if task, err := third.AddTask(t.Context(), "s", team.Task{Subject: "x"}); err != nil || task.ID != "task_1" {
		t.Errorf("the first task of the next session of that name is %+v, %v", task, err)
	}
}

// A team that has worked for long has few lines.
func TestLongTeam(t *testing.T) {
	url := database(t)
	shared := connect(t, url, postgres.Options{}).Team()
	made, err := shared.AddTask(t.Context(), "s", team.Task{Subject: "x"})
	if err != nil {
		t.Fatal(err)
	}
	output := strings.Repeat("long ", 10_000)
	for range 40 { // 2 MB
		if _, err := shared.UpdateTask(t.Context(), "s", made.ID, team.Change{Output: &output}); err != nil {
			t.Fatal(err)
		}
	}
	if lines := query(t, url, `SELECT sum(length(line)) < 400000, count(*) < 10 FROM openagent.lines`); lines[0] != "true true" {
		t.Errorf("the lines are short, few: %s", lines[0])
	}
}

// A database that has lost its last commits, as a replica that took over may have, is what
// counts: a program forgets what it has seen of them, and its agents are still at work.
func TestTeamAfterLostCommits(t *testing.T) {
	url := database(t)
	pool := admin(t, url)
	one := &teamstore.LedgerStore{Ledger: postgres.LedgerOf(connect(t, url, postgres.Options{Lease: 300 * time.Millisecond}))}
	two := &teamstore.LedgerStore{Ledger: postgres.LedgerOf(connect(t, url, postgres.Options{}))}
	add := func(s *teamstore.LedgerStore, subject string) {
		t.Helper()
		if _, err := s.AddTask(t.Context(), "s", teamstore.Task{Subject: subject}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Register(t.Context(), "s", teamstore.Agent{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	add(one, "kept")
	last := query(t, url, `SELECT last FROM openagent.spaces`)[0]
	add(one, "lost")
	sql(t, pool, `DELETE FROM openagent.lines WHERE n > `+last)
	sql(t, pool, `UPDATE openagent.spaces SET last = `+last)
	sql(t, pool, `DELETE FROM openagent.locks`)
	add(two, "after it")
	add(two, "and more")
	for _, s := range []*teamstore.LedgerStore{one, two} {
		all, err := s.Tasks(t.Context(), "s", teamstore.Filter{})
		if err != nil || len(all) != 3 || all[1].Subject != "after it" || all[2].Subject != "and more" {
			t.Errorf("%+v, %v", all, err)
		}
	}
	within(t, "the agent is at work", func() bool {
		agents, err := two.Agents(t.Context(), "s")
		return err == nil && len(agents) == 1
	})
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if agents, err := two.Agents(t.Context(), "s"); err != nil || len(agents) != 0 {
		t.Errorf("after its end: %+v, %v", agents, err)
	}
}
