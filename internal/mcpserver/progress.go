package mcpserver

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/tool"
)

// progress reports the progress of a request to a client. While a report is being sent, a
// newer one replaces those that wait, so that a slow client holds up no tool.
type progress struct {
	ctx   context.Context
	req   *sdk.CallToolRequest
	token any

	mu     sync.Mutex
	next   *tool.Status // nil: none waits
	over   bool
	last   float64
	moved  chan struct{} // holds one while there is something to do
	closed chan struct{} // closed: nothing is sent any more
}

// newProgress returns nil where the client does not want to know.
func newProgress(ctx context.Context, req *sdk.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	p := &progress{ctx: ctx, req: req, token: token, moved: make(chan struct{}, 1), closed: make(chan struct{})}
	go p.send()
	return p
}

func (p *progress) report(st tool.Status) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.next = &st
		p.move()
	}
}

func (p *progress) move() {
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

// end sends the waiting report and returns when that is done.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.over = true
	p.move()
	p.mu.Unlock()
	<-p.closed
}

func (p *progress) send() {
	defer close(p.closed)
	for range p.moved {
		p.mu.Lock()
		st, over := p.next, p.over
		p.next = nil
		p.mu.Unlock()
		if st != nil {
			// A client that is gone is noticed elsewhere.
			_ = p.req.Session.NotifyProgress(p.ctx, p.params(*st))
		}
		if over {
			return
		}
	}
}

// params make the progress grow, as the protocol demands: in percent where that
// is known, else in reports.
func (p *progress) params(st tool.Status) *sdk.ProgressNotificationParams {
	n := &sdk.ProgressNotificationParams{ProgressToken: p.token, Message: st.Text, Progress: p.last + 1}
	if st.Percent > p.last {
		n.Progress, n.Total = st.Percent, 100
	}
	p.last = n.Progress
	return n
}
