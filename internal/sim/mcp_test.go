package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/mcphost"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// An MCP server that comes, goes and breaks the protocol. It is elsewhere, and speaks with programs
// over connections in memory. The end of a call's target, behind "!", says how the server answers.

// remoteTools are the tools of the server.
var remoteTools = map[string]tool.Spec{
	"look": {ReadOnly: true}, "put": {Idempotent: true}, "do": {}, "denied": {},
	"ask": {NeedsApproval: tool.AskAlways("its server says so")}, "one_two": {}, "one.two": {}, "flip": {},
}

// remoteNames are the names of the tools for models. Two of them are made from names that collide.
var remoteNames = []string{"look", "look", "put", "do", "do", "do", "denied", "ask", "one_two", "flip", "absent"}

// remoteWays are the ways in which the server answers a call.
var remoteWays = []string{"", "", "", "wrongid", "textid", "twice", "never", "torn", "tornfirst", "large", "long", "error", "failed", "close", "relist", "strange", "control", "ask", "ask", "ask", "sample", "sample", "sample", "late"}

// remoteCodes are the codes of errors that the server answers with. Some have a meaning within the
// library for connections.
var remoteCodes = []int{-32603, -32601, -32001, -32003, -32004, -32005, -32042, 0, 401, 404}

const (
	remoteSecret  = "k3y-of-the-server" // is in the configuration of the server alone
	remoteControl = "\x1b[31mred\x1b[0m\u0007"
)

// remoteState is the server, as all programs see it. The world's mutex guards it.
type remoteState struct {
	list    int // see RemoteServer
	begin   string
	fails   int
	conns   []*remoteConn
	passes  map[string]*remotePass
	clients int             // how many mcp.Servers there were
	said    map[string]bool // calls about which the person has answered
}

// A remotePass is a call that the library makes: how often, and how often the server got it.
type remotePass struct {
	call         tool.Call
	at           time.Duration // when it was made last
	made, gotten int
	unanswered   time.Time // when the server got it, if it does not answer
}

// remoteOf gives an agent the server.
func remoteOf(w *world, l *life, a *agent.Agent) {
	w.mu.Lock()
	f := &w.remote
	f.clients++
	n := f.clients
	if f.passes == nil {
		f.passes, f.said = map[string]*remotePass{}, map[string]bool{}
	}
	w.mu.Unlock()
	config := mcp.Config{Type: "sdk", Env: map[string]string{"TOKEN": remoteSecret}, TimeoutMS: 4000, MaxTimeMS: 15_000, StartTimeoutMS: 2000, AlwaysLoad: true,
		TrustReadOnly: true, Sampling: w.number("far sampling")%8 > 0}
	servers, closer := mcp.New, func() error { return nil }
	web := w.number("far web")%3 == 0
	if web {
		closer, servers = w.remoteHTTP(l, n)
		config.Type, config.URL, config.Headers = "", "http://far.test/mcp", map[string]string{"Authorization": "Bearer " + remoteSecret}
	}
	all := servers(map[string]mcp.Config{"far": config}, mcp.Options{
		Host: func(ctx context.Context, _ string) (mcphost.Conn, error) { return w.remoteDial(l, n) },
		Log:  slog.New(remoteLog{w, l}),
		Changed: func(st mcp.Status) {
			if !l.dead.Load() {
				w.trace("far %d is %s: %s %q", n, st.State, st.Error, st.Problems)
				w.checkRemoteText("the status of the server", fmt.Sprint(st.Error, st.Problems, st.Tools, st.Instructions))
			}
		}})
	l.closers = append(l.closers, func() error {
		err := errors.Join(all.Close(), closer())
		w.checkRemoteClosed(l, n, "the servers are closed")
		return err
	})
	if l.remote == nil { // else it is another process
		l.remote, l.remoteNumber = all, n
		_, _ = all.Tools(l.ctx) // no prompt of the life waits for the server to begin: see calm
	}
	a.Toolsets = append(a.Toolsets, &remoteSet{Servers: all, w: w, l: l, n: n})
	a.Permissions.Deny = append(a.Permissions.Deny, "mcp__far__denied")
	if w.number("far sampling")%8 == 1 {
		a.Permissions.Deny = append(a.Permissions.Deny, "mcp__far__sampling")
	}
	other := a.AskUser
	a.AskUser = func(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error) {
		if questions[0].Header != "MCP" && other != nil {
			return other(ctx, call, questions)
		}
		select {
		case <-time.After(w.pause(20*time.Millisecond, "far person", call.Session, call.ID, len(questions), l.n)):
		case <-ctx.Done():
			return nil, w.cancelled(ctx, call.Session, call.ID)
		}
		w.meet("mcp asks")
		label := "red"
		switch n := w.number("far person", call.ID, l.n) % 4; {
		case n == 0:
			return nil, agent.ErrSuspended
		case questions[0].Options[0].Label != "Answer": // the form
			w.mu.Lock()
			w.remote.said[callKey(call.Root, call.Session, call.ID)] = true
			w.mu.Unlock()
		case n == 1:
			label = "Decline"
		default:
			label = "Answer"
		}
		return []tool.Answer{{Options: []string{label}}}, nil
	}
}

