package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
)

// A Status is what the person at the terminal sees of the viewers.
type Status struct {
	Word    string // "live", or "shared" if only shares are open; "": neither
	Viewers int
}

// A Conversation shows its session to browsers, and shares it. Set the fields before its first use.
type Conversation struct {
	H        *cli.IO
	Options  *settings.Options
	Project  string
	Sessions string        // the folder of the sessions; "": they are not kept
	Store    session.Store // nil: likewise
	Session  *agent.Session
	Status   func(Status)                  // called after each change
	Answered func(call, answer, by string) // a browser has answered a question

	mu      sync.Mutex   // guards the fields below
	server  *Server      // of this process; nil: it does not run
	hosts   []string     // its further names
	hide    func() error // ends the page of the session; nil: there is none
	watch   bool         // browsers only watch it
	preview string       // code of the last preview
	away    *Server      // makes shares for a server in another process; nil: there is none
	address string       // of that server

	telling sync.Mutex // guards the fields below
	word    string     // of the status
	viewers [2]int     // of the page and of shares
}

// errNotKept is about a session that is in memory only.
var errNotKept = errors.New("this session is not kept, so nobody else can see it; start without --no-session-persistence")

// On shows the session to browsers. It returns the address for one of them. With watch they cannot
// answer questions.
func (c *Conversation) On(ctx context.Context, watch bool, hosts []string) (address string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(ctx, hosts); err != nil {
		return "", err
	}
	if c.hide != nil && c.watch != watch {
		err, c.hide = c.hide(), nil
		if err != nil {
			return "", err
		}
	}
	if c.hide == nil {
		c.watch = watch
		c.hide = c.server.Show(&serve.Server{Session: c.Session, Sessions: c.store, ReadOnly: watch, Answered: c.Answered, Watched: func(n int) { c.watched(0, n) }})
	}
	c.tell("live")
	return c.server.Open(), nil
}

func (c *Conversation) store(string) session.Store { return c.Store }

// start starts the server of this process, unless it runs. It is called with the lock.
func (c *Conversation) start(ctx context.Context, hosts []string) error {
	switch {
	case c.Store == nil:
		return errNotKept
	case c.server != nil && (len(hosts) == 0 || slices.Equal(hosts, c.hosts)):
		return nil
	case c.server != nil && len(c.shares(ctx)) > 0:
		return errors.New("the links of this session have other names; /share revoke all ends them first")
	}
	if err := c.end(); err != nil {
		return err
	}
	shares, err := Shares(ctx, c.H, c.Options, c.Project, c.Sessions, false, nil)
	if err != nil {
		return err
	}
	s := New(&serve.Server{Session: c.Session, Sessions: c.store, Shares: shares, Watched: func(n int) { c.watched(1, n) }}, hosts)
	if err := s.Listen(ctx, 0); err != nil {
		return err
	}
	c.server, c.hosts = s, hosts
	return nil
}

// tell tells the person whether others can see the session.
func (c *Conversation) tell(word string) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.word = word; word == "" {
		c.viewers = [2]int{}
	}
	c.Status(Status{word, c.viewers[0] + c.viewers[1]})
}

// watched tells the person how many watch the page (0) or the shares (1).
func (c *Conversation) watched(what, n int) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.viewers[what] = n; c.word != "" {
		c.Status(Status{c.word, c.viewers[0] + c.viewers[1]})
	}
}

// Address returns the address of the server of this process, "" if it does not run.
func (c *Conversation) Address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return ""
	}
	return c.server.Address
}

// Off ends the page of the session. Shares stay. It reports whether there was a page.
func (c *Conversation) Off(ctx context.Context) (was bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hide == nil {
		return false, nil
	}
	err, c.hide = c.hide(), nil
	if c.server != nil && len(c.shares(ctx)) > 0 {
		c.tell("shared")
		return true, err
	}
	return true, errors.Join(err, c.end())
}

// Close ends the page and the shares of this process.
func (c *Conversation) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end()
}

