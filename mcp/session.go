//lint:file-ignore SA1019 Logging, sampling and roots are deprecated in the newest version of the protocol; servers of the others have them.

package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
)

const (
	// parting bounds the farewell to a server on the network.
	parting = time.Second
)

var (
	errSilent = errors.New("the server did not answer in time")
	errLong   = errors.New("the call took too long")
	errEnding = errors.New("the connection to the server is being closed")
)

// A session is an initialised connection to a server.
type session struct {
	client  *sdk.ClientSession
	self    *sdk.Client    // our side
	child   *child         // nil: the server is on the network
	carrier *authTransport // nil: it is a child
	config  Config
	stop    context.CancelFunc // ends the process, or requests on the network
	live    context.Context    // ends with the session
	end     context.CancelCauseFunc
	changed chan struct{} // holds one while the list of tools is to be read again
	calls   atomic.Uint64

	mu      sync.Mutex
	watched map[string]*watch // calls that are under way, by their progress token
	news    news              // of the lists

	rooting sync.Mutex
	roots   []string // URIs that the server is told about; guarded by rooting
}

// A watch is a call whose progress is reported.
type watch struct {
	mu    sync.Mutex
	over  bool
	ctx   context.Context
	timer *time.Timer
	quiet time.Duration
	held  int // the timer stands still
	asks  int // questions to the person and the model

	session string      // that the call belongs to
	number  uint64      // grows from call to call
	sent    atomic.Bool // the server may have seen the call
}

// markSent notes that the server may see the call of ctx from now on. Call refused if the server
// answers that it does not know the session or the token: then it has not seen the call.
func markSent(ctx context.Context) (refused func()) {
	w, ok := ctx.Value(watchKey{}).(*watch)
	if !ok {
		return func() {}
	}
	before := w.sent.Swap(true)
	return func() { w.sent.Store(before) }
}

// connect begins a session. If that fails, it ends the parts that it started. The end of
// ctx ends it, even if the server hangs.
func connect(ctx context.Context, s *server, legacy bool) (_ *session, err error) {
	ses := &session{config: s.config, changed: make(chan struct{}, 1), watched: map[string]*watch{}, news: news{moved: make(chan struct{})}}
	ses.live, ses.end = context.WithCancelCause(context.Background())
	var transport sdk.Transport
	// The stream of an SSE server lives as long as the context of its connection.
	stopped, stop := context.WithCancel(context.Background())
	ses.stop = stop
	switch s.config.kind() {
	case mcpnames.Stdio:
		ses.child = newChild(s.all.options.Workspace, s.config, legacy)
		ses.child.relist = ses.relist
		transport, ses.stop = ses.child, func() {
			stop()
			_ = ses.child.Close() // it never fails
		}
	case mcpnames.InProcess:
		within := newHosted(s.name, s.all.options.Host)
		transport, ses.stop = within, func() {
			stop()
			_ = within.Close() // the host's trouble is not ours
		}
	default:
		if transport, ses.carrier, err = remote(stopped, s.config, s.all.transport, s.auth); err != nil {
			ses.stop()
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			ses.stop()
			ses.end(errEnding)
		}
	}()
	undo := context.AfterFunc(ctx, ses.stop)
	defer undo()
	options := &sdk.ClientOptions{
		Logger: s.all.options.log(),
		Capabilities: &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{ListChanged: true},
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return ses.elicit(ctx, s.name, r)
		},
		LoggingMessageHandler:    func(ctx context.Context, r *sdk.LoggingMessageRequest) { s.logged(ctx, r.Params) },
		ToolListChangedHandler:   func(context.Context, *sdk.ToolListChangedRequest) { ses.announced() },
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) { ses.announced() },
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			if told := s.all.options.Updated; told != nil && r.Params != nil {
				told(s.name, text.Bytes(r.Params.URI, maxURI))
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { ses.progress(r.Params) },
	}
	if s.config.Sampling {
		options.Capabilities.Sampling = &sdk.SamplingCapabilities{} // without tools
		options.CreateMessageWithToolsHandler = func(ctx context.Context, r *sdk.CreateMessageWithToolsRequest) (*sdk.CreateMessageWithToolsResult, error) {
			return ses.sample(ctx, s, r.Params)
		}
	}
	ses.self = sdk.NewClient(&sdk.Implementation{Name: "openagent", Version: s.all.options.version()}, options)
	ses.setRoots(s.all.folders())
	ses.client, err = ses.self.Connect(stopped, transport, nil)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ses.explain(context.Cause(ctx))
		}
		if ses.carrier != nil {
			if refused := ses.carrier.refused.Load(); refused != nil {
				return nil, refused
			}
		}
		if ses.child != nil && ses.child.process != nil && !legacy && ses.child.endedAtProbe() {
			return nil, errProbe
		}
		return nil, ses.explain(err)
	}
	go func() {
		err := ses.client.Wait()
		if err == nil {
			err = errors.New("the server closed the connection")
		}
		ses.end(err)
	}()
	return ses, nil
}

