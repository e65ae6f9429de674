package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/workspace"
)

const (
	// The times that a server has before it is killed: leaving once its input has ended,
	// stopping after it was asked to end.
	leaving  = 150 * time.Millisecond
	stopping = 250 * time.Millisecond
	// probing bounds the wait for an answer to server/discover, which servers from
	// before 2026-07-28 need not give; it is never more than a third of the time to start.
	probing = 5 * time.Second
	// finding bounds how long an error waits to learn how the server ended.
	finding = time.Second
	// maxOpen bounds the requests of a server that are not answered: the SDK queues
	// them without bound, and a server need not read the answers.
	maxOpen = 100

	methodDiscover = "server/discover"
	toolsChanged   = "notifications/tools/list_changed"
	promptsChanged = "notifications/prompts/list_changed"
)

// inherited are the variables that every server gets: those of the official TypeScript SDK,
// and those about language, time and temporary files.
var inherited = map[bool][]string{
	false: {"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"},
	true: {"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE",
		"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"},
}

// environment is all that a server's process gets, secrets of ours not among it.
func environment(own map[string]string, getenv func(string) string) []string {
	env := []string{}
	for _, name := range inherited[runtime.GOOS == "windows"] {
		if v := getenv(name); v != "" && !strings.HasPrefix(v, "()") { // the latter are functions of a shell
			env = append(env, name+"="+v)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// A child is a server that runs as a process, and the connection to it. It replaces the
// transport of the SDK, which ends sessions at lines that are not messages, stops only the
// process itself, and waits without bound for an answer to its probe.
type child struct {
	space   *workspace.Workspace
	config  Config
	legacy  bool // the server is known to be older than server/discover
	secrets redact.Values
	relist  func() // called for each announcement that a list has changed; may be nil

	starting sync.Mutex // guards process until Connect has returned
	process  workspace.Process
	input    *feed
	out      chan jsonrpc.Message
	closing  sync.Once
	closed   chan struct{}
	exited   chan struct{} // closed: all of the process has ended
	exit     workspace.Exit

	mu     sync.Mutex
	stderr tailBuffer
	noise  tailBuffer // lines on stdout that are not messages
	probe  jsonrpc.ID // of server/discover, while it is not answered
	late   *time.Timer
	open   int // requests of the server that are not answered
}

func newChild(space *workspace.Workspace, c Config, legacy bool) *child {
	return &child{space: space, config: c, legacy: legacy, secrets: redact.New(c.secrets()), input: newFeed(2 * maxOpen),
		out: make(chan jsonrpc.Message, 16), closed: make(chan struct{}), exited: make(chan struct{})}
}

// errNotStarted is matched by errors of a process that could not be started: to
// try again does not help.
var errNotStarted = errors.New("the server cannot be started")

// Connect starts the process. It lives until Close.
func (c *child) Connect(context.Context) (sdk.Connection, error) {
	if c.space == nil {
		return nil, fmt.Errorf("%w: stdio servers need a workspace", errNotStarted)
	}
	if c.config.Sandbox && c.space.Confine == nil {
		return nil, fmt.Errorf("%w: its configuration asks for a sandbox, but none is on", errNotStarted)
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	select {
	case <-c.closed:
		return nil, io.ErrClosedPipe
	default:
	}
	p, err := c.space.Start(context.Background(), workspace.Command{
		Args: append([]string{c.config.Command}, c.config.Args...), Dir: c.config.Dir, Env: environment(c.config.Env, os.Getenv),
		Input: c.input, Output: &framer{limit: maxMessage, line: c.line, long: c.long}, Errors: writer(c.keepError),
		Grace: stopping, Outside: !c.config.Sandbox,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotStarted, err)
	}
	c.process = p
	go func() {
		c.exit = p.Wait()
		close(c.exited)
	}()
	return c, nil
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func (c *child) keepError(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.stderr.Write(p) // it never fails
}

// line takes a line of stdout. A line that is not a message is kept for error reports.
func (c *child) line(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if len(line) > maxValues && json.Valid(line) && manyValues(line) {
		c.fail(line[:min(len(line), keptHead)], line[max(0, len(line)-keptTail):], errValues)
		return
	}
	if line[0] == '[' && json.Valid(line) { // a batch, as 2025-03-26 has them
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) == nil {
			for _, m := range batch {
				c.message(m)
			}
			return
		}
	}
	c.message(line)
}

func (c *child) message(line []byte) {
	// The SDK's decoder has no limit of depth; that of Valid is 10,000 levels.
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		c.keepNoise(line)
		return
	}
	m, err := jsonrpc.DecodeMessage(bytes.Clone(line))
	if err != nil {
		if c.refused(line) {
			return
		}
		c.keepNoise(line)
		return
	}
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.probed(m.ID)
	case *jsonrpc.Request:
		if m.IsCall() && !c.admit() {
			c.refuse(m.ID)
			return
		}
		if c.relist != nil && (m.Method == toolsChanged || m.Method == promptsChanged) {
			c.relist()
		}
	}
	c.deliver(m)
}

// admit counts a request of the server. It reports whether it may be made.
func (c *child) admit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= maxOpen {
		return false
	}
	c.open++
	return true
}

// refuse answers a request of the server, if that can be done at once.
func (c *child) refuse(id jsonrpc.ID) {
	data, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("%d requests are not answered yet", maxOpen)}})
	if err != nil {
		return
	}
	c.input.offer(append(data, '\n'))
}

