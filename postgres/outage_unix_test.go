//go:build unix

package postgres_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
)

// calls counts calls that run in this process.
type calls struct {
	mu  sync.Mutex
	all map[string]int
}

// agent returns an agent whose calls are counted.
func (c *calls) agent(session string, _ func(tool, call string) error) *agent.Agent {
	return killedAgent(session, func(tool, call string) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.all == nil {
			c.all = map[string]int{}
		}
		c.all[tool+" "+call]++
		return nil
	})
}

// repeated returns charges that ran more than once.
func (c *calls) repeated() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, n := range c.all {
		if n > 1 && key[:len("charge ")] == "charge " {
			list = append(list, key)
		}
	}
	return list
}

// TestRestarts kills the database three times in three seconds under 40 sessions, first one
// with synchronous commits and then one that loses the last ones each time.
func TestRestarts(t *testing.T) {
	t.Parallel()
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	own, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"synchronous", "asynchronous"} {
		t.Run(name, func(t *testing.T) {
			url := own.Database(t)
			options := postgres.Options{Lease: 500 * time.Millisecond}
			db := connect(t, url, options)
			if name == "asynchronous" { // a replica that takes over may lack commits as well
				own.Exec(t, `ALTER SYSTEM SET synchronous_commit = off`)
				own.Exec(t, `ALTER SYSTEM SET wal_writer_delay = '10s'`)
				own.Exec(t, `SELECT pg_reload_conf()`)
			}
			counted := &calls{}
			for range 2 {
				run(t, connect(t, url, options), counted.agent)
			}
			client := &durable.Client{Backend: db, Engine: db.Engine()}
			const sessions = 40
			send := func(i int) error { // work for some seconds
				for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "p"} {
					if _, err := client.Send(t.Context(), fmt.Sprint("s", i), id, durable.Prompt{Text: "do it"}); err != nil {
						return err
					}
				}
				return nil
			}
			for i := range sessions {
				if err := send(i); err != nil {
					t.Fatal(err)
				}
			}
			for began := range 3 {
				time.Sleep(time.Second - time.Duration(began)*100*time.Millisecond)
				own.Kill()
				if err := own.Begin(); err != nil {
					t.Fatal(err)
				}
			}
			if name == "synchronous" {
				n := complete(t, db, client, sessions)
				t.Logf("runs were resumed %d times; the outcome of %d calls is not known", n.resumed, n.unknown)
				if n.resumed == 0 {
					t.Error("no run was at work when the database ended")
				}
				if list := counted.repeated(); len(list) > 0 {
					t.Errorf("charges that ran twice: %v", list)
				}
				return
			}
			for i := range sessions { // commands may be lost: clients send them again, with the same id
				if err := send(i); err != nil {
					t.Error(err)
				}
			}
			n := complete(t, db, client, sessions)
			t.Logf("runs were resumed %d times; the outcome of %d calls is not known; %d charges ran twice, because the database has forgotten the first time", n.resumed, n.unknown, len(counted.repeated()))
		})
	}
}

// A network is a server's socket elsewhere, whose connections may be slow or refused.
type network struct {
	folder string
	target string
	refuse atomic.Bool
	slow   atomic.Int64 // until then (nanoseconds), nothing is passed on
	mu     sync.Mutex
	open   map[net.Conn]bool
}

const socket = ".s.PGSQL.5432"

// newNetwork puts a network between a database and the URL that it returns.
func newNetwork(t *testing.T, url string) (*network, string) {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "net")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{folder: folder, target: filepath.Join(config.ConnConfig.Host, socket), open: map[net.Conn]bool{}}
	listener, err := net.Listen("unix", filepath.Join(folder, socket))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { n.pass(c) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		n.cut()
		all.Wait()
		_ = os.RemoveAll(folder)
	})
	return n, fmt.Sprintf("postgres:///%s?host=%s&user=postgres", config.ConnConfig.Database, folder)
}

// pass passes on what a connection sends and gets.
func (n *network) pass(near net.Conn) {
	defer near.Close()
	if n.refuse.Load() {
		return
	}
	far, err := net.Dial("unix", n.target)
	if err != nil {
		return
	}
	defer far.Close()
	n.mu.Lock()
	n.open[near], n.open[far] = true, true
	n.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { n.copy(far, near) })
	both.Go(func() { n.copy(near, far) })
	both.Wait()
	n.mu.Lock()
	delete(n.open, near)
	delete(n.open, far)
	n.mu.Unlock()
}

func (n *network) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 32<<10)
	for {
		got, err := from.Read(b)
		if wait := time.Until(time.Unix(0, n.slow.Load())); wait > 0 {
			time.Sleep(wait)
		}
		if got > 0 {
			if _, err := to.Write(b[:got]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut breaks all connections.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.open {
		_ = c.Close()
	}
}

// A worker whose database does not answer for five seconds, ten leases, loses its sessions to
// one that reaches it. Then no worker reaches it for a while.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	url := database(t)
	options := postgres.Options{Lease: 500 * time.Millisecond}
	far, through := newNetwork(t, url)
	db := connect(t, url, options)
	counted := &calls{}
	run(t, connect(t, through, options), counted.agent)
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	const sessions = 12
	for i := range sessions {
		if _, err := client.Send(t.Context(), fmt.Sprint("s", i), "p", durable.Prompt{Text: "do it"}); err != nil {
			t.Fatal(err)
		}
	}
	within(t, "runs have begun", func() bool { counted.mu.Lock(); defer counted.mu.Unlock(); return len(counted.all) >= sessions })
	far.slow.Store(time.Now().Add(5 * time.Second).UnixNano())
	other, over := newNetwork(t, url)
	run(t, connect(t, over, options), counted.agent)
	time.Sleep(1500 * time.Millisecond) // it takes the sessions
	other.refuse.Store(true)
	other.cut()
	time.Sleep(time.Second) // no worker reaches the database
	other.refuse.Store(false)
	n := complete(t, db, client, sessions)
	t.Logf("runs were resumed %d times; the outcome of %d calls is not known", n.resumed, n.unknown)
	if n.resumed == 0 {
		t.Error("no run went from one worker to the other")
	}
	if list := counted.repeated(); len(list) > 0 {
		t.Errorf("charges that ran twice: %v", list)
	}
	end, err := client.Prompt(t.Context(), "s0", "", "do it")
	if err != nil || end.Reason != event.Completed {
		t.Errorf("the next prompt ended as %s, %v", end.Reason, err)
	}
}
