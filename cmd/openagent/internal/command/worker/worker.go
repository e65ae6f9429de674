// Package worker is the command "openagent worker". It continues sessions of a database, see package
// durable of the library.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/session"
)

const (
	defaultSlots  = 64
	defaultGrace  = 30 * time.Second
	defaultLinger = time.Minute
	defaultKeep   = time.Minute
)

// program names the agents of all workers: a session keeps its mode and its rules from one to the other.
const program = "openagent worker"

// maxName is the longest name of a worker or a place, in bytes.
const maxName = 1000

// options are the flags of the command.
type options struct {
	settings.Options
	name, place         string
	slots               int
	grace, linger, keep time.Duration
	health              string
}

// notHere are the flags of jobs that mean nothing to a worker.
var notHere = []string{"cwd", "no-session-persistence", "session-dir", "json-schema", "trace"}

// Command returns the command "openagent worker".
func Command(h *cli.IO) cli.Command {
	o := &options{slots: defaultSlots, grace: defaultGrace, linger: defaultLinger, keep: defaultKeep}
	return cli.Command{Name: "worker", Summary: "Continue the sessions of a database in this folder, until you stop it",
		Details: `Any number of workers share a database. If one dies, others continue its sessions.
On SIGTERM it finishes the calls that are under way, within --grace, and gives its sessions back.
The flags of a prompt apply to all sessions.
docs/command/worker.md has the rules.
`,
		Examples: []string{"openagent worker --store postgres://me@db.example.com/agents", "openagent worker --name blue-1 --slots 8 --health 127.0.0.1:9090"},
		Flags:    o.flags,
		Run: func(ctx context.Context, args []string) error {
			if err := cli.NoArgs("worker", args); err != nil {
				return err
			}
			if err := errors.Join(o.Check(), o.check()); err != nil {
				return err
			}
			return run(ctx, h, o)
		}}
}

func (o *options) flags() cli.Flags {
	own := cli.Flags{
		{Name: "name", Arg: "NAME", Help: "name of the worker, for people (default: the machine and the process)", Set: cli.Text(&o.name)},
		{Name: "slots", Arg: "N", Help: "sessions at a time (default 64)", Set: cli.Count(&o.slots)},
		{Name: "place", Arg: "NAME", Help: "where the files of the sessions are; give all workers that share the folder the same NAME (default: the machine and the folder)", Set: cli.Text(&o.place)},
		{Name: "grace", Arg: "DURATION", Help: "time for tools to end after a signal (default 30s)", Set: cli.Duration(&o.grace)},
		{Name: "linger", Arg: "DURATION", Help: "how long a session waits here for a decision, until it waits without a process (default 1m)", Set: cli.Duration(&o.linger)},
		{Name: "keep", Arg: "DURATION", Help: "how long a session stays here after a run, with its shell and background commands (default 1m)", Set: cli.Duration(&o.keep)},
		{Name: "health", Arg: "HOST:PORT", Help: "address on this machine for /healthz and /metrics", Set: cli.Text(&o.health)},
	}
	jobs := slices.DeleteFunc(o.JobFlags(), func(f cli.Flag) bool { return slices.Contains(notHere, f.Name) })
	return append(append(cli.ListFlags(&o.Output), own...), jobs...)
}

// check refuses flags that cannot work.
func (o *options) check() error {
	for flag, name := range map[string]string{"--name": o.name, "--place": o.place} {
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) || len(name) > maxName {
			return cli.Usagef("%s: the database keeps names of up to %d bytes in UTF-8; choose another one", flag, maxName)
		}
	}
	if o.health == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(o.health)
	if err != nil {
		return cli.Usagef("--health: write HOST:PORT: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.Usagef("--health %s: only addresses of this machine can be used, because anybody may ask there; write 127.0.0.1 and a port", cli.Clip(o.health))
	}
	return nil
}

// A Start is the line of JSON that the command writes with --output-format json.
type Start struct {
	Type   string `json:"type"` // "worker_start"
	Name   string `json:"name"`
	Place  string `json:"place"`
	Health string `json:"health,omitempty"` // address
}

