//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/session"
)

// A session that fails for half an hour still gets its pause of 30 seconds, and is given back.
func TestManyFailures(t *testing.T) {
	t.Parallel()
	url := database(t)
	db := connect(t, url, postgres.Options{Lease: time.Hour})
	pool := admin(t, url)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for i, failed := range []int{60, 1100, 1 << 30} {
		id := fmt.Sprint("s", i)
		sql(t, pool, `INSERT INTO openagent.wakes (session, failed) VALUES ($1, $2)`, id, failed)
	}
	var tries atomic.Int64
	running, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- postgres.Run(running, db, &durable.Worker{Backend: db, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
			tries.Add(1)
			return durable.Hosted{}, errors.New("no disk")
		}}, postgres.RunOptions{})
	}()
	for left := 1; left > 0; {
		if err := pool.QueryRow(ctx, `SELECT count(*) FROM openagent.wakes WHERE holder <> '' OR due < now() + interval '5 s' OR due > now() + interval '31 s'`).Scan(&left); err != nil {
			t.Fatalf("%d sessions are not given back: %v", left, err)
		}
	}
	end()
	if err := <-done; err != nil || tries.Load() != 3 {
		t.Errorf("%d tries, %v", tries.Load(), err)
	}
}

// A page of facts is bounded in bytes: 20 facts of 4 MB do not come at once.
func TestHugeFacts(t *testing.T) {
	t.Parallel()
	url := database(t)
	most := new(atomic.Int64)
	db, err := postgres.OpenTraced(t.Context(), url, postgres.Options{}, rowTracer{most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store := db.Store("", nil)
	log, err := store.Open(t.Context(), "s", session.Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	const n = 46
	for i := range int64(n) {
		size := 10
		if i >= 16 && i < 36 {
			size = 4 << 20
		}
		err := log.Append(t.Context(), i, false, event.Event{Session: "s", Seq: i + 1, Prev: i, Time: time.Now(),
			Data: event.UserMessage{ID: fmt.Sprint(i), Message: llm.UserText(strings.Repeat("x", size))}})
		if err != nil {
			t.Fatal(err)
		}
	}
	most.Store(0)
	var got []int64
	for e, err := range store.Read(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Seq)
	}
	if len(got) != n || got[0] != 1 || got[n-1] != n {
		t.Errorf("got %d facts", len(got))
	}
	if most.Load() > 16 {
		t.Errorf("%d facts came at once", most.Load())
	}
}

// A rowTracer knows the most rows of a statement.
type rowTracer struct{ most *atomic.Int64 }

func (r rowTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (r rowTracer) TraceQueryEnd(_ context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	r.most.Store(max(r.most.Load(), d.CommandTag.RowsAffected()))
}

// TestPasswordFile: no tool reads the file with the password of the database.
func TestPasswordFile(t *testing.T) {
	var home string
	c := newCommand(t, func(r *llmtest.Request, _ int) llmtest.Step {
		if len(r.Messages) > 1 {
			return llmtest.Reply(results)
		}
		path := filepath.Join(home, ".pgpass")
		return llmtest.Call(llmtest.Use("", "Read", map[string]any{"file_path": path}), llmtest.Use("", "Bash", map[string]any{"command": "cat " + path, "description": "test"}))
	})
	home = filepath.Dir(c.home())
	if err := os.WriteFile(filepath.Join(home, ".pgpass"), []byte("*:*:*:*:s3cr3t\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := c.run(0, "-p", "go", "--permission-mode", "bypassPermissions")
	c.holds(out, "Results: ")
	if strings.Contains(out, "s3cr3t") {
		t.Errorf("the model has read the password:\n%s", out)
	}
}
