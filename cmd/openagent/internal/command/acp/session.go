package acp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/event"
	protocol "github.com/openagent-go/agent/internal/acp"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// An editorSession is a session that a client has opened.
type editorSession struct {
	id     string
	server *server
	h      *cli.IO
	client protocol.ClientCapabilities
	app    *app.App
	rules  *app.SessionRules
	titled bool // the client knows a title; only the running turn uses it

	encoding sync.Mutex // held while updates are made and sent
	encoder  *protocol.Encoder

	mu        sync.Mutex
	turns     []*turn  // in order; the first one runs
	started   bool     // the client knows the session
	early     []string // warnings before that
	closed    bool
	known     map[string]string          // the client's ids of calls, by our ids
	added     chan struct{}              // closed and replaced when known grows
	after     map[string]permission.Mode // modes that follow approved plans, by the call
	failures  map[string]string          // what the client knows of servers that have failed
	announced map[string]bool            // calls of sub-agents that were asked about, by the client's ids
}

// A turn is a prompt.
type turn struct {
	ctx    context.Context
	cancel context.CancelFunc
	ready  chan struct{} // closed when it is the first one
}

// maxTurns is the number of prompts that wait at most.
const maxTurns = 1024

// use connects the session with its app.
func (e *editorSession) use(a *app.App) {
	e.app, e.rules = a, app.NewSessionRules(a)
	e.encoder = &protocol.Encoder{Dir: a.Project, Window: modelinfo.Of(a.Agent.Model).Window, Terminal: e.client.Meta.TerminalOutput,
		Notices: protocol.Has(e.client.Session.Notices), Compaction: protocol.Has(e.client.Session.Compaction)}
	changed := func(st mcp.Status) { go e.serverChanged(st) }
	a.OnServerChange.Store(&changed)
}

// send sends updates.
func (e *editorSession) send(updates ...any) {
	for _, u := range updates {
		_ = e.server.conn.Update(e.id, u) // the end of the input ends a client that has gone
	}
}

// sendCommands tells the client of the slash commands.
func (e *editorSession) sendCommands() {
	list := []protocol.Command{}
	for _, c := range e.app.Commands() {
		command := protocol.Command{Name: c.Name, Description: c.Description}
		if c.Hint != "" {
			command.Input = &protocol.CommandInput{Hint: c.Hint}
		}
		list = append(list, command)
	}
	e.send(&protocol.Commands{Update: "available_commands_update", List: list})
}

// Write writes a warning to stderr. A client that has notices gets it, too, once it knows the
// session.
func (e *editorSession) Write(line []byte) (int, error) {
	if warning, ok := strings.CutPrefix(string(line), "openagent: "); ok && protocol.Has(e.client.Session.Notices) {
		warning = strings.TrimSpace(warning)
		e.mu.Lock()
		if !e.started {
			e.early = append(e.early, warning)
		} else if !e.closed {
			go e.warn(warning)
		}
		e.mu.Unlock()
	}
	return e.server.h.Err.Write(line)
}

func (e *editorSession) warn(warning string) {
	e.encoding.Lock()
	defer e.encoding.Unlock()
	e.send(e.encoder.Notice("warning", warning)...)
}

// sendStart tells the client, which knows the session now, of its commands, warnings and servers.
func (e *editorSession) sendStart() {
	e.mu.Lock()
	e.started = true
	early := e.early
	e.mu.Unlock()
	e.sendCommands()
	for _, warning := range early {
		e.warn(warning)
	}
	for _, st := range e.app.ServerStatus() {
		e.serverFailed(st)
	}
}

// serverFailed tells the client of a server that has failed, once.
func (e *editorSession) serverFailed(st mcp.Status) {
	e.mu.Lock()
	told := e.failures[st.Name] == st.Error
	e.failures[st.Name] = st.Error
	e.mu.Unlock()
	if st.Error != "" && !told {
		e.warn("the MCP server " + st.Name + ": " + e.h.OneLine(st.Error))
	}
}

