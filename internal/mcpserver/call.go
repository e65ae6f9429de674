package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/tool"
)

// call answers tools/call.
func (s *Server) call(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return s.goOn(ctx, req)
	}
	s.mu.Lock()
	t := s.tools[req.Params.Name]
	s.mu.Unlock()
	if t == nil || !s.begin() {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", req.Params.Name)}
	}
	defer s.running.Done()
	ses := s.caller(req)
	c := &Client{session: ses, tool: t}
	if caps := req.ClientCapabilities(); caps != nil {
		c.capabilities = *caps
	}
	if req.ProtocolVersion() >= newest {
		return s.startPending(ctx, req, c)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ses.ctx, cancel)()
	c.ask = c.request
	c.turn(ctx, req)
	defer c.rest()
	return s.carry(ctx, c, req.Params)
}

// carry carries out a call.
func (s *Server) carry(ctx context.Context, c *Client, p *sdk.CallToolParamsRaw) (*sdk.CallToolResult, error) {
	input := p.Arguments
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	ctx = tool.WithProgress(ctx, c.report)
	r, err := s.callbacks.Call(ctx, c, tool.Call{ID: c.session.next(), Name: p.Name, Input: input, Session: c.session.id})
	switch {
	case ctx.Err() != nil && (err != nil || r == nil):
		return nil, ctx.Err()
	case err != nil:
		r = tool.Errorf("%s: %v", p.Name, err)
	case r == nil:
		r = tool.Errorf("%s returned no result", p.Name)
	}
	return answer(c.tool.Spec(), r), nil
}

// turn makes req the request that is being answered: progress and logs go there.
func (c *Client) turn(ctx context.Context, req *sdk.CallToolRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.req = ctx, req
	c.bars = newProgress(ctx, req)
}

// rest ends the reports to the request before it is answered.
func (c *Client) rest() {
	c.mu.Lock()
	bars := c.bars
	c.bars = nil
	c.mu.Unlock()
	bars.end()
}

func (c *Client) report(st tool.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bars.report(st)
}

// A pendingCall is a call of a client that takes no requests. A question to the client is
// the result of its request. The answer comes with the next request; until then the call
// waits here.
type pendingCall struct {
	client *Client
	params *sdk.CallToolParamsRaw // of the request that began it
	cancel context.CancelFunc
	asked  chan sdk.InputRequestMap
	told   chan sdk.InputResponseMap
	done   chan struct{} // closed: result and err are there
	result *sdk.CallToolResult
	err    error

	given sdk.InputResponseMap // answers that came with the call itself
	waits sdk.InputRequestMap  // the question; guarded by the server's mu while it waits for an answer
	late  *time.Timer          // ends a call whose question is not answered
}

// startPending starts a call and answers its first request.
func (s *Server) startPending(ctx context.Context, req *sdk.CallToolRequest, c *Client) (*sdk.CallToolResult, error) {
	f := &pendingCall{client: c, params: req.Params, given: req.Params.InputResponses, asked: make(chan sdk.InputRequestMap), told: make(chan sdk.InputResponseMap), done: make(chan struct{})}
	// It outlives the request, and ends with the session.
	var life context.Context
	life, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	undo := context.AfterFunc(c.session.ctx, f.cancel)
	c.ask = f.ask
	c.turn(ctx, req)
	s.running.Go(func() { // call holds running, so it is not waited for yet
		defer close(f.done)
		defer undo()
		defer f.cancel()
		f.result, f.err = s.carry(life, c, f.params)
	})
	return s.await(ctx, f)
}

// ask waits until the client has answered. A client may know the first question
// and have sent the answer with the call.
func (f *pendingCall) ask(ctx context.Context, requests sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	given := f.given
	f.given = nil
	if given != nil && fits(requests, given) {
		return given, nil
	}
	select {
	case f.asked <- requests:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case answers := <-f.told:
		return answers, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fits reports whether all requests have their answers.
func fits(requests sdk.InputRequestMap, answers sdk.InputResponseMap) bool {
	for key, r := range requests {
		if check(r, answers[key]) != nil {
			return false
		}
	}
	return true
}

// await answers a request with the result of the call, or with its question.
func (s *Server) await(ctx context.Context, f *pendingCall) (*sdk.CallToolResult, error) {
	defer f.client.rest()
	select {
	case <-f.done:
		return f.result, f.err
	case requests := <-f.asked:
		f.waits = requests
		return s.keepWaiting(f)
	case <-ctx.Done(): // the request was cancelled, and the call with it
		f.cancel()
		<-f.done
		return nil, ctx.Err()
	}
}

// keepWaiting keeps a call until its question is answered. Its name cannot be guessed.
func (s *Server) keepWaiting(f *pendingCall) (*sdk.CallToolResult, error) {
	name := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= maxWaiting || s.closed {
		f.cancel()
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many calls wait for answers"}
	}
	s.waiting[name] = f
	f.late = time.AfterFunc(s.options.Patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, name)
		f.cancel()
	})
	return &sdk.CallToolResult{InputRequests: f.waits, RequestState: name}, nil
}

// goOn brings the answers to the question of a call, and answers that request.
func (s *Server) goOn(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	p := req.Params
	unknown := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no call waits under this requestState; it may have taken too long: make the call again"}
	if !s.begin() {
		return nil, unknown
	}
	defer s.running.Done()
	ses := s.caller(req)
	s.mu.Lock()
	f := s.waiting[p.RequestState]
	if f == nil || f.client.session != ses || f.params.Name != p.Name || !bytes.Equal(f.params.Arguments, p.Arguments) || !f.late.Stop() {
		s.mu.Unlock()
		return nil, unknown
	}
	delete(s.waiting, p.RequestState)
	s.mu.Unlock()
	if !fits(f.waits, p.InputResponses) {
		return s.keepWaiting(f) // it is asked again
	}
	f.client.turn(ctx, req)
	select {
	case f.told <- p.InputResponses:
	case <-f.done:
	}
	return s.await(ctx, f)
}
