//go:build unix

package postgres_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/postgres"
)

// openerVar makes this program open the database that it names, once.
const openerVar = "TEST_OPENER"

// query returns the rows of a query, each as a line.
func query(t testing.TB, url, statement string, args ...any) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		return strings.TrimSuffix(fmt.Sprintln(values...), "\n"), err
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return lines
}

// schemaOf describes all that the schema openagent has.
func schemaOf(t testing.TB, url string) []string {
	t.Helper()
	return slices.Concat(
		query(t, url, `SELECT table_name::text, column_name::text, data_type::text, collation_name::text, is_nullable::text, column_default::text, is_identity::text
			FROM information_schema.columns WHERE table_schema = 'openagent' ORDER BY 1, 2`),
		query(t, url, `SELECT indexdef FROM pg_indexes WHERE schemaname = 'openagent' ORDER BY 1`),
		query(t, url, `SELECT c.relname::text, c.reloptions::text FROM pg_class c WHERE c.relnamespace = 'openagent'::regnamespace ORDER BY 1`),
		query(t, url, `SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'openagent'::regnamespace ORDER BY 1, 2`),
		query(t, url, `SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'openagent'::regnamespace ORDER BY 1`),
		query(t, url, `SELECT viewname::text, definition FROM pg_views WHERE schemaname = 'openagent' ORDER BY 1`))
}

// A database of the first version gets the tables of this one and keeps what it has, when ten
// processes open it at once.
func TestMigrate(t *testing.T) {
	dump, err := plainfile.ReadFile("testdata/version_1.sql", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	old, fresh := database(t), database(t)
	sql(t, admin(t, old), string(dump))
	connect(t, fresh, postgres.Options{})
	var all []*exec.Cmd
	var outs []*strings.Builder
	for range 10 {
		c, out := exec.Command(os.Args[0]), &strings.Builder{}
		c.Env = append(os.Environ(), openerVar+"="+old, "GORACE=atexit_sleep_ms=0")
		c.Stdout, c.Stderr = out, out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all, outs = append(all, c), append(outs, out)
	}
	for i, c := range all {
		if err := c.Wait(); err != nil {
			t.Errorf("opening: %v: %s", err, outs[i])
		}
	}
	if got, want := schemaOf(t, old), schemaOf(t, fresh); !slices.Equal(got, want) {
		t.Errorf("a database of version 1 has now\n%s\na new one has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if steps := query(t, old, `SELECT count(*) FROM openagent.version`); steps[0] != "2" { // the one of the dump and one more
		t.Errorf("the tables were changed %s times", steps[0])
	}
	db := connect(t, old, postgres.Options{})
	var said []string
	for e, err := range db.Store("", nil).Read(t.Context(), "chat-1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, e.Data.(event.AssistantMessage).Response.Message.Text())
	}
	if !slices.Equal(said, []string{"Hello.", "How are you?"}) {
		t.Errorf("the session has %q", said)
	}
	if mail, err := db.Inbox(t.Context(), "chat-1"); err != nil || len(mail) != 1 || mail[0].ID != "c1" {
		t.Errorf("the inbox has %v, %v", mail, err)
	}
}

// A program refuses tables of a newer version, and changes nothing.
func TestNewerVersion(t *testing.T) {
	url := database(t)
	connect(t, url, postgres.Options{})
	sql(t, admin(t, url), `INSERT INTO openagent.version VALUES (1000)`)
	before := schemaOf(t, url)
	_, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), "the tables have version 1000, and this program knows versions up to ") || !strings.HasSuffix(err.Error(), "; update the program") {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(schemaOf(t, url), before) {
		t.Error("the tables were changed")
	}
}