// announced is called by the SDK when a list has changed. A child has called it before: the
// SDK may deliver an answer first that came later.
func (ses *session) announced() {
	if ses.child == nil {
		ses.relist()
	}
}

// relist has the lists of tools and prompts read again.
func (ses *session) relist() {
	ses.mu.Lock()
	ses.news.announced++
	ses.mu.Unlock()
	select {
	case ses.changed <- struct{}{}:
	default:
	}
}

// errProbe is the error for a server that ended when it was asked for the
// newest protocol.
var errProbe = errors.New("the server ended at " + methodDiscover)

func (ses *session) explain(err error) error {
	if ses.child != nil && ses.child.process != nil {
		return ses.child.explain(err)
	}
	return err
}

// lost says why the session has ended.
func (ses *session) lost() error { return ses.explain(context.Cause(ses.live)) }

// close ends the session, its calls and its process, and waits for them.
func (ses *session) close() {
	ses.end(errEnding)
	if ses.child != nil {
		_ = ses.child.Close() // it never fails
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = ses.client.Close() // the server's trouble is not ours any more
	}()
	timer := time.NewTimer(parting)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
	ses.stop()
	<-closed
}

// list returns the tools of the server, and writes them to sum.
func (ses *session) list(ctx context.Context, sum *listing) (tools []*sdk.Tool, problem string, err error) {
	if c := ses.client.InitializeResult().Capabilities; c == nil || c.Tools == nil {
		return nil, "", nil
	}
	err = pages(func(cursor string) (string, error) {
		page, err := ses.client.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		if !sum.take(page.Tools) {
			problem = fmt.Sprintf("only the first %d tools are there: the list is larger than %d MB", len(tools), maxMessage>>20)
			return "", errEnough
		}
		if tools = append(tools, present(page.Tools)...); len(tools) > maxTools {
			tools, problem = tools[:maxTools], fmt.Sprintf("only the first %d tools are there", maxTools)
			return "", errEnough
		}
		return page.NextCursor, nil
	})
	switch {
	case errors.Is(err, errEndless):
		return tools, "the list of tools has no end; what came first is there", nil
	case err != nil:
		return nil, "", fmt.Errorf("listing its tools: %w", err)
	}
	return tools, problem, nil
}

// call calls a tool of the server. The error matches errSilent or errLong if the call was
// given up. It matches [sdk.ErrSessionMissing] or [sdk.ErrConnectionClosed] if the call was
// not made, because the session was over.
func (ses *session) call(ctx context.Context, name string, call tool.Call) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ses.live, func() { cancel(context.Cause(ses.live)) })()
	quiet := ses.config.timeout()
	number := ses.calls.Add(1)
	w := &watch{session: call.Session, number: number, quiet: quiet, timer: time.AfterFunc(quiet, func() { cancel(errSilent) })}
	defer time.AfterFunc(ses.config.maxTime(), func() { cancel(errLong) }).Stop()
	ctx = context.WithValue(ctx, watchKey{}, w)
	w.ctx = ctx
	token := strconv.FormatUint(number, 36)
	ses.watch(token, w)
	defer ses.watch(token, nil)
	defer w.end()
	params := &sdk.CallToolParams{Name: name, Arguments: call.Input}
	params.SetProgressToken(token)
	res, err := ses.client.CallTool(ctx, params)
	unseen := func(err error) bool {
		return errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed)
	}
	if err != nil && ctx.Err() != nil && !unseen(err) {
		res, err = nil, context.Cause(ctx)
	}
	if w.sent.Load() && unseen(err) {
		// The server has answered with the SDK's code for a closed connection, or has forgotten
		// the session in another call. The call must not be made again, so hide these errors.
		err = errors.New(err.Error())
	}
	return res, err
}

func (ses *session) watch(token string, w *watch) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if w == nil {
		delete(ses.watched, token)
		return
	}
	ses.watched[token] = w
}

// progress passes on a server's report about a call, which extends the call's time limit.
func (ses *session) progress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	ses.mu.Lock()
	w := ses.watched[token]
	ses.mu.Unlock()
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if w.held == 0 {
		w.timer.Reset(w.quiet)
	}
	status := tool.Status{Text: line(p.Message)}
	if p.Total > 0 && p.Progress > 0 {
		status.Percent = min(100*p.Progress/p.Total, 100)
	}
	tool.Progress(w.ctx, status)
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

// answer is the text of an error that a server answered with, "" for others.
func answer(err error) string {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return ""
	}
	return fmt.Sprintf("%s (error %d)", text.Bytes(e.Message, 4<<10), e.Code)
}
