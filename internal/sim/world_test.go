package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/internal/sessionid"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/session"
)

// A world runs a Program: it is the host, the provider, the disk and the people.
type world struct {
	Program
	t         *testing.T
	began     time.Time
	server    *llmtest.Server
	store     session.Store // the disk, which outlives programs
	life      *life         // the program that runs now
	lives     int
	elsewhere atomic.Bool // another process has come to a session
	handles   []*handle   // the sessions that the host knows
	scripts   map[string][]Turn

	fault  faulty
	ledger ledger
	facts  facts
	found  map[string]bool // sessions that were read back
	steps  atomic.Int64

	mu          sync.Mutex
	violated    []Violation
	met         map[string]bool // features that took part
	lines       []string        // the trace
	said        []string
	ran         []ran
	people      people
	watching    []*watcher
	serverTools int // see SetServer
	serverOff   bool
	serverSince time.Duration       // when they changed
	apart       aparts              // see worktree_test.go
	saved       saved               // see checkpoint_test.go
	filesRoot   string              // the folder of the tools for files; "": there is none
	team        shared              // see team_store_test.go
	rivals      []*rival            // other processes of the present life
	asked       map[string]int      // requests, by prompt
	served      map[string]int      // answers that the model has given, by prompt and number
	tools       map[string]ownTools // of the open sessions, see showTools
	remote      remoteState         // see mcp_test.go
	notes       notes               // see notes_test.go
}

// A Violation is an invariant that did not hold.
type Violation struct{ Invariant, Text string }

// A life is a program from its start to its death or exit.
type life struct {
	w            *world
	n            int
	ctx          context.Context
	cancel       context.CancelFunc
	dead         atomic.Bool
	servers      *mcp.Servers   // nil: none
	remote       *mcp.Servers   // nil: none
	remoteNumber int            // of remote
	notes        *memory.Store  // nil: none
	closers      []func() error // of what the agent works on
	death        death
	agent        *agent.Agent
}

// A handle is a session as the host knows it: its id, and the open Session.
type handle struct {
	id     string
	open   *agent.Session // of the present life; nil: not open
	own    ownTools
	opened time.Time
	jobs   []*job
}

// A job is a call of the host that waits for a run.
type job struct {
	what string
	done chan struct{}
	err  error
}

// An Outcome is what a run of a Program has shown.
type Outcome struct {
	Violations []Violation
	Met        map[string]bool
	Steps      int
	Trace      []string
	Journals   string
	Said       []string // the conversation of the first session before the last prompt
}

// run runs a program in a bubble of its own.
func run(t *testing.T, p Program) (out Outcome) {
	t.Helper()
	w := &world{Program: p, t: t, met: map[string]bool{}, found: map[string]bool{}, served: map[string]int{}, asked: map[string]int{}, scripts: map[string][]Turn{}}
	w.ledger.facts = map[string][]string{}
	w.facts.init()
	w.team.init()
	defer func() {
		if r := recover(); r != nil {
			w.wrong("released", "%v", r)
		}
		out = Outcome{w.violated, w.met, int(w.steps.Load()), w.lines, w.journals(), w.said}
	}()
	cryptotest.SetGlobalRandom(t, p.Seed)
	sessionid.Reset()
	synctest.Test(t, func(*testing.T) { w.run() })
	return
}

func (w *world) run() {
	w.began = time.Now()
	wrong := &strict{w: w}
	w.server = llmtest.NewPipe(wrong)
	w.server.Rule = w.answer
	w.store = w.newDisk()
	for _, o := range w.Ops {
		w.learn(o)
	}
	w.start()
	w.session(0)
	for i, o := range w.Ops {
		w.live()
		w.trace("op %d %T", i, o)
		w.steps.Add(1)
		o.run(w)
		w.calm()
	}
	w.settle()
	wrong.close()
	w.checkJournals()
	w.checkEnd()
	w.checkTeam()
	w.fault.leave()
}

