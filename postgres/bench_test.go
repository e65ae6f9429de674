//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/team"
)

// pooled returns an empty database with connections for 64 busy sessions.
func pooled(b *testing.B) *postgres.DB {
	b.Helper()
	if server == nil {
		b.Skip("no PostgreSQL")
	}
	return connect(b, server.Database(b)+"&pool_max_conns=24", postgres.Options{})
}

// facts returns n facts after a number, of 300 bytes each.
func facts(after int64, n int) []event.Event {
	text := strings.Repeat("x", 150)
	var out []event.Event
	for i := range n {
		seq := after + int64(i) + 1
		out = append(out, event.Event{Seq: seq, Prev: seq - 1, Time: time.Now(), Data: event.AssistantMessage{Key: "k", Model: "m",
			Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: text}}}}}})
	}
	return out
}

// BenchmarkAppend appends five facts, 1.5 KB, in one session and in 64 at once.
func BenchmarkAppend(b *testing.B) {
	for _, sessions := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			store := pooled(b).Store("", nil)
			var logs []session.Log
			for i := range sessions {
				log, err := store.Open(b.Context(), fmt.Sprint("s", i), session.Header{})
				if err != nil {
					b.Fatal(err)
				}
				defer log.Close()
				logs = append(logs, log)
			}
			b.ResetTimer()
			var all sync.WaitGroup
			for i, log := range logs {
				all.Go(func() {
					for n := i; n < b.N; n += sessions {
						if err := log.Append(b.Context(), log.Last(), true, facts(log.Last(), 5)...); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// BenchmarkRead reads a session of 5,000 facts: all of it, its last 20 messages, and what a list
// shows of 1,000 sessions.
func BenchmarkRead(b *testing.B) {
	store := pooled(b).Store("", nil)
	log, err := store.Open(b.Context(), "s", session.Header{})
	if err != nil {
		b.Fatal(err)
	}
	for range 50 {
		if err := log.Append(b.Context(), log.Last(), false, facts(log.Last(), 100)...); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("all 5000", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for _, err := range store.Read(b.Context(), "s", 0) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != 5000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("last 20", func(b *testing.B) {
		for b.Loop() {
			if last, err := session.Load(b.Context(), store, "s", 20, -1); err != nil || len(last) != 20 {
				b.Fatal(len(last), err)
			}
		}
	})
	b.Run("fork 5000", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if err := session.Fork(b.Context(), store, "s", fmt.Sprint("f", i), 0); err != nil {
				b.Fatal(err)
			}
			if err := session.Delete(b.Context(), store, fmt.Sprint("f", i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			log, err := store.Open(b.Context(), "s", session.Header{})
			if err != nil {
				b.Fatal(err)
			}
			if err := log.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for i := range 1000 {
		log, err := store.Open(b.Context(), fmt.Sprint("l", i), session.Header{})
		if err == nil {
			err = log.Append(b.Context(), 0, true, facts(0, 1)...)
		}
		if err == nil {
			err = log.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("list 1000", func(b *testing.B) {
		for b.Loop() {
			if list, err := store.List(b.Context()); err != nil || len(list) != 1001 {
				b.Fatal(len(list), err)
			}
		}
	})
}

// BenchmarkPrompt prompts an idle session, which a worker takes, answers and leaves.
func BenchmarkPrompt(b *testing.B) {
	db := pooled(b)
	w := &durable.Worker{Backend: db, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
		return durable.Hosted{Agent: &agent.Agent{Model: llmtest.Script(llmtest.Say("done"))}}, nil
	}}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var working sync.WaitGroup
	working.Go(func() {
		if err := postgres.Run(ctx, db, w, postgres.RunOptions{}); err != nil {
			b.Error(err)
		}
	})
	defer working.Wait()
	defer stop()
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	n := 0
	for b.Loop() {
		n++
		if end, err := client.Prompt(b.Context(), fmt.Sprint("s", n), "", "go"); err != nil || end.Reason != event.Completed {
			b.Fatal(end.Reason, err)
		}
	}
}

// BenchmarkQuota reserves the cost of calls and settles it, with so many workers at once, for
// one user and for as many users.
func BenchmarkQuota(b *testing.B) {
	for _, workers := range []int{1, 64} {
		for _, users := range slices.Compact([]int{1, workers}) {
			b.Run(fmt.Sprintf("%d workers, users %d", workers, users), func(b *testing.B) {
				store := pooled(b).Quota()
				b.ResetTimer()
				var all sync.WaitGroup
				for w := range workers {
					all.Go(func() {
						for n := w; n < b.N; n += workers {
							r := quota.Reservation{Book: fmt.Sprint("user ", w%users), ID: fmt.Sprint(n), Least: 0.001, Most: 0.01, Limit: 1e6, Expires: time.Now().Add(time.Hour)}
							if got, err := store.Reserve(b.Context(), r); err != nil || got.Granted <= 0 {
								b.Error(got, err)
								return
							}
							if err := store.Settle(b.Context(), r.Book, r.ID, 0.002); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reservations/s")
			})
		}
	}
}

// BenchmarkTeam adds a task in one program, reads it in another, claims tasks in eight programs
// with one connection pool, and sends mail that another program takes.
func BenchmarkTeam(b *testing.B) {
	db := pooled(b)
	one, two := db.Team(), db.Team()
	defer one.Close()
	defer two.Close()
	add := func(b *testing.B, space string) {
		if _, err := one.AddTask(b.Context(), space, team.Task{Subject: "x"}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("add", func(b *testing.B) {
		space := "add"
		for i := 0; b.Loop(); i++ {
			if i%1000 == 0 { // a space holds 10,000
				space = fmt.Sprint("add", i, time.Now().UnixNano())
			}
			add(b, space)
		}
	})
	b.Run("read", func(b *testing.B) {
		add(b, "read")
		for b.Loop() {
			if _, err := two.Task(b.Context(), "read", "task_1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("claim 8", func(b *testing.B) {
		space := fmt.Sprint("claim", time.Now().UnixNano())
		n := min(b.N, 5000)
		for range n {
			add(b, space)
		}
		var all sync.WaitGroup
		b.ResetTimer()
		for i := range 8 {
			all.Go(func() {
				store := db.Team()
				for {
					_, err := store.Claim(b.Context(), space, fmt.Sprint("w", i), time.Hour)
					if errors.Is(err, team.ErrNone) {
						return
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "claims/s")
	})
	b.Run("mail", func(b *testing.B) {
		space := fmt.Sprint("mail", time.Now().UnixNano())
		if _, err := one.CreateTeam(b.Context(), space, "red", "lead", []string{"ann"}, ""); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := one.Send(b.Context(), space, team.Message{From: "lead", To: "ann", Content: "x"}); err != nil {
				b.Fatal(err)
			}
			if err := two.Take(b.Context(), space, "ann", func([]team.Message) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
