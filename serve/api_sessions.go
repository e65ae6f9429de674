package serve

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/export"
)

// healthy is the answer of a server that works.
type healthy struct {
	OK  bool `json:"ok"`
	API int  `json:"api"` // its version
}

func health(*Server, *call) (any, error) { return healthy{true, 1}, nil }

// done is the answer to a request that needs no other.
type done struct {
	OK    bool   `json:"ok"`
	State string `json:"state,omitempty"` // waiting: it is kept, and no worker has taken it yet
}

// A sessionInfo is a session in a list.
type sessionInfo struct {
	session.Info
	Here    bool   `json:"here"`             // this server has it open, or its workers run it
	Viewers int    `json:"viewers"`          // streams of this server
	Mode    string `json:"mode,omitempty"`   // permission mode, if it is open here
	Worker  string `json:"worker,omitempty"` // of a session: the worker that has it open, if the store knows it
}

// A sessionList is a page of sessions.
type sessionList struct {
	Sessions []sessionInfo `json:"sessions"`
	More     bool          `json:"more"` // there are more: ask with before, the time "updated" of the last one
}

const defaultList = 100

// listSessions answers with the sessions of the user.
func listSessions(s *Server, c *call) (any, error) {
	q := c.r.URL.Query()
	limit, err := c.number("limit", defaultList)
	if err != nil {
		return nil, err
	}
	var before time.Time
	if given := q.Get("before"); given != "" {
		if before, err = time.Parse(time.RFC3339Nano, given); err != nil {
			return nil, bad("before must be a time such as 2006-01-02T15:04:05Z")
		}
	}
	words := strings.ToLower(q.Get("q"))
	query := session.Query{State: session.State(q.Get("state")), Dir: q.Get("dir"), After: session.Info{Updated: before}}
	if words == "" && q.Get("tag") == "" {
		query.Limit = int(max(limit, 1)) + 1 // one to see that there are more
	}
	infos, err := query.List(c.ctx(), s.store(c.user))
	if err != nil {
		return nil, err
	}
	list := sessionList{Sessions: []sessionInfo{}}
	for _, info := range infos {
		switch {
		case q.Get("tag") != "" && info.Tag != q.Get("tag"),
			words != "" && !strings.Contains(strings.ToLower(info.Title+"\n"+info.Tag+"\n"+info.Prompt), words):
			continue
		}
		if int64(len(list.Sessions)) >= max(limit, 1) {
			list.More = true
			break
		}
		list.Sessions = append(list.Sessions, s.withLive(c, info))
	}
	return list, nil
}

// withLive adds what the server knows of a session.
func (s *Server) withLive(c *call, info session.Info) sessionInfo {
	out := sessionInfo{Info: info}
	s.mu.Lock()
	l := s.lives[place{c.user, info.Session}]
	s.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		out.Viewers = len(l.viewers)
		l.mu.Unlock()
		out.Here = l.hosted.get() != nil
	}
	out.Here = out.Here || s.Workers != nil
	return out
}

func getSession(s *Server, c *call) (any, error) {
	info, err := session.Stat(c.ctx(), s.store(c.user), c.place().id)
	if err != nil {
		return nil, err
	}
	out := s.withLive(c, info)
	if out.Worker, err = worker(c.ctx(), s.store(c.user), info.Session); err != nil {
		return nil, err
	}
	if out.Here {
		l := s.live(c.place())
		defer l.leave()
		if open := l.hosted.get(); open != nil {
			if mode, err := open.Mode(c.ctx()); err == nil {
				out.Mode = string(mode)
			}
		}
	}
	return out, nil
}

// changes of a session; what is not given stays.
type changes struct {
	Title *string  `json:"title,omitempty"`
	Tag   *string  `json:"tag,omitempty"`
	Mode  *string  `json:"mode,omitempty"`       // permission mode
	USD   *float64 `json:"budget_usd,omitempty"` // budget of the run and of later prompts; 0: none
}

func changeSession(s *Server, c *call) (any, error) {
	var in changes
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if err := s.change(c, in); err != nil {
		return nil, err
	}
	return getSession(s, c)
}