// start begins a new life.
func (w *world) start() {
	w.lives++
	l := &life{w: w, n: w.lives}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	w.life = l
	w.fault.life = l
	w.mu.Lock()
	w.serverTools, w.serverOff, w.serverSince = 2, false, time.Since(w.began)
	w.mu.Unlock()
	l.agent = w.newAgent(l)
	w.trace("life %d", l.n)
}

// die kills the program: nothing that it does from now on counts.
func (l *life) die(why string) {
	if !l.dead.Swap(true) {
		l.w.trace("%s", why)
		l.w.meet("crash")
		l.cancel()
	}
}

// live replaces a dead program.
func (w *world) live() {
	if w.life.dead.Load() {
		w.end()
		w.lookAgain()
		w.start()
	}
}

// end closes the sessions of a life and waits for its calls.
func (w *world) end() {
	for _, h := range w.handles {
		if h.open != nil {
			err := h.open.Close()
			if !w.life.dead.Load() {
				w.expect(err, "closing a session", agent.ErrToolStuck)
			}
			h.open = nil
			w.showTools()
		}
		w.await(h)
	}
	w.endRivals()
	for _, c := range w.life.closers {
		w.expect(c(), "closing a workspace")
	}
	w.checkFiles()
	w.checkApart()
	w.checkWatchers()
	w.checkReleased()
	w.life.cancel()
}

// newest is the number of the session that the host came to know last.
const newest = -1

// session returns the nth session that the host knows, opened for use.
func (w *world) session(n int) *handle {
	if len(w.handles) == 0 {
		w.handles = append(w.handles, &handle{id: "s0"})
	}
	if n == newest {
		n = len(w.handles) - 1
	}
	h := w.handles[n%len(w.handles)]
	w.renew(h)
	if h.open == nil {
		h.own, h.opened = ownTools{}, time.Now()
		h.open = w.life.agent.Session(h.id)
		w.showTools()
	}
	return h
}

// do makes a call of the host that may wait for a run.
func (w *world) do(h *handle, what string, call func(ctx context.Context, s *agent.Session) error) *job {
	j := &job{what: what, done: make(chan struct{})}
	h.jobs = append(h.jobs, j)
	l, s := w.life, h.open
	go func() {
		defer close(j.done)
		j.err = call(l.ctx, s)
		if !l.dead.Load() {
			w.trace("%s of %s: %v", what, h.id, shortened(j.err))
			w.expect(j.err, what)
		}
	}()
	time.Sleep(time.Microsecond) // it begins before the next one
	w.calm()
	return j
}

// patience is longer than any run that is not stuck.
const patience = 30 * time.Hour

// await waits for the calls of the host on a session.
func (w *world) await(h *handle) {
	for _, j := range h.jobs {
		select {
		case <-j.done:
		case <-time.After(patience):
			w.wrong("released", "%s of %s does not return", j.what, h.id)
		}
	}
	h.jobs = nil
}

// settle lets all runs come to their end, however often the program died.
func (w *world) settle() {
	w.life.death.writes.Store(0)
	w.fault.disarm()
	w.trace("settle")
	w.live()
	for n := range w.handles {
		w.finish(n)
	}
	w.end()
	w.start()
	for n := range w.handles {
		h := w.session(n)
		w.finish(n)
		if n == 0 {
			w.said = w.conversation(h)
		}
		name := fmt.Sprint("end", n)
		w.mu.Lock()
		w.scripts[name] = nil
		for name := range w.scripts { // mail can come now
			w.scripts[name] = nil
		}
		w.mu.Unlock()
		j := w.do(h, "the last prompt", func(ctx context.Context, s *agent.Session) error {
			res, err := s.Do(ctx, agent.Input{ID: name, Text: prompts + name})
			if err == nil && res.Text != done {
				w.wrong("released", "the last prompt of %s is answered with %q", h.id, res.Text)
			}
			return err
		})
		w.await(h)
		if j.err != nil && !w.mayFail(j.err) {
			w.wrong("released", "the last prompt of %s: %v", h.id, j.err)
		}
		w.checkMessages(h)
	}
	w.checkCheckpoints()
	w.end()
}

