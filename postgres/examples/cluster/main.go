// Cluster is a shop whose desks are sessions. Three worker processes and a PostgreSQL of its own
// work for it, and you kill workers while they charge customers. No order is lost, and none is
// charged twice.
//
// Run it with: make demo-cluster. It prints the address of a page. With -auto, or CI=true, it sends
// orders, kills workers and checks the result by itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
)

func main() {
	if url := os.Getenv(databaseVar); url != "" {
		os.Exit(workerMain(url, os.Getenv(nameVar)))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// An options value holds the flags.
type options struct {
	auto          bool
	listen        string
	orders, kills int
}

// desks are the sessions.
var desks = []string{"desk-1", "desk-2", "desk-3"}

// run is the program. It returns the exit code.
func run(args []string, out, errs io.Writer) int {
	var o options
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.BoolVar(&o.auto, "auto", os.Getenv("CI") == "true", "send orders, kill workers, check the result and end")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the page")
	flags.IntVar(&o.orders, "orders", 9, "orders to send with -auto")
	flags.IntVar(&o.kills, "kills", 4, "workers to kill with -auto")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(errs, "cluster: unknown argument %q; see -help\n", flags.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := cluster(ctx, o, out)
	switch {
	case errors.Is(err, pgtest.ErrNone):
		fmt.Fprintf(errs, "cluster: %v.\nInstall one: apt-get install postgresql, brew install postgresql, or make servers.\n", err)
		return 1
	case ctx.Err() != nil && (o.auto || err != nil):
		fmt.Fprintln(errs, "cluster: interrupted")
		return 1
	case err != nil:
		fmt.Fprintln(errs, "cluster:", err)
		return 1
	}
	return 0
}

// cluster starts the database, the workers and the front, and ends them.
func cluster(ctx context.Context, o options, out io.Writer) (err error) {
	fmt.Fprintln(out, "starting a PostgreSQL")
	server, err := pgtest.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	speed := slow
	if o.auto {
		speed = quick
	}
	url := server.URL() + "&pool_max_conns=8"
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
	if _, err := pool.Exec(ctx, tables); err != nil {
		return err
	}
	workers := newWorkers(url, o.auto)
	defer workers.stop()
	for _, name := range names {
		if err := workers.start(name); err != nil {
			return err
		}
	}
	s := &shop{db: db, pool: pool, workers: workers, client: &durable.Client{Backend: db, Engine: db.Engine()}}
	if o.auto {
		return s.auto(ctx, o, out)
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Open http://%s in a browser, or use curl:\n"+
		"  curl -N http://%[1]s/events\n"+
		"  curl -d desk=desk-1 http://%[1]s/order\n"+
		"  curl -d worker=worker-1 http://%[1]s/kill\n"+
		"Press Ctrl-C to end.\n", listener.Addr())
	for _, desk := range desks {
		if err := s.order(ctx, desk); err != nil {
			return err
		}
	}
	return s.serve(ctx, listener)
}

// A pace says how long things take.
type pace struct {
	lease   time.Duration // a silent worker counts as dead after it
	tool    time.Duration // of a call
	restart time.Duration // until a killed worker is started again
}

var (
	slow  = pace{lease: 2 * time.Second, tool: 1500 * time.Millisecond, restart: 6 * time.Second}
	quick = pace{lease: 700 * time.Millisecond, tool: 300 * time.Millisecond, restart: 2 * time.Second}
)