// A remoteSet are the tools of the server. It notes which calls the library makes.
type remoteSet struct {
	*mcp.Servers
	w     *world
	l     *life
	n     int
	asked atomic.Int64
}

func (s *remoteSet) Tools(ctx context.Context) ([]tool.Tool, error) {
	asked, began := s.asked.Add(1), time.Now()
	tools, err := s.Servers.Tools(ctx)
	if time.Now().After(began) { // others may have waited for the server as well
		time.Sleep(s.w.pause(time.Millisecond, "far tools", s.n, asked))
	}
	for i, t := range tools {
		tools[i] = remoteTool{t, s.w, s.l}
	}
	return tools, err
}

type remoteTool struct {
	tool.Tool
	w *world
	l *life
}

func (t remoteTool) Classify(call tool.Call) tool.Traits {
	time.Sleep(t.w.pause(time.Millisecond, "classify", call.Session, call.ID))
	return toolrun.Classify(t.Tool, call)
}

// Run passes a call on, with a key by which the server knows it.
func (t remoteTool) Run(ctx context.Context, call tool.Call) (*tool.Result, error) {
	w, began := t.w, time.Now()
	key := callKey(call.Root, call.Session, call.ID)
	time.Sleep(w.pause(time.Millisecond, "far call", key, t.l.n))
	var in map[string]any
	if json.Unmarshal(call.Input, &in) != nil || in == nil {
		in = map[string]any{}
	}
	w.mu.Lock()
	p := w.remote.passes[key]
	if p == nil {
		p = &remotePass{}
		w.remote.passes[key] = p
	}
	p.call, p.at, p.unanswered = call, began.Sub(w.began), time.Time{}
	p.made++
	w.mu.Unlock()
	in["key"] = key
	call.Input, _ = json.Marshal(in)
	res, err := t.Tool.Run(ctx, call)
	w.mu.Lock()
	since := p.unanswered
	w.mu.Unlock()
	if took := time.Since(since); !since.IsZero() && took > 6*time.Second && !t.l.dead.Load() {
		w.wrong("released", "the server does not answer %s, and it took %v to notice that", key, took)
	}
	time.Sleep(w.pause(time.Millisecond, "far result", key, t.l.n))
	if took := time.Since(began); took > 90*time.Second && !t.l.dead.Load() {
		w.wrong("released", "a call of the server took %v", took)
	}
	return res, err
}

// remoteLog is the log of the library about the server.
type remoteLog struct {
	w *world
	l *life
}

func (remoteLog) Enabled(context.Context, slog.Level) bool { return true }
func (h remoteLog) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h remoteLog) WithGroup(string) slog.Handler          { return h }

func (h remoteLog) Handle(_ context.Context, r slog.Record) error {
	said := r.Message
	r.Attrs(func(a slog.Attr) bool { said += " " + a.String(); return true })
	if strings.Contains(said, remoteSecret) {
		h.w.wrong("secrets", "the log says %q", said)
	}
	return nil
}

// checkRemoteText checks what the library says of the server.
func (w *world) checkRemoteText(what, said string) {
	if strings.Contains(said, remoteSecret) {
		w.wrong("secrets", "%s holds the secret of the server: %q", what, said)
	}
	if strings.ContainsAny(said, "\x1b\u0007") {
		w.wrong("requests", "%s holds control characters: %q", what, said)
	}
}

