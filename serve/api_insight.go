package serve

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// folding calls use with the view of the session of a call.
func (s *Server) folding(c *call, use func(*folded)) error {
	l := s.live(c.place())
	defer l.leave()
	return l.fold(c.ctx(), use)
}

// A todoList is the model's list of steps.
type todoList struct {
	Todos []view.Todo `json:"todos"`
}

func todos(s *Server, c *call) (any, error) {
	out := todoList{Todos: []view.Todo{}}
	err := s.folding(c, func(f *folded) { out.Todos = append(out.Todos, f.state.Todos...) })
	return out, err
}

// An agentInfo is a piece of work of a sub-agent.
type agentInfo struct {
	Session string          `json:"session"` // its own
	Agent   string          `json:"agent"`   // its name
	Call    string          `json:"call,omitempty"`
	Begun   time.Time       `json:"begun"`
	Reason  event.EndReason `json:"reason,omitempty"` // "": it works
	Message string          `json:"message,omitempty"`
	Turns   int             `json:"turns,omitempty"`
	Usage   llm.Usage       `json:"usage"`
	USD     *float64        `json:"usd"`
	Took    time.Duration   `json:"duration,omitempty"`
}

// An agentList has the sub-agents of a session, in the order of their starts.
type agentList struct {
	Agents []agentInfo `json:"agents"`
}

func agents(s *Server, c *call) (any, error) {
	out := agentList{Agents: []agentInfo{}}
	err := s.folding(c, func(f *folded) {
		for _, it := range f.state.Agents {
			a := it.Data.(*view.Agent)
			info := agentInfo{Session: a.Start.Session, Agent: a.Start.Agent, Call: a.Start.Call, Begun: it.Time, Usage: a.View.Usage}
			if e := a.End; e != nil {
				info.Reason, info.Message, info.Turns, info.Usage, info.USD, info.Took = e.Reason, e.Message, e.Turns, e.Usage, e.CostUSD, e.Duration
			}
			out.Agents = append(out.Agents, info)
		}
	})
	return out, err
}

// A fileInfo is a file that calls of the session read or changed.
type fileInfo struct {
	fileUse
	Diffs []string `json:"diffs,omitempty"` // of the calls that changed it, in order
}

// A fileList has files, those that were changed first.
type fileList struct {
	Files []fileInfo `json:"files"`
}

func files(s *Server, c *call) (any, error) {
	since, err := c.number("since", 0)
	if err != nil {
		return nil, err
	}
	out := fileList{Files: []fileInfo{}}
	err = s.folding(c, func(f *folded) {
		out.Files = append(out.Files, filesSince(f.state, since, c.r.URL.Query().Get("diff") == "true")...)
	})
	return out, err
}

// filesSince returns the files that calls after a fact have read or changed.
func filesSince(state *view.State, since int64, diffs bool) []fileInfo {
	var t tally
	texts := map[string][]string{}
	var visit func(items []*view.Item)
	visit = func(items []*view.Item) {
		for _, it := range items {
			switch d := it.Data.(type) {
			case *view.Call:
				if d.Result != nil && d.ResultSeq > since {
					t.calls = map[string]calledTool{d.ID: {d.Use.Name, inputPath(d.Input())}}
					t.result(event.Event{Seq: d.ResultSeq}, *d.Result)
					if diffs && !d.Result.Result.IsError {
						for _, ch := range changesIn(d.Result.Result.Details, inputPath(d.Input())) {
							texts[ch.path] = append(texts[ch.path], ch.diff)
						}
					}
				}
				visit(d.Items)
			case *view.Agent:
				if it.Seq > since || since == 0 {
					for i := range d.View.Items { // the numbers of its facts are its own
						if c, ok := d.View.Items[i].Data.(*view.Call); ok && c.Result != nil {
							copied := *c
							copied.ResultSeq, copied.Items = max(it.Seq, since+1), nil
							visit([]*view.Item{{Data: &copied}})
						}
					}
				}
			}
		}
	}
	visit(state.Items)
	var list []fileInfo
	for _, f := range t.fileList() {
		list = append(list, fileInfo{f, texts[f.Path]})
	}
	return list
}

// A modelList has the models with known properties, and those that sessions used.
type modelList struct {
	Models []modelInfo `json:"models"`
}

type modelInfo struct {
	Name     string     `json:"name"`
	Provider string     `json:"provider,omitempty"`
	Window   int        `json:"window,omitempty"`
	Price    *llm.Price `json:"price,omitempty"`
	Used     bool       `json:"used"` // a session of the user has it
}

func models(s *Server, c *call) (any, error) {
	infos, err := s.store(c.user).List(c.ctx())
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, info := range infos {
		if info.Model != "" {
			used[info.Model] = true
		}
	}
	out := modelList{Models: []modelInfo{}}
	for _, e := range (*catalog.Table)(nil).Entries() {
		out.Models = append(out.Models, modelInfo{e.Name, e.Provider, e.Window, e.Price, used[e.Name]})
		delete(used, e.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out.Models = append(out.Models, modelInfo{Name: name, Used: true})
	}
	return out, nil
}

// A toolList has the tools that a session's last prompt began with.
type toolList struct {
	Tools []toolInfo `json:"tools"`
}

type toolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       any    `json:"input_schema"`
	ReadOnly    bool   `json:"read_only"`
	Deferred    bool   `json:"deferred"` // the model sees it once a search has found it
}

