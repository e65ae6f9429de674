package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/postgres"
)

// A shop is the front: it sends orders to desks and watches them. It runs no agent.
type shop struct {
	db      *postgres.DB
	pool    *pgxpool.Pool
	client  *durable.Client
	workers *workers
}

// order sends the next order to a desk.
func (s *shop) order(ctx context.Context, desk string) error {
	_, _, err := s.send(ctx, desk)
	return err
}

// send sends the next order to a desk. It returns its number and the ID of the prompt.
func (s *shop) send(ctx context.Context, desk string) (number int64, prompt string, err error) {
	if err := s.pool.QueryRow(ctx, `INSERT INTO orders DEFAULT VALUES RETURNING number`).Scan(&number); err != nil {
		return 0, "", err
	}
	id := fmt.Sprint("order-", number) // counts once, also if it is sent again
	prompt, err = s.client.Send(ctx, desk, id, durable.Prompt{Text: fmt.Sprint("Please handle order ", number)})
	return number, prompt, err
}

// atWork returns the worker that has each desk. A killed one has it until its lease is over.
func (s *shop) atWork(ctx context.Context) (map[string]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, worker FROM openagent.sessions WHERE space = '' AND lease >= now()`)
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	var desk, worker string
	_, err = pgx.ForEachRow(rows, []any{&desk, &worker}, func() error {
		at[desk] = worker
		return nil
	})
	return at, err
}

// moments are those at which auto kills a worker: conditions for a call that is under way.
var moments = []struct{ where, words string }{
	{`tool = 'charge' AND charged`, "after it charged, and before it could say so"},
	{`tool = 'look'`, "while it looked an order up"},
	{`tool = 'charge' AND NOT charged`, "just before it charged"},
	{`tool = 'pack'`, "while it packed"},
}

// errUnseen is the error of a run without a moment to kill a worker at.
var errUnseen = errors.New("no worker came to the moment at which it was to be killed; send more orders")

// auto sends orders, kills workers, and checks that nothing is lost or done twice.
func (s *shop) auto(ctx context.Context, o options, out io.Writer) error {
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	began := time.Now()
	prompts := map[string]string{} // desks by prompt
	for i := range o.orders {
		desk := desks[i%len(desks)]
		_, prompt, err := s.send(ctx, desk)
		if err != nil {
			return err
		}
		prompts[prompt] = desk
	}
	fmt.Fprintf(out, "sent %d orders to %d desks; %d workers\n", o.orders, len(desks), len(names))
	for i := range o.kills {
		moment := moments[i%len(moments)]
		worker, err := s.killAt(ctx, moment.where)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "killed %s %s\n", worker, moment.words)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(s.workers.lease)):
		}
	}
	for prompt, desk := range prompts {
		end, err := s.client.Wait(ctx, desk, prompt)
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", prompt, err)
		}
		if end.Reason != event.Completed {
			return fmt.Errorf("%s ended with %s: %s", prompt, end.Reason, end.Message)
		}
	}
	fmt.Fprintf(out, "all orders have ended after %.1f s\n", time.Since(began).Seconds())
	return s.check(ctx, o, out)
}

// killAt waits for a call under way that satisfies a condition, and kills its worker.
func (s *shop) killAt(ctx context.Context, where string) (worker string, err error) {
	for range 3000 {
		err := s.pool.QueryRow(ctx, `SELECT worker FROM calls WHERE NOT ended AND `+where+` AND worker = ANY($1) ORDER BY random() LIMIT 1`, s.alive()).Scan(&worker)
		switch {
		case err == nil && s.workers.kill(worker):
			_, err := s.pool.Exec(ctx, `UPDATE calls SET ended = true WHERE worker = $1`, worker) // they are over
			return worker, err
		case err != nil && !errors.Is(err, pgx.ErrNoRows):
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return "", errUnseen
}

// alive returns the names of the workers that run.
func (s *shop) alive() (out []string) {
	for _, name := range names {
		if s.workers.pid(name) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// check compares what was done with what was ordered, and what is on record with what was done.
func (s *shop) check(ctx context.Context, o options, out io.Writer) error {
	var paid, twice, repeated int
	err := s.pool.QueryRow(ctx, `SELECT (SELECT count(DISTINCT number) FROM charges), (SELECT count(*) - count(DISTINCT number) FROM charges),
		(SELECT count(*) - count(DISTINCT call) FROM calls WHERE tool = 'charge')`).Scan(&paid, &twice, &repeated)
	if err != nil {
		return err
	}
	calls, results, continued, unknown := 0, 0, 0, 0
	for _, desk := range desks[:min(o.orders, len(desks))] {
		seen := map[string]bool{}
		for e, err := range s.db.Store("", nil).Read(ctx, desk, 0) {
			if err != nil {
				return err
			}
			switch f := e.Data.(type) {
			case event.AssistantMessage:
				calls += len(f.Response.Message.ToolUses())
			case event.Resumed:
				continued++
			case event.ToolResult:
				if results++; seen[f.Call] {
					return fmt.Errorf("%s: call %s has two results", desk, f.Call)
				}
				if seen[f.Call] = true; f.Cause != "" {
					unknown++
				}
			}
		}
	}
	fmt.Fprintf(out, "%d of %d orders are paid, %d twice\n", paid, o.orders, twice)
	fmt.Fprintf(out, "%d calls have %d results; %d charge calls were tried twice\n", calls, results, repeated)
	fmt.Fprintf(out, "runs were continued elsewhere %d times; %d charges had an unknown outcome, and the model looked\n", continued, unknown)
	if paid != o.orders || twice != 0 || repeated != 0 || calls != results || o.kills > 0 && continued == 0 {
		return errors.New("something is lost or was done twice: see the lines above")
	}
	fmt.Fprintln(out, "nothing is lost, and nothing was done twice")
	return nil
}