// checkRemoteTools checks what a request says of the server.
func (w *world) checkRemoteTools(r *llmtest.Request) {
	w.checkRemoteText("the system prompt", r.System)
	for _, t := range r.Tools {
		w.checkRemoteText("the tool "+t.Name, t.Description)
	}
}

// checkRemoteClosed checks that nobody is connected with the server.
func (w *world) checkRemoteClosed(l *life, client int, why string) {
	w.mu.Lock()
	conns := slices.Clone(w.remote.conns)
	w.mu.Unlock()
	for _, c := range conns {
		if c.l == l && c.client == client && !c.web && !c.isClosed() {
			w.wrong("released", "a connection to the server is open although %s", why)
		}
	}
}

// RemoteServer changes the server: which tools it lists, whether it says so, and what comes of the next
// connections to it.
type RemoteServer struct {
	List     int // 0: all tools; 1: few; 2: none; 3: a list with mistakes; 4: an error; 5: no list at all; 6: one without an end
	Announce bool
	Begin    string // how the next connections begin: silent, error, close, torn, other or silentlist
	Fails    int    // how many
	Close    bool   // it ends all connections
}

func (o RemoteServer) run(w *world) {
	if w.life.remote == nil {
		return
	}
	w.mu.Lock()
	f := &w.remote
	f.list, f.begin, f.fails = o.List%7, o.Begin, o.Fails
	conns := slices.Clone(f.conns)
	w.mu.Unlock()
	for _, c := range conns {
		if c.isClosed() {
			continue
		}
		if o.Announce {
			c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		c.sleep("op")
		if o.Close {
			c.end("the server ends a connection")
			w.meet("mcp lost")
		}
	}
	w.meet("mcp changes")
}

// SwitchRemote switches the server off or on for the program, or connects it again.
type SwitchRemote struct{ On bool }

func (o SwitchRemote) run(w *world) {
	l := w.life
	if l.remote == nil {
		return
	}
	err := l.remote.Toggle(l.ctx, "far", o.On)
	w.trace("far switched: %v", shortened(err)) // the server may not want
	if err != nil {
		w.checkRemoteText("the error of the switch", err.Error())
	}
	if !o.On && !l.dead.Load() {
		w.checkRemoteClosed(l, l.remoteNumber, "it is switched off")
	}
	time.Sleep(time.Microsecond)
	w.meet("mcp switched")
}

func remoteOp(g *gen) Op {
	switch g.IntN(6) {
	case 0, 1:
		return SwitchRemote{g.one(2)}
	case 2, 3:
		return remotePrompt(g)
	}
	o := RemoteServer{List: pick(g, 0, 0, 0, 1, 1, 2, 3, 3, 4, 5, 6), Announce: !g.one(3), Close: g.one(3)}
	if o.Close && g.one(2) {
		o.Begin, o.Fails = pick(g, "silent", "error", "close", "torn", "other", "silentlist"), 1+g.IntN(4)
	}
	return o
}

// remotePrompt is a prompt that is all about the server.
func remotePrompt(g *gen) Op {
	g.prompts++
	p := Prompt{Session: g.IntN(3), Name: fmt.Sprint("p", g.prompts)}
	for range 1 + g.IntN(3) {
		c := remoteCall(g, 0)
		if g.one(2) {
			c = Call{Tool: "mcp__far__look", Target: "x!" + pick(g, "ask", "sample", "late")}
		}
		p.Turns = append(p.Turns, Turn{Calls: []Call{c}})
	}
	return p
}

// afterRemote lets the server forget or end its connections while it works for one session, before
// another one calls it.
func afterRemote(g *gen) []Op {
	return []Op{NewSession{}, remotePrompt(g), g.sleep(), RemoteServer{Close: true}, remotePrompt(g)}
}

func remoteCall(g *gen, _ int) Call {
	target := pick(g, "", "", "", "", "decider-", "hookdeny-", "hookallow-", "hookallow-", "hookdefer-", "change-", "change-decider-") // rules about servers have no patterns
	target += fmt.Sprint("x", g.IntN(5))
	if way := pick(g, remoteWays...); way != "" {
		target += "!" + way
	}
	return Call{Tool: "mcp__far__" + pick(g, remoteNames...), Target: target}
}

// A remoteConn is a connection of a program with the server.
type remoteConn struct {
	w         *world
	l         *life
	client, n int // the numbers of its mcp.Servers and of the connection
	out       chan json.RawMessage
	closed    chan struct{}
	closing   sync.Once
	undo      func() bool
	session   *remoteConn // the session of a request over HTTP; nil: it is no request
	web       bool        // it is a session over HTTP
	silent    bool        // it leaves a request over HTTP without an answer

	mu      sync.Mutex
	asked   int
	waiting map[string]chan remoteMessage // requests of the server, by id
}

type remoteMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			work
			Key string `json:"key"`
		} `json:"arguments"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// remoteDial connects a program with the server.
func (w *world) remoteDial(l *life, client int) (mcphost.Conn, error) {
	time.Sleep(w.pause(time.Millisecond, "dial", client))
	if l.dead.Load() {
		return nil, errDead
	}
	c := &remoteConn{w: w, l: l, client: client, out: make(chan json.RawMessage, 1000), closed: make(chan struct{}), waiting: map[string]chan remoteMessage{}}
	c.undo = context.AfterFunc(l.ctx, func() { c.end("") })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remote.conns = append(w.remote.conns, c)
	c.n = len(w.remote.conns)
	return c, nil
}

func (c *remoteConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// end closes the connection, and says why unless that is the program's wish.
func (c *remoteConn) end(why string) {
	c.closing.Do(func() {
		if why != "" && !c.l.dead.Load() {
			c.w.trace("far connection %d: %s", c.n, why)
		}
		close(c.closed)
	})
}

func (c *remoteConn) Close() error {
	c.undo()
	c.end("")
	return nil
}

func (c *remoteConn) Read(ctx context.Context) (json.RawMessage, error) {
	select {
	case m := <-c.out:
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *remoteConn) Write(_ context.Context, data json.RawMessage) error {
	if c.isClosed() {
		return io.ErrClosedPipe
	}
	if strings.Contains(string(data), secret) {
		c.w.wrong("secrets", "a message to the server holds the secret: %s", data)
	}
	var m remoteMessage
	if err := json.Unmarshal(data, &m); err != nil {
		c.w.wrong("requests", "a message to the server is %s: %v", data, err)
		return nil
	}
	if m.Method == "" {
		c.mu.Lock()
		answer := c.waiting[string(m.ID)]
		delete(c.waiting, string(m.ID))
		c.mu.Unlock()
		if answer != nil {
			answer <- m
		}
		return nil
	}
	if m.ID != nil {
		go c.serve(m)
	}
	return nil
}

// send sends a text, which may be no message.
func (c *remoteConn) send(text string) {
	select {
	case c.out <- json.RawMessage(text):
	case <-c.closed:
	}
}

func (c *remoteConn) reply(id json.RawMessage, what string, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, id, what, data))
}

// sleep lets a time pass, and reports whether the connection still lasts.
func (c *remoteConn) sleep(words ...any) bool {
	select {
	case <-time.After(c.w.pause(10*time.Millisecond, append(words, "far", c.client, c.n)...)):
		return true
	case <-c.closed:
		return false
	}
}

// serve answers a request.
func (c *remoteConn) serve(m remoteMessage) {
	w := c.w
	if !c.sleep(m.Method, string(m.ID), m.Params.Arguments.Key) {
		return
	}
	w.mu.Lock()
	list, begin := w.remote.list, ""
	if (m.Method == "initialize" || w.remote.begin == "silentlist" && m.Method == "tools/list") && w.remote.fails > 0 {
		w.remote.fails--
		begin = w.remote.begin
	}
	w.mu.Unlock()
	switch {
	case m.Method == "initialize" && begin != "silentlist":
		c.initialize(m, begin)
	case m.Method == "initialize":
		w.mu.Lock()
		w.remote.fails++
		w.mu.Unlock()
		c.initialize(m, "")
	case m.Method == "tools/list" && begin == "":
		c.listTools(m, list)
	case m.Method == "tools/list":
	case m.Method == "tools/call":
		c.call(m)
	default:
		c.reply(m.ID, "result", struct{}{})
	}
}

func (c *remoteConn) initialize(m remoteMessage, how string) {
	switch how {
	case "silent":
		return
	case "error":
		c.reply(m.ID, "error", map[string]any{"code": -32603, "message": "no " + remoteSecret + remoteControl})
		return
	case "close":
		c.end("the server ends a connection when it begins")
		return
	case "torn":
		c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"protocolVersion":`)
		return
	case "other":
		c.reply(m.ID, "result", map[string]any{"protocolVersion": "1999-01-01" + remoteControl + remoteSecret, "capabilities": nil})
		return
	}
	c.reply(m.ID, "result", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
		"serverInfo": map[string]any{"name": "far" + remoteControl, "version": "1"}, "instructions": "Use the tools." + remoteControl})
}

