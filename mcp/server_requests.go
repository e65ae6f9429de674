//lint:file-ignore SA1019 Logging, sampling and roots are deprecated in the newest version of the protocol; servers of the others have them.

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/internal/toolschema"
)

const (
	maxAsked = 16 << 10 // bytes of a question's form
	maxAsks  = 20       // questions of a call to the person and the model
	maxLog   = 2 << 10  // bytes of a message of a log
	maxLogs  = 100      // messages of a server's log in a minute
)

// watchKey finds the call in the context of a request that a server makes within one,
// as those of 2026-07-28 do.
type watchKey struct{}

// behind returns the call that a server's request belongs to. Older servers do not say, so
// it is the latest pending call. It is nil if there is none, or if more than one
// conversation could have asked.
func (ses *session) behind(ctx context.Context) *watch {
	if w, ok := ctx.Value(watchKey{}).(*watch); ok {
		return w
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	var found *watch
	for _, w := range ses.watched {
		switch {
		case found == nil:
			found = w
		case found.session != w.session:
			return nil
		case w.number > found.number:
			found = w
		}
	}
	return found
}

// elicit has the run of a call ask the person. Time that they take is not the call's.
func (ses *session) elicit(ctx context.Context, server string, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	declined := &sdk.ElicitResult{Action: string(toolhost.Declined)}
	w, p := ses.behind(ctx), r.Params
	if w == nil || p == nil {
		return declined, nil
	}
	var form *toolschema.Resolved
	e := toolhost.Elicitation{Server: server, Message: text.Clean(p.Message), URL: p.URL, ID: text.Bytes(p.ElicitationID, maxLine)}
	if p.URL == "" {
		var err error
		if e.Schema, err = json.Marshal(p.RequestedSchema); err != nil || len(e.Schema) > maxAsked {
			return declined, nil
		}
		// The MCP library checks the answer by the schema, which would not end with every one.
		if p.RequestedSchema != nil {
			if form, err = toolschema.ResolveJSON(e.Schema); err != nil {
				return declined, nil
			}
		}
	} else if u, err := url.Parse(p.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(p.URL) > maxLine {
		return declined, nil // only pages are shown to the person
	}
	if w.hold() > maxAsks {
		w.release()
		return declined, nil
	}
	defer w.release()
	within, cancel := context.WithCancel(w.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	answer := toolhost.Elicit(within, e)
	res := &sdk.ElicitResult{Action: string(answer.Action)}
	if answer.Action == toolhost.Accepted && p.URL == "" {
		res.Content = map[string]any{}
		if len(answer.Content) > 0 && json.Unmarshal(answer.Content, &res.Content) != nil {
			return declined, nil
		}
		if form != nil && errors.Is(form.Validate(res.Content), toolschema.ErrUnchecked) {
			return declined, nil
		}
	}
	return res, nil
}

// hold keeps a call from being given up for its silence, until it is released. It
// returns how often it was held.
func (w *watch) hold() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held++
	w.asks++
	w.timer.Stop()
	return w.asks
}

func (w *watch) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held--; w.held == 0 && !w.over {
		w.timer.Reset(w.quiet)
	}
}

// The levels of messages of servers' logs, from the least to the most urgent.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func checkLogLevel(level string) error {
	if level != "" && !slices.Contains(logLevels, level) {
		return fmt.Errorf("logLevel is %q; the levels are %v", text.Bytes(level, 50), logLevels)
	}
	return nil
}

// A logRate bounds the messages of a log by time.
type logRate struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

// take reports whether a message may be passed on, and whether it is the first in
// its minute that may not.
func (r *logRate) take(now time.Time) (may, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Minute {
		r.since, r.n = now, 0
	}
	r.n++
	return r.n <= maxLogs, r.n == maxLogs+1
}

// logged passes on a message of a server's log.
func (s *server) logged(ctx context.Context, p *sdk.LoggingMessageParams) {
	if p == nil {
		return
	}
	level := slog.LevelError
	switch at := slices.Index(logLevels, string(p.Level)); {
	case at <= 0:
		level = slog.LevelDebug
	case at <= 2:
		level = slog.LevelInfo
	case at == 3:
		level = slog.LevelWarn
	}
	log := s.all.options.log()
	if !log.Enabled(ctx, level) {
		return
	}
	may, first := s.logs.take(time.Now())
	if first {
		log.Warn("an MCP server says too much, and the rest of this minute is left out", "server", s.name)
	}
	if !may {
		return
	}
	said, ok := p.Data.(string)
	if !ok {
		data, err := json.Marshal(p.Data)
		if err != nil {
			return
		}
		said = string(data)
	}
	log.Log(ctx, level, "an MCP server says", "server", s.name, "logger", line(p.Logger), "text", s.sanitize(text.Bytes(text.Clean(said), maxLog)))
}

// setLogLevel tells a server which messages are wanted.
func (s *server) setLogLevel(ctx context.Context, ses *session) {
	if s.config.LogLevel == "" || ses.capabilities().Logging == nil {
		return
	}
	if err := ses.client.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: sdk.LoggingLevel(s.config.LogLevel)}); err != nil {
		s.all.options.log().Warn("an MCP server does not take the level of its log", "server", s.name, "error", s.sanitize(err.Error()))
	}
}

// SetRoots replaces the workspace's folders as the roots of servers. Connected servers are
// told about the change.
func (all *Servers) SetRoots(dirs ...string) {
	all.mu.Lock()
	all.roots = slices.Clone(dirs)
	var sessions []*session
	for _, s := range all.servers {
		if s.session != nil {
			sessions = append(sessions, s.session)
		}
	}
	all.mu.Unlock()
	for _, ses := range sessions {
		ses.setRoots(all.folders())
	}
}

// folders are the roots that servers are told about.
func (all *Servers) folders() []string {
	all.mu.Lock()
	defer all.mu.Unlock()
	if ws := all.options.Workspace; all.roots == nil && ws != nil {
		return append([]string{ws.Root}, ws.Dirs...)
	}
	return all.roots
}

// setRoots makes dirs the roots of a session. The SDK tells the server.
func (ses *session) setRoots(dirs []string) {
	ses.rooting.Lock()
	defer ses.rooting.Unlock()
	var roots []*sdk.Root
	var uris []string
	for _, d := range dirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			continue
		}
		path := filepath.ToSlash(abs)
		if path[0] != '/' { // C:/…
			path = "/" + path
		}
		u := (&url.URL{Scheme: "file", Path: path}).String()
		roots, uris = append(roots, &sdk.Root{URI: u, Name: filepath.Base(abs)}), append(uris, u)
	}
	var gone []string
	for _, u := range ses.roots {
		if !slices.Contains(uris, u) {
			gone = append(gone, u)
		}
	}
	roots = slices.DeleteFunc(roots, func(r *sdk.Root) bool { return slices.Contains(ses.roots, r.URI) })
	ses.roots = uris
	if len(gone) > 0 {
		ses.self.RemoveRoots(gone...)
	}
	if len(roots) > 0 {
		ses.self.AddRoots(roots...)
	}
}
