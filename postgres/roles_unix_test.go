//go:build unix

package postgres_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/team"
)

// as returns an address with another role.
func as(t *testing.T, address, role string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	if q := u.Query(); q.Has("user") {
		q.Set("user", role)
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// TestRoles makes the roles of deploy/roles.sql: the owner makes the tables, and workers work without
// the right to change them.
func TestRoles(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	roles, err := os.ReadFile(filepath.Join("..", "deploy", "roles.sql"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Exec(t, `DROP ROLE IF EXISTS openagent_owner, openagent_worker`) }) // after the database
	address := server.Database(t)
	sql(t, admin(t, address), string(roles))
	owner, worker := as(t, address, "openagent_owner"), as(t, address, "openagent_worker")
	if _, err := postgres.Open(t.Context(), worker, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "the role openagent_worker may not do that: open the database once with the role that owns its tables") {
		t.Fatalf("a worker without tables: %v", err)
	}
	connect(t, owner, postgres.Options{})
	db := connect(t, worker, postgres.Options{})
	for _, statement := range []string{`DROP TABLE openagent.facts`, `ALTER TABLE openagent.facts ADD x int`, `CREATE TABLE openagent.x ()`, `INSERT INTO openagent.version VALUES (1000)`, `TRUNCATE openagent.facts`} {
		if _, err := admin(t, worker).Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- postgres.Run(ctx, db, &durable.Worker{Backend: db, Place: "here", Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
			return durable.Hosted{Bound: true, Agent: &agent.Agent{Model: llmtest.Script(llmtest.Say("Hi."))}}, nil
		}}, postgres.RunOptions{})
	}()
	if _, err := client.Send(t.Context(), "s", "", durable.SetMode{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	end, err := client.Prompt(t.Context(), "s", "p", "hello")
	if err != nil {
		t.Errorf("%+v, %v", end, err)
	}
	tasks := db.Team()
	defer tasks.Close()
	if _, err := tasks.AddTask(t.Context(), "s", team.Task{Subject: "look"}); err != nil {
		t.Error(err)
	}
	sql(t, admin(t, worker), `SELECT openagent.reserve('book', 'call', 0, 1, 5, '1 minute', 0.5)`) // as db.Quota does
	if err := client.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := session.Delete(t.Context(), db.Store("", nil), "s"); err != nil {
		t.Error(err)
	}
}

// TestOpenErrors: an error of opening a database says what is wrong and what to do, and has no password.
func TestOpenErrors(t *testing.T) {
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	t.Cleanup(func() { server.Exec(t, `DROP ROLE IF EXISTS only_reader`) }) // after the database
	address := server.Database(t)
	sql(t, admin(t, address), `CREATE ROLE only_reader LOGIN`)
	reader := as(t, address, "only_reader")
	fails := func(address string, parts ...string) {
		t.Helper()
		_, err := postgres.Open(t.Context(), address, postgres.Options{})
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q is missing in: %v", part, err)
			}
		}
	}
	fails(strings.Replace(address, "/t", "/none-t", 1), "has no database none-t", "make it, or correct the address")
	fails(as(t, address, "nobody-here"), "refuses the role nobody-here or its password", "PGPASSWORD")
	fails(reader, "the role only_reader may not do that", "deploy/roles.sql")
	fails(address+"&default_transaction_read_only=on", "only reads", "primary server")
	connect(t, address, postgres.Options{})
	sql(t, admin(t, address), `GRANT USAGE ON SCHEMA openagent TO only_reader; GRANT SELECT ON ALL TABLES IN SCHEMA openagent TO only_reader`)
	for _, readOnly := range []string{reader, address + "&default_transaction_read_only=on"} {
		db := connect(t, readOnly, postgres.Options{}) // for people who look
		err := postgres.Run(t.Context(), db, &durable.Worker{Backend: db}, postgres.RunOptions{})
		if err == nil || !strings.Contains(err.Error(), "only_reader may not write the tables") && !strings.Contains(err.Error(), "only reads") {
			t.Errorf("a worker that may only read: %v", err)
		}
	}
	sql(t, admin(t, address), `DELETE FROM openagent.version; INSERT INTO openagent.version VALUES (4)`)
	fails(reader, "changing the tables from version 4 to", "the role only_reader may not do that")
	sql(t, admin(t, address), `INSERT INTO openagent.version VALUES (1000)`)
	fails(reader, "the tables have version 1000", "update the program")
}