func (c *remoteConn) listTools(m remoteMessage, list int) {
	schema := map[string]any{"type": "object", "required": []string{"target"},
		"properties": map[string]any{"target": map[string]any{"type": "string"}, "tag": map[string]any{"type": "string"}, "key": map[string]any{"type": "string"}}}
	var all []any
	for _, name := range sorted(remoteTools) {
		spec := remoteTools[name]
		t := map[string]any{"name": name, "description": "Works." + remoteControl, "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": spec.ReadOnly, "idempotentHint": spec.Idempotent}}
		if spec.NeedsApproval != nil {
			t["_meta"] = map[string]any{"openagent/needsApproval": true}
		}
		if list == 1 && name != "do" && name != "denied" {
			continue
		}
		all = append(all, t)
	}
	switch list {
	case 2:
		all = []any{}
	case 3:
		all = append(all, nil, map[string]any{"name": ""}, all[0], map[string]any{"name": strings.Repeat("long", 300)}, map[string]any{"name": "odd " + remoteControl, "inputSchema": "none"},
			map[string]any{"name": "do\u0007", "inputSchema": schema}, map[string]any{"name": strings.Repeat("l", 90), "inputSchema": schema})
	case 4:
		c.reply(m.ID, "error", map[string]any{"code": -32004, "message": "no list " + remoteSecret + remoteControl})
		return
	case 5:
		c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"tools":[{"name":5}]}}`)
		return
	case 6:
		c.reply(m.ID, "result", map[string]any{"tools": all, "nextCursor": "again"})
		return
	}
	c.reply(m.ID, "result", map[string]any{"tools": all})
}

// tooLarge is a message that is larger than any may be.
var tooLarge = sync.OnceValue(func() string { return strings.Repeat(" ", 16<<20+1) })

// call carries out a call of a tool.
func (c *remoteConn) call(m remoteMessage) {
	w, in := c.w, m.Params.Arguments
	if c.l.dead.Load() {
		return
	}
	w.steps.Add(1)
	w.mu.Lock()
	p := w.remote.passes[in.Key]
	var call tool.Call
	var at time.Duration
	if p != nil {
		p.gotten++
		call, at = p.call, p.at
	}
	twice := p != nil && p.gotten > p.made
	w.mu.Unlock()
	spec, known := remoteTools[m.Params.Name]
	switch {
	case p == nil:
		w.wrong("once", "the server gets the call %q, which nobody has made", in.Key)
		return
	case twice:
		w.wrong("once", "the server gets the call %s again", in.Key)
	case m.Params.Name == "denied":
		w.wrong("permission", "%s ran a tool of the server that a rule denies", in.Key)
	}
	if spec.Name = "far " + m.Params.Name; !known {
		spec = tool.Spec{Name: "far"}
	}
	w.meet("mcp call")
	if c.session != nil {
		w.meet("mcp over HTTP")
	}
	w.toolRuns(c.l, ran{session: call.Session, root: call.Root, call: call.ID, tool: spec, in: in.work, mode: call.Mode, at: at, life: c.l.n})
	text := "did " + in.Tag + " with " + secret
	answer := func() { c.reply(m.ID, "result", remoteText(text)) }
	_, way, _ := strings.Cut(in.Target, "!")
	if way != "" {
		w.meet("mcp misbehaves")
	}
	if way == "never" || way == "torn" || way == "large" {
		w.mu.Lock()
		p.unanswered = time.Now()
		w.mu.Unlock()
	}
	switch way {
	case "wrongid":
		c.reply(json.RawMessage("987654"), "result", remoteText("of nobody"))
	case "textid":
		c.reply(json.RawMessage(`"`+string(m.ID)+`"`), "result", remoteText("of nobody"))
	case "never":
		c.silent = true
		return
	case "torn":
		c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[{"type":"te`)
		return
	case "tornfirst":
		c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"resu`)
	case "large":
		c.send(tooLarge())
		return
	case "long":
		text += strings.Repeat("a long line of output\n", 400)
	case "error":
		c.reply(m.ID, "error", map[string]any{"code": remoteCodes[w.number("code", in.Tag)%uint64(len(remoteCodes))], "message": "no " + secret + remoteSecret + remoteControl})
		return
	case "failed":
		c.reply(m.ID, "result", map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "it failed " + secret}}})
		return
	case "close":
		c.end("the server ends a connection in a call")
		w.meet("mcp lost")
		return
	case "relist":
		w.mu.Lock()
		w.remote.list = int(w.number("list", in.Tag) % 7)
		w.mu.Unlock()
		c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	case "strange":
		for _, s := range []string{`{"jsonrpc":"2.0","method":"notifications/strange","params":{"a":[1]}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":"x"}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(m.Params.Meta.Token) + `,"progress":1,"total":0,"message":"half\u001b[31m ` + secret + `"}}`,
			`{"jsonrpc":"2.0","id":"s","method":"strange/method"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(m.ID) + `}}`,
			`{"jsonrpc":"1.0","id":` + string(m.ID) + `}`, `{"jsonrpc":"2.0","id":{"a":1},"result":{}}`, `[]`, `null`, `5`} {
			if c.send(s); !c.sleep("strange", s, in.Key) {
				return
			}
		}
	case "control":
		text = remoteControl + text + "\x00" + "\xff"
	case "ask":
		c.elicit(in.Key)
	case "sample":
		c.sample(in.Key, in.Tag)
	case "late":
		select {
		case <-time.After(w.pause(6*time.Second, "late", in.Key)):
		case <-c.closed:
			return
		}
	}
	if !c.sleep("answer", in.Key) {
		return
	}
	if answer(); way == "twice" && c.sleep("again", in.Key) {
		text = "another one"
		answer()
	}
}