// mayFail reports whether a feature of the program lets its last prompt fail.
func (w *world) mayFail(err error) bool { return errors.Is(err, agent.ErrLimit) }

// finish resumes and answers until a session has no open run.
func (w *world) finish(n int) {
	h := w.session(n)
	w.await(h)
	for round := 0; ; round++ {
		open, err := h.open.CanResume(w.life.ctx)
		w.expect(err, "asking whether a run can be resumed")
		if !open || err != nil {
			return
		}
		if round == 60 {
			w.wrong("released", "the run of %s was resumed 60 times", h.id)
			return
		}
		w.answerAll(h, round%3 != 2)
		w.do(h, "resume", resume)
		w.await(h)
	}
}

func resume(ctx context.Context, s *agent.Session) (err error) {
	for _, failed := range s.Resume(ctx) {
		if failed != nil {
			err = failed
		}
	}
	return err
}

// expected are the errors that calls of the host may meet at any time.
var expected = []error{agent.ErrLimit, agent.ErrModel, agent.ErrInterrupted, agent.ErrStopped, agent.ErrSuspended, agent.ErrClosed, agent.ErrNotRunning,
	agent.ErrNotResumable, agent.ErrDetached, agent.ErrNoQuestion, agent.ErrBusy, context.Canceled}

// expect checks that an error is one that the documentation promises.
func (w *world) expect(err error, what string, more ...error) {
	if err == nil || w.life.dead.Load() && (errors.Is(err, faultdisk.ErrDead) || errors.Is(err, errDead)) { // nobody sees the errors of a dead program
		return
	}
	for _, e := range slices.Concat(expected, more, w.fault.errors.expected()) {
		if errors.Is(err, e) {
			return
		}
	}
	w.wrong("errors", "%s: %v", what, err)
}

// wrong notes a violation.
func (w *world) wrong(invariant, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violated = append(w.violated, Violation{invariant, fmt.Sprintf(format, args...)})
}

// meet notes that a feature took part.
func (w *world) meet(feature string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !declared(feature) {
		panic("no row of features declares " + feature)
	}
	w.met[feature] = true
}

func (w *world) trace(format string, args ...any) {
	at := time.Since(w.began)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf("%v ", at)+fmt.Sprintf(format, args...))
}

// pause returns a delay of about the given size that depends on the words alone. Hardly ever
// are two the same, so that no two things happen in one instant.
func (w *world) pause(about time.Duration, words ...any) time.Duration {
	n := w.number(words...)
	return about/4 + time.Duration(n%uint64(about))
}

// number returns a number that depends on the seed and the words.
func (w *world) number(words ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, append([]any{w.Seed}, words...)...)
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// mortalClient reaches the provider as long as its program lives.
type mortalClient struct {
	l    *life
	next http.RoundTripper
}

// body returns the body of a request, so that each takes a time of its own.
func body(r *http.Request) string {
	if r.GetBody == nil {
		return ""
	}
	b, err := r.GetBody()
	if err != nil {
		return ""
	}
	defer b.Close()
	data, _ := io.ReadAll(b)
	return string(data)
}

func (c mortalClient) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.l.dead.Load() {
		return nil, errDead
	}
	time.Sleep(c.l.w.pause(time.Millisecond, "request", strings.ReplaceAll(body(r), c.l.w.filesRoot, "/")))
	return c.next.RoundTrip(r)
}

// strict collects the requests that a provider would refuse.
type strict struct {
	w        *world
	cleanups []func()
}

func (s *strict) Helper()                           {}
func (s *strict) Cleanup(fn func())                 { s.cleanups = append(s.cleanups, fn) }
func (s *strict) Errorf(format string, args ...any) { s.w.wrong("requests", format, args...) }
func (s *strict) Fatalf(format string, args ...any) { s.w.wrong("requests", format, args...) }

func (s *strict) close() {
	for _, fn := range slices.Backward(s.cleanups) {
		fn()
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func shortened(err error) string {
	if err == nil {
		return "ok"
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return cmp.Or(line[:min(len(line), 120)], "?")
}