// run works until a signal.
func run(ctx context.Context, h *cli.IO, o *options) error {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	address, source, err := o.Place().Database(h, dir)
	if err != nil {
		return err
	}
	if address == "" {
		return cli.Usagef("a worker needs the database of the sessions: give --store postgres://host/database, or set OPENAGENT_STORE")
	}
	connected, err := sessionstore.Database(ctx, h, address, source)
	if err != nil {
		return err
	}
	db := connected.DB
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if o.name == "" {
		o.name = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	if o.place == "" {
		o.place = host + ":" + strings.ToValidUTF8(dir, "\uFFFD") // the database keeps nothing else
	}
	if err := sessionstore.CheckRights(ctx, connected, source); err != nil {
		return err
	}
	log := settings.Logger(h, &o.Options)
	w := &work{h: h, o: o, db: db, dir: dir, log: log}
	if err := w.try(ctx); err != nil {
		return err
	}
	at, stop, err := w.listen(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if o.Output == cli.FormatJSON {
		err = cli.ShowLine(h, Start{"worker_start", o.name, o.place, at})
	} else {
		err = h.Show(fmt.Sprintf("Worker %s continues sessions of %v in %s, until a signal.\n", h.OneLine(o.name), db, h.OneLine(dir)))
	}
	if err != nil {
		return err
	}
	log.Info("the worker has started", "worker", o.name, "place", o.place, "slots", o.slots)
	context.AfterFunc(ctx, func() {
		w.draining.Store(true)
		log.Info("the worker gives its sessions back", "worker", o.name, "sessions", w.sessions.Load())
	})
	worker := &durable.Worker{Backend: db, Name: o.name, Place: o.place, Agent: w.agent, Linger: o.linger, Grace: o.grace, Keep: o.keep, Log: log}
	if err := postgres.Run(ctx, db, worker, postgres.RunOptions{Max: o.slots}); err != nil {
		return err
	}
	log.Info("the worker has ended", "worker", o.name)
	if cli.IsSignal(ctx) {
		return cli.ExitCode(cli.SignalCode(ctx))
	}
	return nil
}

// work is what the sessions of a worker share.
type work struct {
	h   *cli.IO
	o   *options
	db  *postgres.DB
	dir string
	log *slog.Logger

	sessions, taken, failed atomic.Int64 // open now; opened; not opened
	draining                atomic.Bool
}

// try builds an agent, so that a worker that cannot work does not take sessions.
func (w *work) try(ctx context.Context) error {
	opened, err := app.OpenHosted(ctx, w.h, &w.o.Options, app.HostedSession{Dir: w.dir, ID: session.NewID()})
	if err != nil {
		return err
	}
	return opened.Close()
}

// agent builds the agent of a session. It works in the folder of the worker, wherever the session was before.
func (w *work) agent(ctx context.Context, at durable.Where) (durable.Hosted, error) {
	h := w.h.Fork()
	opened, err := app.OpenHosted(context.WithoutCancel(ctx), h, &w.o.Options, app.HostedSession{Dir: w.dir, ID: at.Session})
	if err != nil {
		w.failed.Add(1)
		return durable.Hosted{}, err
	}
	defer opened.CloseOnError(&err)
	// It says that the checkpoints of the session, which are on this machine, are needed.
	if err = os.MkdirAll(parts.CheckpointName(opened.Store, at.Session), 0o700); err != nil {
		return durable.Hosted{}, err
	}
	note, err := w.note(ctx, opened.Store, at)
	if err != nil {
		return durable.Hosted{}, err
	}
	opened.Agent.Program = program
	if opened.Agent.Permissions.Mode == permission.Bypass { // a worker that asks does not continue in this mode
		opened.Agent.Program += " that asks nothing"
	}
	w.taken.Add(1)
	w.sessions.Add(1)
	return durable.Hosted{Agent: opened.Agent, Bound: true, Note: note, Close: func() {
		w.sessions.Add(-1)
		if err := opened.Close(); err != nil {
			w.log.Warn("closing a session failed", "session", at.Session, "error", err)
		}
	}}, nil
}

// note tells the model that the session was elsewhere. "" if it was not.
func (w *work) note(ctx context.Context, store session.Store, at durable.Where) (string, error) {
	const gone = "Files there that are not here, background commands and the state of the shell are gone. Look at what is here before you continue."
	if at.Lost != "" {
		return fmt.Sprintf("This session was at %s, where nobody works any more. It continues at %s, in the folder %s. %s", at.Lost, w.o.place, w.dir, gone), nil
	}
	info, err := session.Stat(ctx, store, at.Session)
	switch {
	case errors.Is(err, session.ErrNotFound), err == nil && (info.Dir == "" || info.Dir == w.dir):
		return "", nil
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("This session was in the folder %s. It continues at %s, in the folder %s. %s", info.Dir, w.o.place, w.dir, gone), nil
}

// listen answers at the address of --health. stop ends that.
func (w *work) listen(ctx context.Context) (address string, stop func(), err error) {
	if w.o.health == "" {
		return "", func() {}, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", w.o.health)
	if err != nil {
		return "", nil, cli.Usagef("--health: %w; choose another port", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", w.healthz)
	mux.HandleFunc("GET /metrics", w.metrics)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: automation.HeaderTimeout, IdleTimeout: automation.IdleTimeout, ErrorLog: slog.NewLogLogger(w.log.Handler(), slog.LevelDebug)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until it is closed
	}()
	return l.Addr().String(), func() { server.Close(); <-done }, nil
}

// pingLimit is the time in which the database has to answer.
const pingLimit = 2 * time.Second

// ping asks the database something.
func (w *work) ping(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, pingLimit)
	defer stop()
	_, err := session.Stat(ctx, w.db.Store("", nil), "health")
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	return err
}

// healthz says whether the worker can take sessions.
func (w *work) healthz(out http.ResponseWriter, r *http.Request) {
	switch {
	case w.draining.Load():
		http.Error(out, "the worker gives its sessions back", http.StatusServiceUnavailable)
	case w.ping(r.Context()) != nil:
		http.Error(out, "the database does not answer", http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(out, "ok")
	}
}

// metrics answers with figures in the text format of Prometheus.
func (w *work) metrics(out http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	line := func(name, kind, help string, value int64) {
		name = "openagent_worker_" + name
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", name, help, name, kind, name, value)
	}
	bit := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	line("sessions", "gauge", "Sessions that are open.", w.sessions.Load())
	line("slots", "gauge", "Sessions that can be open.", int64(w.o.slots))
	line("sessions_total", "counter", "Sessions that were taken.", w.taken.Load())
	line("failures_total", "counter", "Sessions whose agent could not be built.", w.failed.Load())
	line("draining", "gauge", "1 while sessions are given back.", bit(w.draining.Load()))
	line("database_up", "gauge", "1 if the database answers.", bit(w.ping(r.Context()) == nil))
	out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = out.Write([]byte(b.String())) // the client may be gone
}