func remoteText(text string) any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
}

// ask puts a request to the program, and waits for the answer.
func (c *remoteConn) ask(method string, params any) (m remoteMessage, ok bool) {
	to := c
	if c.session != nil {
		to = c.session
	}
	to.mu.Lock()
	to.asked++
	id := fmt.Sprintf(`"ask%d"`, to.asked)
	answer := make(chan remoteMessage, 1)
	to.waiting[id] = answer
	to.mu.Unlock()
	data, _ := json.Marshal(params)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, data))
	select {
	case m := <-answer:
		return m, true
	case <-time.After(20 * time.Second):
	case <-c.closed:
	}
	return m, false
}

// elicit asks the person. The server gets what they say, and nothing else.
func (c *remoteConn) elicit(key string) {
	m, ok := c.ask("elicitation/create", map[string]any{"message": "Which? " + remoteControl + secret,
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"color": map[string]any{"type": "string", "enum": []string{"red", "blue"}}}, "required": []string{"color"}}})
	c.w.mu.Lock()
	said := c.w.remote.said[key]
	c.w.mu.Unlock()
	if ok && strings.Contains(string(m.Result), "accept") && !said {
		c.w.wrong("permission", "the server gets %s about %s, and nobody has answered", m.Result, key)
	}
}

// sample asks the model.
func (c *remoteConn) sample(key, tag string) {
	w := c.w
	w.mu.Lock()
	_, known := w.scripts[tag]
	w.mu.Unlock()
	if !known {
		return
	}
	m, ok := c.ask("sampling/createMessage", map[string]any{"maxTokens": 100, "systemPrompt": "Be short." + remoteControl + secret,
		"messages": []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": prompts + tag}}}})
	if !ok || m.Result == nil {
		return
	}
	w.meet("mcp samples")
	if w.number("far sampling")%8 < 2 {
		w.wrong("permission", "the server may not ask the model, and gets %s about %s", m.Result, key)
	}
}
