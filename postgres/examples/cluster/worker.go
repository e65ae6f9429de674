package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/tool"
)

// The variables of a worker process: the database, its name, and whether it hurries.
const (
	databaseVar = "CLUSTER_DATABASE"
	nameVar     = "CLUSTER_WORKER"
	quickVar    = "CLUSTER_QUICK"
)

// tables are those of the shop. In a real one, charges would belong to a payment service.
const tables = `
CREATE TABLE orders (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE charges (number bigint NOT NULL, call text NOT NULL);
CREATE TABLE calls (call text NOT NULL, tool text NOT NULL, worker text NOT NULL, charged bool NOT NULL DEFAULT false, ended bool NOT NULL DEFAULT false);`

// workerMain is a worker process. It ends when its standard input does, so that none outlives the
// program that started it.
func workerMain(url, name string) int {
	signal.Ignore(os.Interrupt) // Ctrl-C reaches all processes of a terminal
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	speed := slow
	if os.Getenv(quickVar) != "" {
		speed = quick
	}
	if err := work(ctx, url, name, speed); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

func work(ctx context.Context, url, name string, speed pace) error {
	db, err := postgres.Open(ctx, url, postgres.Options{Lease: speed.lease})
	if err != nil {
		return err
	}
	defer db.Close()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	w := &durable.Worker{Backend: db, Name: name, Grace: 2 * speed.tool, Agent: func(_ context.Context, at durable.Where) (durable.Hosted, error) {
		return durable.Hosted{Agent: clerk(&till{pool: pool, worker: name, desk: at.Session, pause: speed.tool})}, nil
	}}
	return postgres.Run(ctx, db, w, postgres.RunOptions{})
}

// A till is what the tools of a desk work on.
type till struct {
	pool         *pgxpool.Pool
	worker, desk string
	pause        time.Duration
}

type order struct {
	Number int64 `json:"number"`
}

// clerk returns the agent of a desk.
func clerk(t *till) *agent.Agent {
	return &agent.Agent{
		Program:     "shop",
		Model:       &llmtest.Model{Rule: answer},
		Permissions: permission.Policy{Mode: permission.Bypass},
		Tools: []tool.Tool{
			t.tool(tool.Spec{Name: "look", Description: "Tells whether an order is paid.", ReadOnly: true}, t.look),
			t.tool(tool.Spec{Name: "charge", Description: "Charges the customer."}, t.charge), // tried at most once
			t.tool(tool.Spec{Name: "pack", Description: "Packs an order.", Idempotent: true}, t.pack),
		},
	}
}

// tool returns a slow tool, which records that it began and ended.
func (t *till) tool(spec tool.Spec, do func(ctx context.Context, o order, call string) (string, error)) tool.Tool {
	return tool.New(spec, func(ctx context.Context, call tool.Call, o order) (*tool.Result, error) {
		id := t.desk + "/" + call.ID
		if _, err := t.pool.Exec(ctx, `INSERT INTO calls VALUES ($1, $2, $3)`, id, spec.Name, t.worker); err != nil {
			return nil, err
		}
		time.Sleep(t.pause / 2)
		text, err := do(ctx, o, id)
		if err != nil {
			return nil, err
		}
		time.Sleep(t.pause / 2)
		_, err = t.pool.Exec(ctx, `UPDATE calls SET ended = true WHERE call = $1 AND worker = $2`, id, t.worker)
		return tool.Text(text), err
	})
}

func (t *till) look(ctx context.Context, o order, _ string) (string, error) {
	var paid bool
	err := t.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM charges WHERE number = $1)`, o.Number).Scan(&paid)
	if paid {
		return "paid", err
	}
	return "not paid", err
}

func (t *till) charge(ctx context.Context, o order, call string) (string, error) {
	_, err := t.pool.Exec(ctx, `WITH charge AS (INSERT INTO charges VALUES ($1, $2)) UPDATE calls SET charged = true WHERE call = $2`, o.Number, call)
	return "charged", err
}

func (t *till) pack(context.Context, order, string) (string, error) { return "packed", nil }

var ordered = regexp.MustCompile(`order (\d+)`)

// answer is the scripted model: look, charge, pack. It looks again if it does not know whether a
// charge counts, as a careful model does.
func answer(r *llmtest.Request, _ int) llmtest.Step {
	results := r.Results()
	if len(results) == 0 {
		found := ordered.FindStringSubmatch(r.Prompt())
		if found == nil {
			return llmtest.Say("I only know orders, such as: order 7.")
		}
		number, _ := strconv.ParseInt(found[1], 10, 64)
		return llmtest.Call(llmtest.Use("", "look", order{number}))
	}
	last := results[len(results)-1]
	use := func(name string) llmtest.Step { return llmtest.Call(llmtest.Use("", name, last.Use.Input)) }
	switch {
	case last.Use.Name == "look" && last.Text == "not paid":
		return use("charge")
	case last.Use.Name == "charge" && last.Text != "charged":
		return use("look")
	case last.Use.Name == "pack":
		return llmtest.Say("Order " + strings.Trim(string(last.Use.Input), `{"number: }`) + " is paid and packed.")
	}
	return use("pack")
}
