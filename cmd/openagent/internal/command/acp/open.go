package acp

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	protocol "github.com/openagent-go/agent/internal/acp"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/session"
)

// serversOf returns the servers that a client hands over.
func serversOf(list []protocol.MCPServer) (map[string]mcp.Config, error) {
	values := func(list []protocol.Named) map[string]string {
		m := map[string]string{}
		for _, v := range list {
			m[v.Name] = v.Value
		}
		return m
	}
	all := map[string]mcp.Config{}
	for _, m := range list {
		c := mcp.Config{Type: m.Type, Command: m.Command, Args: m.Args}
		switch m.Type {
		case "", mcpnames.Stdio:
			c.Type, c.Env = mcpnames.Stdio, values(m.Env)
		case mcpnames.HTTP, mcpnames.SSE:
			c = mcp.Config{Type: m.Type, URL: m.URL, Headers: values(m.Headers)}
		default:
			return nil, protocol.Errorf(protocol.InvalidParams, "mcpServers: the server %q has the type %q; use a command, http or sse", cli.Clip(m.Name), cli.Clip(m.Type))
		}
		if err := c.Check(m.Name); err != nil {
			return nil, protocol.Errorf(protocol.InvalidParams, "mcpServers: %v", err)
		}
		all[m.Name] = c
	}
	return all, nil
}

// open handles the requests that open a session.
func (s *server) open(ctx context.Context, method string, in protocol.Place) (any, error) {
	dir, err := folder("cwd", in.Cwd)
	if err != nil {
		return nil, err
	}
	hosted := app.HostedSession{Dir: dir, ID: in.Session, Existing: method != "session/new"}
	for _, d := range in.Dirs {
		if d, err = folder("additionalDirectories", d); err != nil {
			return nil, err
		}
		hosted.Dirs = append(hosted.Dirs, d)
	}
	if hosted.Servers, err = serversOf(in.Servers); err != nil {
		return nil, err
	}
	if !hosted.Existing {
		hosted.ID = session.NewID()
	} else if err := session.CheckID(in.Session); err != nil {
		return nil, refusal(err)
	}
	if method == "session/fork" {
		if hosted.ID, err = s.fork(ctx, dir, in.Session); err != nil {
			return nil, refusal(err)
		}
	}
	if e := s.take(hosted.ID); e != nil { // the client opens it once more, perhaps with other servers
		if err := e.close(); err != nil {
			return nil, refusal(err)
		}
	}
	e, err := s.begin(ctx, hosted)
	if err != nil {
		return nil, refusal(err)
	}
	if err := e.recall(ctx, method == "session/load"); err != nil {
		return nil, refusal(errors.Join(err, e.close()))
	}
	s.mu.Lock()
	s.sessions[hosted.ID] = e
	s.mu.Unlock()
	opened := protocol.Opened{Modes: e.modes(ctx), Options: e.options(ctx)}
	if method == "session/new" || method == "session/fork" {
		opened.Session = hosted.ID
	}
	return protocol.Later{Result: opened, After: e.sendStart}, nil
}

// begin opens a session.
func (s *server) begin(ctx context.Context, hosted app.HostedSession) (*editorSession, error) {
	s.mu.Lock()
	e := &editorSession{id: hosted.ID, server: s, h: s.h.Fork(), client: s.client, known: map[string]string{}, failures: map[string]string{}, announced: map[string]bool{}, added: make(chan struct{})}
	s.mu.Unlock()
	e.h.Out, e.h.Err = e, e
	if hosted.Existing {
		store, err := sessionstore.Open(ctx, e.h, s.flags.Place(), hosted.Dir)
		if err != nil {
			return nil, err
		}
		if err := s.exists(ctx, store, hosted.ID); err != nil {
			return nil, err
		}
	}
	hosted.AskUser = e.askUser
	// The session outlives the request that opens it.
	a, err := app.OpenHosted(context.WithoutCancel(ctx), e.h, s.flags, hosted)
	if err != nil {
		return nil, err
	}
	e.use(a)
	if err := a.Session.SetCanUseTool(ctx, e.decide); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return e, nil
}

