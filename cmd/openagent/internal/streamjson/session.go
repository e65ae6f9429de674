// Package streamjson is the stream-json protocol: messages and control requests on stdin,
// the events of a run on stdout.
package streamjson

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// A Session is a session driven by lines on stdin. Each user message is a prompt with its own
// result. A message during a run waits for its end, or joins the run if its priority says so.
type Session struct {
	H      *cli.IO
	s      *app.App
	out    *Writer
	report *Report
	prompt *permissionPrompt // nil: questions about permission are not for the host
	in     *bufio.Reader
	line   int    // lines read so far
	first  []byte // a line that was read before the session existed

	claude    bool            // the lines and control messages are those of Claude Code
	initial   json.RawMessage // initialize, if it came first
	initialID string

	hostSuggests bool               // the host wants suggestions of prompts
	prompts      int                // that got an answer
	unsuggest    context.CancelFunc // ends the call for a suggestion; guarded by mu

	modelHooks map[string][]modelHook      // of the host, by event
	broke      atomic.Pointer[func(error)] // called when stdout cannot be written
	id         atomic.Pointer[string]      // of the session
	simulated  atomic.Bool
	requests   *requests

	waiting sync.WaitGroup // control requests that take their time, and what watches background commands

	mu      sync.Mutex
	hosted  map[string]*hostConn // the connections to servers within the host
	changed chan struct{}        // has room for one
	working map[string]bool      // background agents that the host has to hear of
	own     map[string]bool      // ids of messages that the session itself has queued
	current *turn                // runs, or is about to
	queue   []agent.Input
	context []llm.Block     // messages without a turn of their own, for the next one
	schema  json.RawMessage // schema of answers from initialize; nil: from the flags
	ended   bool            // the input has ended
	broken  error           // the input was invalid
}

// A turn is one prompt of the conversation.
type turn struct {
	input         agent.Input
	started, done chan struct{}
	once          sync.Once
}

const (
	maxLine  = 64 << 20 // bytes
	maxQueue = 1024     // user messages
)

// Serve handles stdin until it ends.
func (d *Session) Serve(program context.Context, s *app.App, args []string, blocks []llm.Block) error {
	ctx, cancel := context.WithCancelCause(program)
	defer cancel(nil)
	watching, leave := context.WithCancel(ctx) // of background commands
	defer leave()
	h := d.H
	d.s, d.claude = s, s.Options.Driven()
	d.broke.Store(new(func(err error) { cancel(err) }))
	defer d.out.StopWaiting(ctx)()
	var err error
	var m *mirror
	if s.Options.Mirror {
		m, err = newMirror(ctx, h, s, d.out.Put)
	}
	if err == nil {
		d.report, err = newSessionReport(ctx, s, d.out.Put, false, h.Warn, m)
	}
	if err != nil {
		return cli.StartError(ctx, CloseWriter(ctx, d.out, err))
	}
	d.report.Warn, d.report.commands = h.Warn, d.slashNames
	if c := d.report.claude; c != nil {
		c.summaries = wanted(h.Getenv, summaryVariable)
		c.tasks.onJob = func(session, job, id string) { d.watchJob(watching, session, job, id) }
	}
	d.id.Store(&s.Session.ID)
	d.simulated.Store(d.report.simulated)
	d.tellOfServers()
	if s.Options.PromptTool == settings.AskByStdio || s.Options.AskTool != "" {
		d.prompt = newPermissionPrompt(d)
		if err := s.Session.SetCanUseTool(ctx, d.prompt.decide); err != nil {
			return cli.StartError(ctx, CloseWriter(ctx, d.out, err))
		}
	}
	if d.initial != nil {
		d.reply(d.initialID, d.initialized(), nil)
	}
	defer automation.StartBackground(ctx, h, s, func(line string) { s.Agent.Log.Info(line) })()
	if prompt, _ := cli.PromptArg(args); prompt != "" || len(blocks) > 0 {
		d.enqueue(agent.Input{ID: session.NewID(), Text: prompt, Blocks: blocks})
	}
	go func() {
		if err := d.read(ctx); err != nil {
			cancel(err)
		}
	}()
	o, err := d.serve(ctx, watching)
	if bad := d.failure(); bad != nil { // other failures
		err = bad
	}
	if err != nil && !d.report.Started {
		return cli.StartError(program, CloseWriter(ctx, d.out, err))
	}
	leave()
	d.waiting.Wait()
	d.s.OnServerChange.Store(nil)
	closed := d.out.Close(ctx)
	switch {
	case err != nil:
		return err
	case program.Err() != nil && o.Code == cli.ExitDone:
		return cli.ExitCode(cli.SignalCode(program))
	}
	return RunError(ctx, h, o, closed)
}