func (c *child) keepNoise(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.noise.Write(append(bytes.Clone(line[:min(len(line), 500)]), '\n')) // it never fails
}

// long answers for a message that is too large.
func (c *child) long(head, tail []byte) {
	c.fail(head, tail, fmt.Errorf("the answer is larger than %d MB; ask for less", maxMessage>>20))
}

// fail answers with an error for a message that is not taken, so that its call alone fails.
func (c *child) fail(head, tail []byte, why error) {
	c.keepNoise(head)
	id, err := jsonrpc.MakeID(answered(head, tail))
	if err != nil || !id.IsValid() {
		return
	}
	c.deliver(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why.Error()}})
}

func (c *child) deliver(m jsonrpc.Message) {
	select {
	case c.out <- m:
	case <-c.closed:
	}
}

// Read returns the next message. After the end of the process it returns the remaining
// ones, then [io.EOF].
func (c *child) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.out:
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.exited:
	}
	select {
	case m := <-c.out:
		return m, nil
	default:
		return nil, io.EOF
	}
}

// Write sends a message. It does not wait for the server to read it, unless many
// are waiting.
func (c *child) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == methodDiscover {
		if c.legacy {
			c.deliver(undiscovered(r.ID))
			return nil
		}
		c.mu.Lock()
		c.probe = r.ID
		c.late = time.AfterFunc(min(probing, c.config.start()/3), c.giveUp)
		c.mu.Unlock()
	}
	if _, ok := m.(*jsonrpc.Response); ok {
		defer c.answered()
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case <-c.closed:
		return io.ErrClosedPipe
	case <-c.exited:
		return io.ErrClosedPipe
	default:
	}
	data = append(data, '\n')
	if _, ok := m.(*jsonrpc.Response); ok { // who writes it takes no other message in the meantime
		c.input.offer(data) // if the server does not read its input, it will not miss this
		return nil
	}
	markSent(ctx)
	return c.input.send(ctx, data, c.exited)
}

func (c *child) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = max(c.open-1, 0)
}

// undiscovered is the answer to server/discover of a server that does not know it.
func undiscovered(id jsonrpc.ID) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the server does not answer " + methodDiscover}}
}

// probed notes that the probe was answered, if it was that.
func (c *child) probed(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probe.IsValid() && c.probe == id {
		c.late.Stop()
		c.probe = jsonrpc.ID{}
	}
}

// refused takes an error without an id for the answer to the probe.
func (c *child) refused(line []byte) bool {
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil || m.Error == nil || m.ID != nil && string(m.ID) != "null" {
		return false
	}
	return c.endProbe()
}

func (c *child) giveUp() { c.endProbe() }

// endProbe answers the probe in the server's place.
func (c *child) endProbe() bool {
	c.mu.Lock()
	id := c.probe
	c.probe = jsonrpc.ID{}
	if id.IsValid() {
		c.late.Stop()
	}
	c.mu.Unlock()
	if id.IsValid() {
		c.deliver(undiscovered(id))
	}
	return id.IsValid()
}

// endedAtProbe reports whether the process ended instead of answering the probe.
func (c *child) endedAtProbe() bool {
	select {
	case <-c.exited:
	case <-time.After(finding):
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.probe.IsValid() && !c.exit.Stopped
}

// Close ends the process and all that it has started, and waits for that.
func (c *child) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		c.mu.Lock()
		if c.late != nil {
			c.late.Stop()
		}
		c.mu.Unlock()
		_ = c.input.Close() // it never fails
		p := c.started()
		if p == nil {
			return
		}
		timer := time.NewTimer(leaving)
		defer timer.Stop()
		select {
		case <-c.exited:
			return
		case <-timer.C:
		}
		p.Stop()
	})
	if c.started() != nil {
		<-c.exited
	}
	return nil
}

// started returns the process, nil if none was started and, once it is closed,
// none will be.
func (c *child) started() workspace.Process {
	c.starting.Lock()
	defer c.starting.Unlock()
	return c.process
}

// SessionID is empty: a process is one session.
func (c *child) SessionID() string { return "" }

// explain describes the end of the process and its last output for people; err is the
// reason if the process did not end by itself.
func (c *child) explain(err error) error {
	if errors.Is(err, errLate) { // the end came of it
		return c.quote(err.Error(), err)
	}
	var b strings.Builder
	select {
	case <-c.exited:
		switch {
		case c.exit.Stopped:
		case c.exit.Signaled:
			fmt.Fprintf(&b, "the server was ended by signal %d", c.exit.Code-128)
		default:
			fmt.Fprintf(&b, "the server exited with code %d", c.exit.Code)
		}
	case <-time.After(finding):
	}
	if b.Len() == 0 && err != nil {
		b.WriteString(err.Error())
	}
	return c.quote(b.String(), err)
}

// quote adds the process's last output for people to a text; nil if there is none.
func (c *child) quote(before string, err error) error {
	var b strings.Builder
	b.WriteString(before)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range []struct{ what, text string }{{"stderr", c.stderr.String()}, {"on stdout, but no message", c.noise.String()}} {
		if s.text != "" {
			fmt.Fprintf(&b, "; %s: %s", s.what, text.Bytes(c.secrets.Text(s.text), keptNoise))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return &endError{b.String(), err}
}

// An endError says how a server ended; it wraps why that was noticed.
type endError struct {
	text string
	err  error
}

func (e *endError) Error() string { return e.text }
func (e *endError) Unwrap() error { return e.err }