// exists returns an error unless a session is in the store of its folder.
func (s *server) exists(ctx context.Context, store session.Store, id string) error {
	_, err := session.Stat(ctx, store, id)
	if errors.Is(err, session.ErrNotFound) {
		if info, _, ok := sessionstore.FindInOtherProjects(ctx, s.h, id); ok {
			return protocol.Errorf(protocol.ResourceNotFound, "the session %s belongs to the folder %s", id, info.Dir)
		}
		return protocol.Errorf(protocol.ResourceNotFound, "there is no session %s in this folder", id)
	}
	return err
}

// fork copies a session of a folder and returns the id of the copy.
func (s *server) fork(ctx context.Context, dir, from string) (string, error) {
	store, err := sessionstore.Open(ctx, s.h, s.flags.Place(), dir)
	if err != nil {
		return "", err
	}
	to := session.NewID()
	if err := s.exists(ctx, store, from); err != nil {
		return "", err
	}
	return to, app.ForkSession(ctx, s.h.Fork(), store, from, to, 0)
}

// listing are the parameters of session/list.
type listing struct {
	Cwd    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

// page is the number of sessions in an answer.
const page = 100

// list lists the sessions of a folder, or of all folders, the latest first.
func (s *server) list(ctx context.Context, in listing) (any, error) {
	first := 0
	if in.Cursor != "" {
		n, err := strconv.Atoi(in.Cursor)
		if err != nil || n < 0 {
			return nil, protocol.Errorf(protocol.InvalidParams, "the cursor %q is not one of this agent", cli.Clip(in.Cursor))
		}
		first = n
	}
	dir := ""
	if in.Cwd != "" {
		var err error
		if dir, err = folder("cwd", in.Cwd); err != nil {
			return nil, err
		}
	}
	store, err := s.store(ctx, dir)
	if err != nil {
		return nil, err
	}
	stores := []session.Store{store}
	if dir == "" && !sessionstore.OfAllFolders(store, s.flags.Place()) {
		if stores, err = sessionstore.Projects(s.h); err != nil {
			return nil, err
		}
	}
	var infos []session.Info
	for _, store := range stores {
		more, err := store.List(ctx)
		if err != nil {
			s.h.Warn("listing sessions: %v", err)
		}
		infos = append(infos, more...)
	}
	infos = slices.DeleteFunc(infos, func(i session.Info) bool { return i.Agent != nil || dir != "" && i.Dir != dir })
	slices.SortStableFunc(infos, func(a, b session.Info) int { return b.Updated.Compare(a.Updated) })
	out := protocol.Listing{Sessions: []protocol.SessionInfo{}}
	for _, i := range infos[min(first, len(infos)):] {
		if len(out.Sessions) == page {
			out.Next = strconv.Itoa(first + page)
			break
		}
		out.Sessions = append(out.Sessions, protocol.SessionInfo{Session: i.Session, Cwd: i.Dir, Title: titleOf(i), Updated: i.Updated.UTC().Format(time.RFC3339)})
	}
	return out, nil
}

// store returns the store of a folder's sessions. "" is the working folder of the agent.
func (s *server) store(ctx context.Context, dir string) (session.Store, error) {
	if dir == "" {
		var err error
		if dir, err = settings.WorkingDir(); err != nil {
			return nil, err
		}
	}
	return sessionstore.Open(ctx, s.h, s.flags.Place(), dir)
}

// titleOf returns the title of a session, or its first prompt.
func titleOf(i session.Info) string {
	if i.Title != "" {
		return i.Title
	}
	return i.Prompt
}

// delete deletes a session, which is closed first. One that is not there is deleted already.
func (s *server) delete(ctx context.Context, id string) error {
	if session.CheckID(id) != nil {
		return nil // no session has such an id
	}
	if e := s.take(id); e != nil {
		if err := e.close(); err != nil {
			return refusal(err)
		}
	}
	store, err := s.store(ctx, "")
	if err != nil {
		return refusal(err)
	}
	if !sessionstore.OfAllFolders(store, s.flags.Place()) {
		_, found, ok := sessionstore.FindInOtherProjects(ctx, s.h, id)
		if !ok {
			return nil
		}
		store = found
	}
	if err := session.Delete(ctx, store, id); err != nil && !errors.Is(err, session.ErrNotFound) {
		return refusal(err)
	}
	return refusal(app.DropCheckpoints(ctx, s.h, parts.CheckpointName(store, id)))
}
