package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/jsonfix"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// partialPause is the least time between two looks of a tool at its partial input.
const partialPause = 50 * time.Millisecond

// A partialCall is a call while the model is still writing it, and what is kept of it
// until it runs: the tool made for it, and its status.
type partialCall struct {
	tool   tool.Tool
	board  *callStatus
	wake   chan struct{} // has room for one
	done   chan struct{} // closed when the tool has seen its last
	mu     sync.Mutex
	input  jsonfix.Reader
	closed bool
}

// A callStatus is the status of a call, shown in snapshots.
type callStatus struct {
	x     *Executor
	id    string // the provider's id of the call
	name  string
	start time.Time // of the call; zero before
	mu    sync.Mutex
	sum   tool.Status
}

// show merges a report and emits the snapshot.
func (b *callStatus) show(p event.ToolProgress, s tool.Status, to Signals) {
	s.Text = b.x.Secrets.Text(s.Text)
	if !b.start.IsZero() {
		p.Elapsed = time.Since(b.start)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum = b.sum.Add(s)
	p.ID, p.Tool, p.Status, p.Seq = b.id, b.name, b.sum, b.x.snapshots.Add(1)
	to.Show(p)
}

// partialCalls are those of the calls of one answer, by their place among them.
type partialCalls struct {
	all     map[int]*partialCall // by index of the content block
	nth     []*partialCall       // in the order of the calls; nil for calls that nobody drafts
	signals Signals
}

// begin starts the draft of a call, if its tool wants to see it.
func (d *partialCalls) begin(ctx context.Context, x *Executor, index int, use llm.ToolUse) {
	t := x.Tool(use.Name)
	if t == nil {
		d.nth = append(d.nth, nil)
		return
	}
	made := instance(t)
	c := &partialCall{tool: made, board: &callStatus{x: x, id: use.ID, name: use.Name}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	d.nth = append(d.nth, c)
	p, ok := made.(tool.Partial)
	if !ok || !p.TakesPartial() {
		close(c.done)
		return
	}
	if d.all == nil {
		d.all = map[int]*partialCall{}
	}
	d.all[index] = c
	ctx = tool.WithProgress(ctx, func(s tool.Status) { c.board.show(event.ToolProgress{Phase: event.ToolWaiting}, s, d.signals) })
	go c.follow(ctx, p)
}

// instance makes the tool for a call.
func instance(t tool.Tool) tool.Tool {
	if f, ok := t.(tool.Factory); ok {
		return safecall.Or(f.Make, t)
	}
	return t
}

// add passes on a piece of the input.
func (d *partialCalls) add(index int, text string) {
	c := d.all[index]
	if c == nil {
		return
	}
	c.mu.Lock()
	c.input.Add(text)
	c.mu.Unlock()
	c.rouse()
}

// end lets the tools see the whole input and waits until they have. One that does
// not return is left behind, and another is made for the call.
func (d *partialCalls) end(ctx context.Context) {
	for _, c := range d.all {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		c.rouse()
	}
	if len(d.all) == 0 {
		return
	}
	late := time.NewTimer(Grace)
	defer late.Stop()
	for _, c := range d.all {
		select {
		case <-c.done:
			continue
		case <-ctx.Done():
		case <-late.C:
			late.Reset(0)
		}
		d.nth[slices.Index(d.nth, c)] = nil
	}
}

func (c *partialCall) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// follow shows the tool its input as it grows, now and then.
func (c *partialCall) follow(ctx context.Context, p tool.Partial) {
	defer close(c.done)
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		input, last := json.RawMessage(bytes.Clone(c.input.JSON())), c.closed
		c.mu.Unlock()
		if len(input) > 0 {
			safecall.Or(func() struct{} { p.Partial(ctx, input); return struct{}{} }, struct{}{})
		}
		if last {
			return
		}
		select {
		case <-time.After(partialPause):
		case <-ctx.Done():
			return
		}
	}
}

// Drafts holds the calls of answers from their first piece until they run. Goroutines
// may share it.
type Drafts struct {
	mu      sync.Mutex
	key     string                  // of the answer being written
	attempt *partialCalls           // its calls
	calls   map[string]*partialCall // of the last answer's calls that have not run, by call
}

// keep remembers the drafts of an attempt until its answer is on record.
func (d *Drafts) keep(key string, calls *partialCalls) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.key, d.attempt = key, calls // those of an earlier attempt are gone
}

// Adopt gives the drafts of an answer to the calls that it made.
func (d *Drafts) Adopt(key string, t *engine.Transcript) {
	d.mu.Lock()
	defer d.mu.Unlock()
	written := d.attempt
	clear(d.calls)
	d.attempt = nil
	if written == nil || d.key != key || len(written.nth) == 0 {
		return
	}
	for i, id := range t.Calls() {
		if i < len(written.nth) && written.nth[i] != nil {
			if d.calls == nil {
				d.calls = map[string]*partialCall{}
			}
			d.calls[id] = written.nth[i]
		}
	}
}

// drop forgets the drafts of a tool.
func (d *Drafts) drop(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, c := range d.calls {
		if c.board.name == name {
			delete(d.calls, id)
		}
	}
}

// take returns the draft of a call and forgets it. It returns nil where there is none.
func (d *Drafts) take(id string) *partialCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.calls[id]
	delete(d.calls, id)
	return c
}

// drafted returns the tool of a call that is going to run, and its board, nil where
// nobody watches.
func (x *Executor) drafted(j *Input) (tool.Tool, *callStatus) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t, b := tool.Tool(nil), (*callStatus)(nil)
	if c := x.Drafts.take(j.Call.ID); c != nil {
		t, b = c.tool, c.board
	} else {
		t = instance(x.tools[j.Call.Name])
	}
	switch {
	case !j.Signals.Watched():
		b = nil
	case b == nil:
		b = &callStatus{x: x, id: j.ID, name: j.Call.Name}
	}
	return t, b
}