func toolsOf(s *Server, c *call) (any, error) {
	id := c.r.URL.Query().Get("session")
	if id == "" {
		return nil, bad("name a session: its last prompt says which tools there are")
	}
	if err := session.CheckID(id); err != nil {
		return nil, err
	}
	if s.Session != nil && id != s.Session.ID {
		return nil, session.ErrNotFound
	}
	out := toolList{Tools: []toolInfo{}}
	l := s.live(place{c.user, id})
	defer l.leave()
	err := l.fold(c.ctx(), func(f *folded) {
		if f.config == nil {
			return
		}
		for _, t := range f.config.Tools {
			out.Tools = append(out.Tools, toolInfo{t.Name, t.Description, t.Input, t.ReadOnly, t.Deferred})
		}
	})
	return out, err
}

// A rewinding says what is brought back, and to where.
type rewinding struct {
	Fact int64  `json:"fact"`           // after which things are to be as they were
	What string `json:"what,omitempty"` // conversation, files or both; "": conversation
	Dry  bool   `json:"dry_run,omitempty"`
}

// A rewound session says what has changed, or would change.
type rewound struct {
	Dry     bool         `json:"dry_run"`
	Undo    int64        `json:"undo,omitempty"` // rewinding to this fact takes it back
	Changes []fileChange `json:"changes"`        // of files
}

// A fileChange is a change that a rewind makes.
type fileChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // added, deleted, changed or mode
	Diff string `json:"diff,omitempty"`
}

func rewind(s *Server, c *call) (any, error) {
	var in rewinding
	if err := c.read(&in); err != nil {
		return nil, err
	}
	return s.rewind(c, in)
}

// rewind brings the files and the conversation of a session back, files first: they may be missing.
func (s *Server) rewind(c *call, in rewinding) (*rewound, error) {
	what := cmp.Or(in.What, "conversation")
	if !slices.Contains([]string{"conversation", "files", "both"}, what) {
		return nil, bad("what must be conversation, files or both")
	}
	if in.Fact < 0 {
		return nil, bad("fact must be the number of a fact")
	}
	l := s.live(c.place())
	defer l.leave()
	var open *agent.Session
	var err error
	if s.Workers == nil {
		open, err = l.use(c.ctx())
	} else if err = l.mayRewind(c.ctx()); err == nil && what != "conversation" {
		err = errFarFiles
	}
	if err != nil {
		return nil, err
	}
	last, err := l.lastFact(c.ctx())
	if err != nil {
		return nil, err
	}
	if in.Fact > last {
		return nil, session.ErrNotFound
	}
	out := &rewound{Dry: in.Dry, Changes: []fileChange{}}
	if what != "conversation" {
		list, err := s.rewindFiles(c.ctx(), l, open, in)
		if err != nil {
			return nil, err
		}
		for _, ch := range list {
			out.Changes = append(out.Changes, fileChange{ch.Path, ch.Kind, ch.Diff})
		}
	}
	if in.Dry {
		return out, nil
	}
	out.Undo = last
	if what != "files" {
		if s.Workers != nil {
			err = l.command(c.ctx(), durable.Rewind{To: in.Fact})
		} else {
			err = rewindTo(c.ctx(), open, in.Fact)
		}
		if err != nil {
			return nil, err
		}
	}
	s.log().Info("session rewound", "session", l.at.id, "fact", in.Fact, "what", what, "by", c.by)
	return out, nil
}

// rewindFiles brings files back, or only says what that would change.
func (s *Server) rewindFiles(ctx context.Context, l *live, open *agent.Session, in rewinding) ([]checkpoint.Change, error) {
	if s.Restore == nil {
		return nil, &Error{http.StatusConflict, "no_checkpoints", "this server keeps no checkpoints of files", "rewind the conversation alone"}
	}
	at := Place{User: l.at.user, ID: l.at.id}
	var list []checkpoint.Change
	var err error
	if in.Dry {
		var id string
		if id, err = open.CheckpointBefore(ctx, in.Fact); err == nil && id != "" {
			list, err = s.Restore(ctx, at, id, nil)
		}
	} else {
		err = open.RewindFiles(ctx, in.Fact, func(ctx context.Context, id string, record func(string) error) error {
			list, err = s.Restore(ctx, at, id, record)
			return err
		})
	}
	switch {
	case errors.Is(err, checkpoint.ErrNotFound), errors.Is(err, agent.ErrNoCheckpoint):
		return nil, &Error{http.StatusConflict, "no_checkpoint", "the files of that time are not kept here, or not any more; another machine may have them where the session was at work", "rewind the conversation alone"}
	case err != nil:
		return nil, err
	}
	return list, nil
}