// failure returns why reading the input stopped, or nil.
func (d *Session) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken
}

// serve runs the prompts in order and returns how the last one ended. watching ends when the program
// leaves.
func (d *Session) serve(ctx, watching context.Context) (cli.Outcome, error) {
	last := cli.Outcome{Code: cli.ExitDone}
	for {
		t := d.next(ctx)
		if t == nil {
			return last, nil
		}
		d.tellState("running")
		d.report.Expect(true)
		if c := d.report.claude; c != nil {
			c.began, c.stop = "", ""
			if d.mu.Lock(); d.own[t.input.ID] {
				c.began = "task-notification"
				delete(d.own, t.input.ID)
			}
			d.mu.Unlock()
		}
		if text, ok, err := d.localCommand(ctx, t.input); ok {
			d.finished(t)
			last = d.localResult(ctx, text, err)
			continue
		}
		in, err := app.ExpandCommand(ctx, d.H, d.s, t.input)
		if err != nil && ctx.Err() == nil {
			d.finished(t)
			d.report.broken(err, event.RunEnd{})
			last = d.result(ctx)
			continue
		}
		t.input = in
		err = d.report.Run(d.s.Session, d.started(t, d.s.Session.StreamInput(ctx, t.input)))
		d.requests.rest()
		d.finished(t)
		switch {
		case d.report.Started:
			last = d.result(ctx)
			d.suggest(watching)
		case err != nil:
			return last, err
		default: // the message had been answered before
			d.rested()
		}
	}
}

// result writes the result of the current turn.
func (d *Session) result(ctx context.Context) cli.Outcome {
	line, o := d.report.ResultLine(ctx, d.claude)
	d.s.ExportSession(ctx) // who reads the result may look for it
	d.out.Put(line)
	d.rested()
	return o
}

// rested reports that nothing works any more, if that is so.
func (d *Session) rested() {
	d.mu.Lock()
	more := len(d.queue) > 0
	d.mu.Unlock()
	if !more && !d.background() {
		d.tellState("idle")
	}
}

// next waits for the next turn; nil means the input has ended.
func (d *Session) next(ctx context.Context) *turn {
	for {
		d.mu.Lock()
		if d.current == nil && len(d.queue) > 0 {
			d.begin()
		}
		t, over := d.current, d.ended
		d.mu.Unlock()
		busy := t == nil && ctx.Err() == nil && d.background()
		if ctx.Err() != nil || t == nil && over && !busy {
			return nil
		}
		if t != nil {
			return t
		}
		var look <-chan time.Time
		if busy {
			look = time.After(agentPoll)
		}
		select {
		case <-d.changed:
		case <-look:
			d.noticeAgents(ctx)
		case <-ctx.Done():
		}
	}
}

// begin turns the first queued message into the current turn. d.mu is held.
func (d *Session) begin() {
	d.current = &turn{input: d.queue[0], started: make(chan struct{}), done: make(chan struct{})}
	d.queue = d.queue[1:]
}

func (d *Session) finished(t *turn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current = nil
	close(t.done)
}

func (d *Session) wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

func (d *Session) enqueue(in agent.Input) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) >= maxQueue {
		return fmt.Errorf("more than %d messages are waiting; send fewer at a time", maxQueue)
	}
	d.queue = append(d.queue, in)
	d.unsuggest()
	if d.current == nil {
		d.begin()
	}
	d.wake()
	return nil
}

// withdraw returns the current turn and lists the messages that stay queued.
func (d *Session) withdraw(cancelQueued bool, r *receipt) *turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, in := range d.queue {
		if cancelQueued {
			r.Cancelled = append(r.Cancelled, in.ID)
		} else {
			r.StillQueued = append(r.StillQueued, in.ID)
		}
	}
	if cancelQueued {
		d.queue = nil
	}
	return d.current
}

func (d *Session) sign() Origin {
	o := Origin{UUID: session.NewID(), Simulated: d.simulated.Load()}
	if id := d.id.Load(); id != nil {
		o.SessionID = *id
	}
	return o
}

// fail is called when stdout cannot be written.
func (d *Session) fail(err error) {
	if end := d.broke.Load(); end != nil {
		(*end)(err)
	}
}