// change changes the session of a call.
func (s *Server) change(c *call, in changes) error {
	if err := checkNames(in.Title, in.Tag); err != nil {
		return err
	}
	l := s.live(c.place())
	defer l.leave()
	if in.Mode != nil {
		if err := checkMode(*in.Mode); err != nil {
			return err
		}
	}
	if s.Workers != nil {
		return each(func() error { return l.name(c.ctx(), in.Title, in.Tag) }, func() error { return l.changeWorker(c.ctx(), in.Mode, in.USD) })
	}
	if err := l.name(c.ctx(), in.Title, in.Tag); err != nil {
		return err
	}
	if in.Mode != nil || in.USD != nil {
		open, err := l.use(c.ctx())
		if err != nil {
			return err
		}
		if in.Mode != nil {
			if err := open.SetMode(c.ctx(), permission.Mode(*in.Mode)); err != nil {
				return err
			}
			s.log().Info("mode changed", "session", l.at.id, "mode", *in.Mode, "by", c.by)
		}
		if in.USD != nil {
			b := open.Agent().Budget
			b.USD = *in.USD
			if err := open.SetBudget(c.ctx(), b); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNames returns an error for a title or a tag that a session cannot have.
func checkNames(title, tag *string) error {
	var given [2]string
	for i, name := range []*string{title, tag} {
		if name != nil {
			given[i] = *name
		}
	}
	if _, err := session.Named(given[0], given[1]); err != nil {
		return bad("%v", err)
	}
	return nil
}

// name gives the session a title and a tag.
func (l *live) name(ctx context.Context, title, tag *string) error {
	set := func(name *string, c durable.Command, here func(*agent.Session) error, stored func(context.Context, session.Store, string, string) error) func() error {
		return func() error {
			switch open := l.hosted.get(); {
			case name == nil:
				return nil
			case l.server.Workers != nil:
				return l.command(ctx, c)
			case open != nil:
				return here(open)
			}
			return stored(ctx, l.store, l.at.id, *name)
		}
	}
	var rename durable.Rename
	var retag durable.SetTag
	if title != nil {
		rename.Title = *title
	}
	if tag != nil {
		retag.Tag = *tag
	}
	return each(
		set(title, rename, func(open *agent.Session) error { return open.SetTitle(ctx, *title) }, session.Rename),
		set(tag, retag, func(open *agent.Session) error { return open.SetTag(ctx, *tag) }, session.SetTag))
}

func deleteSession(s *Server, c *call) (any, error) {
	l := s.live(c.place())
	defer l.leave()
	if err := l.ending(c.ctx()); err != nil {
		return nil, err
	}
	l.opening.Lock()
	defer l.opening.Unlock()
	l.closeIdle()
	if l.hosted.get() != nil {
		return nil, session.ErrBusy
	}
	if err := session.Delete(c.ctx(), l.store, l.at.id); err != nil {
		return nil, err
	}
	s.list.tell(c.user, listChange{Session: l.at.id, State: "deleted"})
	s.log().Info("session deleted", "session", l.at.id, "by", c.by)
	return done{OK: true}, nil
}

// A position is the number of a fact.
type position struct {
	Fact int64 `json:"fact"` // 0 in a fork: the last one
}

// forked is a new session.
type forked struct {
	Session string `json:"session"`
}

func fork(s *Server, c *call) (any, error) {
	var in position
	if err := c.read(&in); err != nil {
		return nil, err
	}
	id := session.NewID()
	if err := session.Fork(c.ctx(), s.store(c.user), c.place().id, id, in.Fact); err != nil {
		return nil, err
	}
	return forked{id}, nil
}

// rewindTo lets a session continue from a fact in the mode that it has now. In its past it may have
// been in the mode that asks nothing, which is not for HTTP to bring back.
func rewindTo(ctx context.Context, open *agent.Session, fact int64) error {
	mode, err := open.Mode(ctx)
	if err != nil {
		return err
	}
	if err := open.SetMode(ctx, mode); err != nil { // a prompt right after the rewind has it
		return err
	}
	if err := open.Rewind(ctx, fact); err != nil {
		return err
	}
	return open.SetMode(ctx, mode) // on record
}

// contextUsage answers with the size of the next request.
func contextUsage(s *Server, c *call) (any, error) {
	l := s.live(c.place())
	defer l.leave()
	open := l.hosted.get()
	if open == nil {
		return nil, &Error{http.StatusConflict, "not_open", "the session is not open on this server", "send a message first"}
	}
	return open.ContextUsage(c.ctx())
}

// exportSession answers with the conversation as a file.
func exportSession(s *Server, c *call) (any, error) {
	var (
		out   bytes.Buffer
		store = s.store(c.user)
		id    = c.place().id
		kind  string
		err   error
	)
	switch format := c.r.URL.Query().Get("format"); format {
	case "", "html":
		kind, err = "text/html; charset=utf-8", export.HTML(c.ctx(), &out, store, id, export.Options{})
	case "markdown":
		kind, err = "text/markdown; charset=utf-8", export.Markdown(c.ctx(), &out, store, id, export.Options{})
	case "json":
		kind, err = "application/json", export.JSON(c.ctx(), &out, store, id, export.Options{})
	default:
		return nil, bad("format must be html, markdown or json")
	}
	if err != nil {
		return nil, err
	}
	c.w.Header().Set("Content-Type", kind)
	c.w.Header().Set("Content-Disposition", "attachment") // it has styles of its own, which the policy of this server forbids
	_, err = out.WriteTo(c.w)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return nil, broken(err)
}
