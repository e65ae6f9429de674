package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/connlimit"
	"github.com/openagent-go/agent/trigger"
)

const (
	defaultAddress = "127.0.0.1:8787"
	defaultGrace   = 10 * time.Second
	maxBody        = 64 << 10 // bytes of a request
	maxConnections = 256      // at a time; a new one takes the place of the oldest without a valid request
	headerTime     = 10 * time.Second
	requestTime    = time.Minute // for a request and its answer
	idleTime       = time.Minute // of a connection
	closeTime      = 5 * time.Second
)

// A triggerStart is the first line of JSON that "triggers serve" writes.
type triggerStart struct {
	Type     string         `json:"type"` // "trigger_start"
	Address  string         `json:"address"`
	Triggers []triggerEntry `json:"triggers"`
}

// triggersServe answers requests for the triggers of the working folder until a
// signal, and runs their prompts.
func (h *host) triggersServe(ctx context.Context, o *triggerOptions) (err error) {
	place, err := h.triggerPlace()
	if err != nil {
		return err
	}
	records, err := place.store.List(ctx)
	if err != nil {
		return triggerError(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log := h.logger(&o.options)
	r := &triggerRunner{runner: runner{host: h, options: &o.options}, home: place.home, log: log, report: func(out triggerOutcome) {
		if err := h.showRun(o.output, out); err != nil {
			cancel(err)
		}
	}}
	if err := r.try(ctx, true); err != nil {
		return err
	}
	release, err := place.file.Claim(place.dir)
	if errors.Is(err, trigger.ErrServed) {
		return cli.Usagef("another openagent triggers serve answers for the triggers of %s", place.dir)
	}
	if err != nil {
		return triggerError(err)
	}
	defer func() { err = errors.Join(err, release()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return cli.Usagef("--addr: %w", err)
	}
	if a, ok := listener.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		h.complain("--addr %s can be reached from other machines: requests are signed, and neither they nor the answers are encrypted; put a proxy with TLS before it", o.addr)
	}
	handler := &trigger.Handler{Store: place.store, Run: r.run, Hosts: o.hosts, MaxBody: maxBody, Log: log}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: requestTime, IdleTimeout: idleTime,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)} // strangers' errors, as many as they like
	if err = h.startServing(o, place, "http://"+listener.Addr().String(), records); err == nil {
		err = listen(ctx, server, listener)
	} else {
		err = errors.Join(err, listener.Close())
	}
	if stuck := endRuns(handler, o.grace); stuck != nil {
		h.complain("%v", stuck)
	}
	switch {
	case isSignal(ctx):
		return cli.Ended(signalCode(ctx))
	case ctx.Err() != nil:
		return &cli.ExitError{Code: cli.ExitInternal, Err: context.Cause(ctx)}
	}
	return err
}

// listen answers requests until ctx ends, and returns once the last has its answer.
func listen(ctx context.Context, server *http.Server, on net.Listener) error {
	l := connlimit.New(on, maxConnections)
	served := make(chan error, 1)
	go func() { served <- l.Server(server).Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("answering requests: %w", err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if server.Shutdown(closing) != nil {
		server.Close()
	}
	<-served
	return nil
}

// startServing says what is answered, and where.
func (h *host) startServing(o *triggerOptions, place triggerPlace, address string, records []trigger.Record) error {
	entries := []triggerEntry{}
	var rows [][]string
	for _, r := range records {
		if e := (triggerEntry{Trigger: r.Trigger}); r.Enabled && r.URL == "" {
			entries = append(entries, e)
			rows = append(rows, []string{address + "/triggers/" + e.ID, short(e.Name, 40), short(e.Prompt, 60)})
		}
	}
	if o.output == formatJSON {
		return h.showLine(triggerStart{"trigger_start", address, entries})
	}
	says := "Answering at " + address + " for the triggers of " + h.oneLine(place.dir) + ", until a signal.\n"
	if len(rows) == 0 {
		return h.show(says + "There are none yet; those that are added will be answered.\n")
	}
	return errors.Join(h.show(says), h.list(formatText, nil, "ADDRESS NAME PROMPT", rows))
}

// showRun writes a line about a run.
func (h *host) showRun(format string, o triggerOutcome) error {
	if format == formatJSON {
		return h.showLine(o)
	}
	return h.show(h.oneLine(o.Started.Local().Format(time.RFC3339)+" "+o.Trigger+" "+o.line()) + "\n")
}