// read reads stdin to its end. It stops at an invalid line, because the line may have been a safety
// request.
func (d *Session) read(ctx context.Context) error {
	var err error
	for err == nil {
		line := d.first
		if d.first = nil; line == nil {
			if line, err = d.readLine(); err != nil {
				break
			}
		}
		if bad := d.take(ctx, line); bad != nil {
			err = cli.Usagef("line %d of stdin: %w", d.line, bad)
		}
	}
	d.requests.close()
	if err != nil {
		var usage *cli.ExitError
		if !errors.As(err, &usage) {
			err = d.lineError(err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended, d.broken = true, err
	if err != nil {
		d.queue = nil
	}
	d.wake()
	return err
}

// ReadLine reads a line of at most limit bytes. The last line may lack its line end.
func ReadLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("the line is longer than %d MB", limit>>20)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// An inLine is an input line.
type inLine struct {
	Type     string `json:"type"`
	UUID     string `json:"uuid"`
	Priority string `json:"priority"`
	Query    *bool  `json:"shouldQuery"` // false: context of the next message
	Message  struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	ID       string          `json:"request_id"`
	Request  json.RawMessage `json:"request"`
	Response replyEnvelope   `json:"response"`
}

// take handles a line. It ignores unknown types.
func (d *Session) take(ctx context.Context, line []byte) error {
	in, err := parseLine(line)
	if err != nil {
		return err
	}
	switch in.Type {
	case "user":
		return d.message(ctx, in)
	case "control_request":
		return d.handleControl(ctx, in.ID, in.Request)
	case "control_response":
		d.requests.answer(in.Response)
	default:
		d.s.Agent.Log.Debug("line passed over", "type", in.Type)
	}
	return nil
}

// parseLine parses a line and reports missing members.
func parseLine(line []byte) (inLine, error) {
	var in inLine
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return in, fmt.Errorf("the line is not a JSON object with a type: %w", mismatch(err))
	}
	switch head.Type {
	case "":
		return in, errors.New("the message has no type; send user or control_request")
	case "user", "control_request", "control_response":
	default:
		return inLine{Type: head.Type}, nil
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return in, fmt.Errorf("the line is not a valid %s message: %w", head.Type, mismatch(err))
	}
	switch {
	case in.Type == "control_request" && in.ID == "":
		return in, errors.New("the control_request has no request_id")
	case in.Type == "user" && in.Message.Role != "user":
		return in, fmt.Errorf("the message has the role %q; it must be user", cli.Clip(in.Message.Role))
	}
	return in, nil
}

// message queues a user message, or sends it to the current run.
func (d *Session) message(ctx context.Context, in inLine) error {
	text, blocks, err := parseContent(in.Message.Content)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" && len(blocks) == 0 {
		return errors.New("the message is empty")
	}
	if in.Query != nil && !*in.Query {
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.context) >= maxQueue {
			return fmt.Errorf("more than %d messages without a turn are waiting; send fewer at a time", maxQueue)
		}
		if text != "" {
			blocks = append([]llm.Block{llm.Text{Text: text}}, blocks...)
		}
		d.context = append(d.context, blocks...)
		return nil
	}
	d.mu.Lock()
	input := agent.Input{ID: in.UUID, Text: text, Blocks: blocks, Output: d.schema}
	if _, compacts := app.CompactCommand(text); len(d.context) > 0 && !compacts {
		input.Blocks = append(d.context, blocks...)
		d.context = nil
	}
	d.mu.Unlock()
	if input.ID == "" {
		input.ID = session.NewID()
	}
	if wishes, ok := app.CompactCommand(text); ok && len(blocks) == 0 {
		input.Text, input.Compact = wishes, true
	}
	if in.Priority == "now" || in.Priority == "next" {
		d.mu.Lock()
		current := d.current
		d.mu.Unlock()
		if current != nil && d.join(ctx, current, input) {
			return nil
		}
	}
	return d.enqueue(input)
}

// join sends a message to the current turn and reports whether the turn accepted it.
func (d *Session) join(ctx context.Context, t *turn, in agent.Input) bool {
	select {
	case <-t.started:
	case <-t.done:
		return false
	case <-ctx.Done():
		return false
	}
	_, err := d.s.Session.Steer(ctx, in)
	return err == nil
}

// started records the first event of a turn. From then on the run accepts messages.
func (d *Session) started(t *turn, events iter.Seq2[event.Event, error]) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range events {
			t.once.Do(func() { close(t.started) })
			if !yield(e, err) {
				return
			}
		}
	}
}
