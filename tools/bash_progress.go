package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

const (
	// progressPause is the least time between two progress reports.
	progressPause = 200 * time.Millisecond
	// maxHeld is how many bytes of output a report has at most.
	maxHeld = 16 << 10
)

// A reporter reports a command's output as progress, now and then: its end, and what has come since
// the report before.
type reporter struct {
	ctx   context.Context
	mu    sync.Mutex
	next  time.Time   // before then nothing is reported
	lines []string    // that wait for it
	timer *time.Timer // that reports them; nil: none wait
	held  []byte      // output that is not reported yet
	from  int64       // how much there was before it
	shown bool        // there was a report
	over  bool
}

// piece takes output. It drops the oldest that waits if that is too much.
func (r *reporter) piece(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = append(r.held, b...)
	if lost := len(r.held) - maxHeld; lost > 0 {
		lost += bytes.IndexByte(r.held[lost:], '\n') + 1
		r.held = append(r.held[:0], r.held[lost:]...)
		r.from += int64(lost)
	}
}

// report reports the last lines: at once, or together with those that follow soon.
func (r *reporter) report(lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = lines
	if wait := time.Until(r.next); wait <= 0 {
		r.show(bytes.LastIndexByte(r.held, '\n') + 1)
	} else if r.timer == nil && !r.over {
		r.timer = time.AfterFunc(wait, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.show(bytes.LastIndexByte(r.held, '\n') + 1)
		})
	}
}

// show reports the lines that wait, and the first n bytes of the output that does. r.mu is held.
func (r *reporter) show(n int) {
	r.timer = nil
	if r.over {
		return
	}
	r.next = time.Now().Add(progressPause)
	s := tool.Status{Text: r.lines[len(r.lines)-1], Tail: r.lines}
	if n > 0 {
		out := toolapi.Output{From: r.from, To: r.from + int64(n), Text: text.Clean(string(r.held[:n]))}
		s.Metadata = map[string]json.RawMessage{toolapi.OutputMember: toolapi.Details(out)}
		r.held, r.from = append(r.held[:0], r.held[n:]...), out.To
	}
	r.shown = true
	tool.Progress(r.ctx, s)
}

// stop reports the rest of the output, if a part of it was reported, and ends the reports.
func (r *reporter) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.shown && len(r.held) > 0 {
		r.show(len(r.held))
	}
	r.over = true
}
