// Package serve serves sessions over HTTP: a JSON API, and live streams that a client can leave
// and continue without a gap.
//
//	s := &serve.Server{
//		Token:    token, // 32 characters or more
//		Sessions: func(string) session.Store { return store },
//		Agent:    func(context.Context, serve.Place) (*agent.Agent, error) { return a, nil },
//	}
//	defer s.Shutdown(ctx)
//	err := http.ListenAndServe("127.0.0.1:4777", s)
//
// Nothing works without the token, also not on the same machine. docs/serve.md describes the API.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/session"
)

// A Server is an [http.Handler] for sessions. Sessions and Agent must be set, and Token or User.
// Do not change or copy a Server once it is in use. Two Servers must not serve the same store: a
// client of one of them would not see the text of an answer until it is whole.
type Server struct {
	// Token is the secret of the only user. Programs send it as "Authorization: Bearer".
	// Browsers log in with a code, see [Server.LoginCode]. Tokens shorter than 32 characters are
	// refused.
	Token string
	// User returns the name of the user who sends a request, for a server with several users.
	// It is your own check of cookies or headers, and an error refuses the request. Token is not
	// used then. Nil: the holder of Token is the user "".
	User func(r *http.Request) (name string, err error)

	// Sessions returns the store of a user's sessions, each time the same value.
	Sessions func(user string) session.Store
	// Agent returns the agent that works in a session, before the server opens it. The server
	// uses a copy of it, with the store of the user. If CanUseTool or AskUser is nil, the
	// users of the API are asked.
	Agent func(ctx context.Context, at Place) (*agent.Agent, error)
	// Closed is called after the server has closed a session that it had opened. Nil: nothing
	// is called.
	Closed func(at Place)

	// Session, unless it is nil, is the only session that the server shows. Your program has opened
	// it from the store of Sessions, runs it and closes it. Users watch it, answer its questions, and send
	// messages to its run. They cannot begin a run. Agent and Closed are not called.
	Session *agent.Session
	// Workers, unless it is nil, sends what users say to workers in other processes, which run the
	// sessions. Sessions must return the store of its Backend, or one that shows a user some of its
	// sessions: a user who begins one that is another's gets 409 exists. Agent is not called. It has no
	// chat front ends and no rewinds of files.
	Workers *durable.Client
	// Watched is called with the number of streams that show a session when it changes. Nil: it is not.
	Watched func(streams int)
	// Answered is called after a user has answered a question about a call: allow, deny or answer.
	// Nil: it is not.
	Answered func(call, answer, by string)

	// Restore brings the files of a checkpoint of a session back, such as with [checkpoint.Store.Restore],
	// and returns the changes, with diffs. With a nil saved it changes nothing, and says what it would
	// change. Nil: only conversations can be rewound.
	Restore func(ctx context.Context, at Place, id string, saved func(undo string) error) ([]checkpoint.Change, error)
	// Checks are what the page /doctor tells about your program: a line for each part, with an error that
	// says what to do if the part does not work. Nil: the page tells about the server alone.
	Checks func(ctx context.Context) iter.Seq2[string, error]

	// Hosts are the names that clients may use for the server, with or without a port, such as
	// "agents.example.com". Other Host headers are refused, so that no foreign page can reach the
	// server by a name of its own. None: the address that a connection came to, or localhost.
	//
	// A name below localhost among them is for browsers, such as "x-5e0c….localhost:4777". Browsers
	// find this machine by it, and can then log in there, but not at loopback addresses: they send
	// cookies of 127.0.0.1 to the servers at all its ports. Make it hard to guess.
	Hosts []string
	// Origins are the sites whose pages may use the API in a browser, such as "https://app.example.com".
	// They need the token: cookies of their requests do not count, also for User. None: no other site may.
	Origins []string
	// ReadOnly refuses all requests that change something.
	ReadOnly bool
	// MaxSessions is how many sessions are open at a time. 0: 64.
	MaxSessions int
	// MaxStreams is how many streams of events are open at a time, without those of shares. 0: 64.
	MaxStreams int
	// UserRequests is how many requests a second a user may send, and ten times as many at once.
	// Programs with Token and browsers that are logged in have this limit each. 0: 100.
	UserRequests int
	// UserStreams is how many streams a user has open at a time. 0: half of MaxStreams, or with Token
	// all of them.
	UserStreams int
	// UserRuns is how many runs of a user are at work at a time. 0: half of MaxSessions, or with Token
	// as many.
	UserRuns int
	// Encrypted says that a proxy in front of the server encrypts. Browsers then send the cookie of
	// a login by encrypted connections only.
	Encrypted bool
	// Shares lets users share sessions with anybody who has a link. Nil: no session can be shared.
	Shares *Shares
	// Log gets a record of each request, message and decision, without secrets and contents.
	// Nil: no logs.
	Log *slog.Logger

	once    sync.Once
	routes  *http.ServeMux
	cross   *http.CrossOriginProtection
	logins  logins
	counts  counters
	usage   usage
	list    listViewers
	stats   statsCache
	telling sync.Mutex // held while Watched is called
	sharing sharing
	heads   heads // of clients of Chat Completions

	mu      sync.Mutex // guards the fields below
	lives   map[place]*live
	begun   map[string]string // sessions that no worker has made yet, with the users who began them
	opened  int               // open sessions
	streams int
	closed  bool
	work    sync.WaitGroup // runs, readers and closing sessions
}

