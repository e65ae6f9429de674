package streamjson

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/claudelog"
	"github.com/openagent-go/agent/session"
)

// A mirror writes lines that hold the entries of the session's file as Claude Code would write it.
// The Claude Agent SDK passes them to a store of its user's. A nil mirror writes none.
type mirror struct {
	put     func(any)
	read    func(after int64) iter.Seq2[event.Event, error] // facts of the session
	header  session.Header
	session string
	path    string
	secrets []string
	files   map[string]*mirroredFile // by session; "" is the main one
	reading bool                     // the past is read, which the host's store has
	forked  bool                     // it does not have it: this start made the session from another one
}

// A mirroredFile is the file of a session or of a sub-agent.
type mirroredFile struct {
	path  string
	lines *claudelog.Lines
	last  int64 // the number of the latest fact
	begun bool  // of a sub-agent: an entry says what it is
}

// mirrorLine is the line transcript_mirror. It has no id.
type mirrorLine struct {
	Type    string            `json:"type"`
	Path    string            `json:"filePath"`
	Entries []json.RawMessage `json:"entries"`
}

func newMirror(ctx context.Context, h *cli.IO, s *app.App, put func(any)) (*mirror, error) {
	config, err := sessionstore.ClaudeDir(h)
	if err != nil {
		return nil, err
	}
	path, err := claudelog.Path(config, s.Project, s.Session.ID)
	if err != nil {
		return nil, err
	}
	read := func(after int64) iter.Seq2[event.Event, error] { return s.Store.Read(ctx, s.Session.ID, after) }
	return &mirror{put: put, read: read, header: session.Header{Dir: s.Project}, session: s.Session.ID, path: path, secrets: h.Secrets, files: map[string]*mirroredFile{}, forked: s.Options.Fork}, nil
}

// past has the mirror pass over the facts that follow, until the function that it returns is called.
// In a session that this start has forked they count as new.
func (m *mirror) past() func() {
	if m == nil {
		return func() {}
	}
	put := m.put
	m.reading = true
	var held []any
	m.put = func(line any) { held = append(held, line) }
	return func() {
		m.reading, m.put = false, put
		for _, line := range held {
			put(line)
		}
	}
}

// add writes the entries of a fact that a report has got, and of those that were recorded outside of
// a run since the one before it, such as a title.
func (m *mirror) add(r *Report, e event.Event) {
	if _, fact := e.Data.(event.Fact); m == nil || !fact {
		return
	}
	f := m.file(r, e)
	if r.parent == nil && e.Seq > f.last+1 && !m.reading {
		for missed, err := range m.read(f.last) {
			if err != nil {
				r.say("the session's mirror: %v", err)
			}
			if err != nil || missed.Seq >= e.Seq {
				break
			}
			m.write(r, f, missed)
		}
	}
	m.write(r, f, e)
}

// write writes the entries of a fact.
func (m *mirror) write(r *Report, f *mirroredFile, e event.Event) {
	f.last = e.Seq
	entries, err := f.lines.Add(e)
	if err != nil {
		r.say("the session's mirror: %v", err)
	}
	if named, ok := e.Data.(event.SessionNamed); ok && r.parent == nil {
		entries = append(entries, claudelog.Names(m.session, named, claudelog.Hidden(m.secrets))...)
	}
	if len(entries) == 0 || m.reading && !m.forked {
		return
	}
	if r.parent != nil && !f.begun {
		f.begun = true
		about, err := json.Marshal(map[string]string{"type": "agent_metadata", "agentType": r.agent, "toolUseId": *r.parent})
		if err == nil {
			entries = append([]json.RawMessage{about}, entries...)
		}
	}
	m.put(mirrorLine{"transcript_mirror", f.path, entries})
}

// file returns the file of a report's session.
func (m *mirror) file(r *Report, e event.Event) *mirroredFile {
	id, path := "", m.path
	if r.parent != nil {
		id, path = e.Session, claudelog.AgentPath(m.path, e.Session)
	}
	f := m.files[id]
	if f != nil {
		return f
	}
	f = &mirroredFile{path: path, lines: claudelog.NewLines(m.session, id, m.header, claudelog.Hidden(m.secrets))}
	m.files[id] = f
	return f
}