// serverChanged tells the client of a server that has failed, or that has brought commands.
func (e *editorSession) serverChanged(st mcp.Status) {
	e.mu.Lock()
	ready := e.started && !e.closed
	e.mu.Unlock()
	if !ready {
		return
	}
	e.serverFailed(st)
	if e.app.Servers != nil && len(e.app.Servers.Prompts()) > 0 {
		e.sendCommands()
	}
}

// recall reads the past of a session, and shows it to the client if show is set.
func (e *editorSession) recall(ctx context.Context, show bool) error {
	if !e.app.Existing {
		return nil
	}
	if err := e.restoreMode(ctx); err != nil {
		return err
	}
	past, err := session.Load(ctx, e.app.Store, e.id, 0, 0)
	if err != nil {
		return err
	}
	e.encoding.Lock()
	defer e.encoding.Unlock()
	for _, ev := range past {
		if updates := e.encoder.Replay(ev); show {
			e.send(updates...)
		}
	}
	updates := e.encoder.Loaded()
	e.encoder.TakeCalls()
	if show {
		e.send(updates...)
	}
	if info, err := session.Stat(ctx, e.app.Store, e.id); err == nil && titleOf(info) != "" {
		e.titled = true
		e.send(&protocol.InfoUpdate{Update: "session_info_update", Title: titleOf(info)})
	}
	return nil
}

// An editor may start this program while the one before still closes the session.
const (
	busyPatience = 5 * time.Second
	busyPause    = 50 * time.Millisecond
)