// A Place is a session that the server is about to open.
type Place struct {
	User string // whose it is, see [Server].User
	ID   string // of the session
	Dir  string // the working folder that the client asks for; "": the usual one
}

// An Error is an answer to a request that failed. Return one from [Server].Agent to choose the
// answer.
type Error struct {
	Status  int    `json:"-"`              // of HTTP
	Code    string `json:"code"`           // a word for programs
	Message string `json:"message"`        // for people
	Hint    string `json:"hint,omitempty"` // what helps
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// place names a session.
type place struct{ user, id string }

const (
	defaultSessions = 64
	maxStreams      = 64 // unless MaxStreams is set, and of shares
	maxBody         = 10 << 20
	minToken        = 32
	linger          = time.Minute // a session stays open this long after its last run
)

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.once.Do(s.prepare)
	began, out := time.Now(), &recorder{ResponseWriter: w}
	route := s.serve(out, r)
	s.counts.request(route, out.code())
	if s.Log != nil {
		s.Log.Info("request", "method", r.Method, "route", route, "status", out.code(), "bytes", out.bytes, "duration", time.Since(began))
	}
}

// prepare makes the parts that do not change.
func (s *Server) prepare() {
	s.cross = http.NewCrossOriginProtection()
	s.routes = http.NewServeMux()
	for _, at := range routes {
		s.routes.Handle(at.pattern(), endpoint{s, at, false})
	}
	for _, at := range adapterRoutes {
		s.routes.Handle(at.pattern(), endpoint{s, at, false})
	}
	for _, at := range pageRoutes {
		s.routes.Handle(at.pattern(), endpoint{s, at, true})
	}
}

// store returns the store of a user.
func (s *Server) store(user string) session.Store { return s.Sessions(user) }

func (s *Server) log() *slog.Logger {
	if s.Log != nil {
		return s.Log
	}
	return slog.New(slog.DiscardHandler)
}

// Resume continues the sessions of a user whose runs have no end, such as after the end of the
// program. It returns how many runs it has started. Call it at the start of your program. A session
// that cannot be continued does not hold up the others; the error is about those.
func (s *Server) Resume(ctx context.Context, user string) (started int, err error) {
	s.once.Do(s.prepare)
	infos, err := session.Query{State: session.StateUnfinished}.List(ctx, s.store(user))
	if err != nil {
		return 0, fmt.Errorf("listing the sessions: %w", err)
	}
	for _, info := range infos {
		l := s.live(place{user, info.Session})
		failed := l.resume(ctx, info.Dir)
		l.leave()
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("resuming session %s: %w", info.Session, failed))
			continue
		}
		started++
	}
	return started, err
}

// Shutdown ends all streams and closes all sessions. Runs are detached: tools may end until ctx
// ends, and [Server.Resume] continues the runs. Later requests are refused. Call it before you shut
// the HTTP server down, which would wait for the streams.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	var all []*live
	for _, l := range s.lives {
		all = append(all, l)
	}
	s.mu.Unlock()
	s.list.end("shutdown")
	s.endShares()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	for _, l := range all {
		wg.Go(func() {
			err := l.detach(ctx)
			l.end("shutdown")
			l.halt()
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	s.work.Wait()
	return failed
}

// spawn starts a goroutine that Shutdown waits for. It reports false after Shutdown.
func (s *Server) spawn(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(work)
	return true
}

// limit returns how many sessions may be open.
func (s *Server) limit() int { return cmp.Or(s.MaxSessions, defaultSessions) }

// streamLimit returns how many streams may be open.
func (s *Server) streamLimit() int { return cmp.Or(s.MaxStreams, maxStreams) }
