package triggers

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/triggerstore"
)

const (
	defaultAddress = "127.0.0.1:8787"
	defaultGrace   = 10 * time.Second
	MaxBody        = 64 << 10    // maximum bytes of a request
	requestTime    = time.Minute // for a request and its answer
)

// A Start is the first line of JSON that "triggers serve" writes.
type Start struct {
	Type     string         `json:"type"` // "trigger_start"
	Address  string         `json:"address"`
	Triggers []triggerEntry `json:"triggers"`
}

// triggersServe answers requests for the triggers of the working folder and runs their prompts,
// until a signal.
func triggersServe(ctx context.Context, h *cli.IO, o *triggerOptions) (err error) {
	place, err := findTriggerPlace(h)
	if err != nil {
		return err
	}
	records, err := place.store.List(ctx)
	if err != nil {
		return triggerError(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log := settings.Logger(h, &o.Options)
	r := &automation.TriggerRunner{Runner: automation.Runner{Host: h, Options: &o.Options}, Home: place.home, Log: log, Report: func(out automation.TriggerOutcome) {
		if err := showRun(h, o.Output, out); err != nil {
			cancel(err)
		}
	}}
	if err := r.Check(ctx, true); err != nil {
		return err
	}
	release, err := place.file.Claim(place.dir)
	if errors.Is(err, triggerstore.ErrServed) {
		return cli.Usagef("another openagent triggers serve already answers for the triggers of %s; stop it first", place.dir)
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
		h.Warn("--addr %s can be reached from other machines, and neither requests nor answers are encrypted; put a proxy with TLS in front", o.addr)
	}
	handler := &triggerstore.Handler{Store: place.store, Run: r.Run, Hosts: o.hosts, MaxBody: MaxBody, Log: log}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: automation.HeaderTimeout, ReadTimeout: requestTime, WriteTimeout: requestTime, IdleTimeout: automation.IdleTimeout,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)} // strangers can cause any number of errors
	if err = startServing(h, o, place, "http://"+listener.Addr().String(), records); err == nil {
		err = automation.Serve(ctx, server, listener)
	} else {
		err = errors.Join(err, listener.Close())
	}
	if stuck := automation.StopRuns(handler, o.grace); stuck != nil {
		h.Warn("%v", stuck)
	}
	switch {
	case cli.IsSignal(ctx):
		return cli.ExitCode(cli.SignalCode(ctx))
	case ctx.Err() != nil:
		return &cli.ExitError{Code: cli.ExitInternal, Err: context.Cause(ctx)}
	}
	return err
}

// startServing reports the address and the triggers.
func startServing(h *cli.IO, o *triggerOptions, place triggerPlace, address string, records []triggerstore.Record) error {
	entries := []triggerEntry{}
	var rows [][]string
	for _, r := range records {
		if e := (triggerEntry{Trigger: r.Trigger}); r.Enabled && r.URL == "" {
			entries = append(entries, e)
			rows = append(rows, []string{address + "/triggers/" + e.ID, text.Runes(e.Name, 40), text.Runes(e.Prompt, 60)})
		}
	}
	if o.Output == cli.FormatJSON {
		return cli.ShowLine(h, Start{"trigger_start", address, entries})
	}
	says := "Answering at " + address + " for the triggers of " + h.OneLine(place.dir) + ", until a signal.\n"
	if len(rows) == 0 {
		return h.Show(says + "There are no triggers yet. Triggers that you add will be answered.\n")
	}
	return errors.Join(h.Show(says), h.WriteList(cli.FormatText, nil, "ADDRESS NAME PROMPT", rows))
}

// showRun writes a line about a run.
func showRun(h *cli.IO, format string, o automation.TriggerOutcome) error {
	if format == cli.FormatJSON {
		return cli.ShowLine(h, o)
	}
	return h.Show(h.OneLine(o.Started.Local().Format(time.RFC3339)+" "+o.Trigger+" "+o.Text()) + "\n")
}