// restoreMode opens the session for writing and restores its permission mode.
func (e *editorSession) restoreMode(ctx context.Context) error {
	late := time.After(busyPatience)
	for {
		_, err := streamjson.NewSessionReport(ctx, e.app, nil, false, e.h.Warn)
		if !errors.Is(err, session.ErrBusy) {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-late:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// cancel ends all turns. They end as cancelled.
func (e *editorSession) cancel() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.turns {
		t.cancel()
	}
}

// close ends all turns and closes the session, with its processes.
func (e *editorSession) close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.app.OnServerChange.Store(nil)
	return e.app.Close()
}

// prompt begins a turn. Prompts of a session run one after another.
func (e *editorSession) prompt(blocks []protocol.Block) (rest, error) {
	in, said, err := inputOf(blocks)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, protocol.Errorf(protocol.ResourceNotFound, "the session %s is closed", e.id)
	case len(e.turns) >= maxTurns:
		return nil, protocol.Errorf(protocol.InvalidRequest, "more than %d prompts are waiting; send fewer at a time", maxTurns)
	}
	t := &turn{ready: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	changes := e.server.enqueue(e.id) // they come first
	if e.turns = append(e.turns, t); len(e.turns) == 1 {
		close(t.ready)
	}
	return func(ctx context.Context) (any, error) {
		defer e.finish(t)
		defer context.AfterFunc(ctx, t.cancel)()
		if leave, err := changes.enter(t.ctx); err == nil {
			leave()
		}
		select {
		case <-t.ready:
		case <-t.ctx.Done():
			return protocol.Prompted{Stop: protocol.Cancelled}, nil
		}
		end, err := e.run(t.ctx, in, said)
		if t.ctx.Err() != nil { // never an error
			end.Stop, err = protocol.Cancelled, nil
		}
		if err != nil {
			return nil, refusal(err)
		}
		return end, nil
	}, nil
}

// finish takes a turn off the list and lets the next one begin.
func (e *editorSession) finish(t *turn) {
	t.cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.turns[0] == t
	e.turns = slices.DeleteFunc(e.turns, func(o *turn) bool { return o == t })
	if first && len(e.turns) > 0 {
		close(e.turns[0].ready)
	}
}

// run runs a prompt.
func (e *editorSession) run(ctx context.Context, in agent.Input, said string) (out protocol.Prompted, err error) {
	if in, err = app.ExpandPart(ctx, e.h, e.app, in, said); err != nil {
		return out, protocol.Errorf(protocol.InvalidParams, "%v", err)
	}
	if title := text.Runes(text.OneLine(strings.TrimSpace(said)), 80); !e.titled && title != "" {
		e.titled = true
		e.send(&protocol.InfoUpdate{Update: "session_info_update", Title: title})
	}
	var end *event.RunEnd
	var failed error
	for ev, err := range e.app.Session.StreamInput(ctx, in) {
		if err != nil {
			failed = err
			continue
		}
		e.show(ctx, ev)
		if d, ok := ev.Data.(event.RunEnd); ok {
			end, out.Usage = &d, protocol.UsageOf(d)
		}
	}
	if ctx.Err() != nil {
		// Agents in the background end with the prompt that the user cancels.
		if _, err := e.app.Session.Interrupt(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, agent.ErrNotRunning) && !errors.Is(err, agent.ErrClosed) {
			e.h.Warn("%v", err)
		}
		return out, nil
	}
	if end == nil {
		if failed == nil {
			failed = errors.New("the run ended without a result")
		}
		return out, failed
	}
	if notice := protocol.EndNotice(*end); notice != "" {
		e.warn(e.h.OneLine(notice))
	}
	out.Stop, err = protocol.Stop(*end)
	return out, err
}

// show sends the updates of an event.
func (e *editorSession) show(ctx context.Context, ev event.Event) {
	e.encoding.Lock()
	updates := e.encoder.Event(ev)
	e.send(updates...)
	calls := e.encoder.TakeCalls()
	e.encoding.Unlock()
	if len(calls) > 0 {
		e.mu.Lock()
		for _, c := range calls {
			e.known[c.ID] = c.ToolID
		}
		close(e.added)
		e.added = make(chan struct{})
		e.mu.Unlock()
	}
	switch d := ev.Data.(type) {
	case event.AgentEvent:
		e.endAnnounced(d)
	case event.ToolResult:
		e.afterPlan(ctx, d)
	case event.ModelChanged:
		e.sendOptions(ctx)
		return
	case event.RunEnd:
		e.mu.Lock()
		clear(e.known) // no question is open
		e.mu.Unlock()
	}
	for _, u := range updates {
		if _, ok := u.(*protocol.ModeUpdate); ok {
			e.sendOptions(ctx)
		}
	}
}

// endAnnounced ends the call of a sub-agent that the client knows because it was asked about.
func (e *editorSession) endAnnounced(d event.AgentEvent) {
	if d.Event == nil {
		return
	}
	switch x := d.Event.Data.(type) {
	case event.AgentEvent: // of an agent below
		e.endAnnounced(x)
	case event.ToolResult:
		key := d.Event.Session + "/" + x.Call
		e.mu.Lock()
		known := e.announced[key]
		delete(e.announced, key)
		e.mu.Unlock()
		if !known {
			return
		}
		u := &protocol.ToolCall{Update: "tool_call_update", ID: key, Status: protocol.Completed}
		if x.Result.IsError || x.Cause != "" {
			u.Status = protocol.Failed
		}
		e.send(u)
	}
}

// callPatience is how long to wait until a call is shown. A call of a run that was broken off by a
// crash is not shown again.
const callPatience = time.Second

// toolID returns the client's id of a call, once the client knows the call. For a call in a batch it
// is that of the batch. It is "" if the client does not learn of the call.
func (e *editorSession) toolID(ctx context.Context, call tool.Call) (string, error) {
	id := call.ID
	if parts := strings.SplitN(id, ".", 3); len(parts) == 3 {
		id = parts[0] + "." + parts[1]
	}
	late := time.NewTimer(callPatience)
	defer late.Stop()
	for {
		e.mu.Lock()
		known, added := e.known[id], e.added
		e.mu.Unlock()
		if known != "" {
			return known, nil
		}
		select {
		case <-added:
		case <-late.C:
			return "", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