// end ends the server of this process. It is called with the lock.
func (c *Conversation) end() (err error) {
	if c.server == nil {
		return nil
	}
	c.tell("")
	if c.hide != nil {
		err, c.hide = c.hide(), nil
	}
	err = errors.Join(err, c.server.Close())
	c.server, c.preview = nil, ""
	return err
}

// sharing returns the server that makes shares: of a process that serves this folder, or of this one.
// It is called with the lock.
func (c *Conversation) sharing(ctx context.Context, hosts []string) (*Server, error) {
	if c.Store == nil {
		return nil, errNotKept
	}
	at := ""
	if c.Sessions != "" {
		at = Running(c.H, c.Sessions)
	}
	if at == "" || c.server != nil {
		if err := c.start(ctx, hosts); err != nil {
			return nil, err
		}
		return c.server, nil
	}
	if c.away == nil || c.address != at {
		shares, err := Shares(ctx, c.H, c.Options, c.Project, c.Sessions, true, nil)
		if err != nil {
			return nil, err
		}
		c.away, c.address = New(&serve.Server{Sessions: c.store, Shares: shares}, nil), at
	}
	return c.away, nil
}

// Preview shows what a share of the session would hide.
func (c *Conversation) Preview(ctx context.Context, r Request, hosts []string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.sharing(ctx, hosts)
	if err != nil {
		return nil, err
	}
	r.Session = c.Session.ID
	p, err := s.Preview(ctx, r)
	if err != nil {
		return nil, err
	}
	c.preview = p.Code
	return p.Lines(c.H), nil
}

// Confirm makes the link of the last preview.
func (c *Conversation) Confirm(ctx context.Context) (lines []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.preview == "" {
		return nil, errors.New("there is no preview to confirm; /share shows one")
	}
	s, err := c.sharing(ctx, nil)
	if err != nil {
		return nil, err
	}
	made, err := s.Confirm(ctx, c.preview)
	c.preview = ""
	if err != nil {
		return nil, err
	}
	address, ends := s.Address, "; it ends with this conversation"
	if address == "" {
		address, ends = c.address, ""
	} else if c.hide == nil {
		c.tell("shared")
	}
	return []string{made.Link(address), "works until " + made.Until() + ends + "; /share revoke " + made.ID + " ends it"}, nil
}

// List lists the shares of the session. Viewers of another process are not counted.
func (c *Conversation) List(ctx context.Context) (lines []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sh := range c.shares(ctx) {
		parts := []string{sh.ID, "until now", "until " + sh.Until()}
		if sh.Live {
			parts[1] = "live"
		}
		if c.server != nil {
			parts = append(parts, cli.Plural(len(sh.Viewers), "viewer"))
		}
		lines = append(lines, strings.Join(parts, "  "))
	}
	return lines, nil
}

// shares returns the shares of the session. It is called with the lock.
func (c *Conversation) shares(ctx context.Context) (out []Share) {
	for _, s := range []*Server{c.server, c.away} {
		if s == nil {
			continue
		}
		list, err := s.List(ctx)
		if err != nil {
			continue
		}
		for _, sh := range list {
			if sh.Session == c.Session.ID {
				out = append(out, sh)
			}
		}
	}
	return out
}

// Revoke ends a share of the session, or all of them.
func (c *Conversation) Revoke(ctx context.Context, id string) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sh := range c.shares(ctx) {
		if id != "all" && sh.ID != id {
			continue
		}
		var failed error
		for _, s := range []*Server{c.server, c.away} {
			if s != nil {
				if failed = s.Revoke(ctx, sh.ID); failed == nil {
					break
				}
			}
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		n++
	}
	if c.server != nil && c.hide == nil && len(c.shares(ctx)) == 0 {
		err = errors.Join(err, c.end())
	}
	if n == 0 && err == nil && id != "all" {
		err = errors.New("this session has no such share; /share list shows them")
	}
	return n, err
}
