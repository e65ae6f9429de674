package project

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
)

const (
	// gitWait is how long the first prompt of a session waits for git's state. A later
	// state is added to a later prompt.
	gitWait = 250 * time.Millisecond
	// gitFresh is the age up to which git's state serves another session.
	gitFresh = time.Minute
	// maxServed bounds the sessions and folders that Notes remembers.
	maxServed = 10_000
)

// Notes tells a model about its folder: files of instructions, and once in a session git's
// state. Its Context is that of any number of agents and sessions:
//
//	notes := new(project.Notes)
//	defer notes.Close()
//	a := &agent.Agent{Model: model, Context: notes.Context}
//
// The model gets the user's files, then those from the root of the repository down to the
// working directory. It gets those of a folder below when a call touches a file there. A
// changed file is passed on again. A file that permissions hide is not read. The zero value
// reads only files of the project.
type Notes struct {
	// Home is the folder of the user's own AGENTS.md. UserHome is the folder with
	// .claude/CLAUDE.md. "": none.
	Home, UserHome string
	// NoProject leaves out the project's files and git's state. Set it for a project that
	// you do not trust.
	NoProject bool

	going sync.WaitGroup
	mu    sync.Mutex // guards the rest
	ctx   context.Context
	stop  context.CancelFunc
	// closed: git is not asked any more.
	closed bool
	states map[string]*gitState // by folder
	served map[string]bool      // sessions that have asked for git's state
	loaded []string             // files
}

// A gitState is git's state in a folder. It is valid once done is closed.
type gitState struct {
	done  chan struct{}
	began time.Time
	text  string
}

// Context returns notes on files of instructions, and on git's state. It is for
// [agent.Agent].Context.
func (n *Notes) Context(ctx context.Context, at agent.Place) []agent.Note {
	state := n.git(at.Session, at.Dir)
	where := n.place(at)
	var files []File
	if at.Start {
		files = where.load()
	}
	files = append(files, where.nested(at.Touched)...)
	var notes []agent.Note
	for _, f := range files {
		notes = append(notes, f.note())
	}
	n.keep(files)
	if at.Start {
		select {
		case <-state.done:
		case <-time.After(gitWait):
		case <-ctx.Done():
		}
	}
	select {
	case <-state.done:
		if state.text != "" {
			notes = append(notes, agent.Note{ID: "git", Text: state.text})
		}
	default:
	}
	return notes
}

// note returns the note on a file, with the files that it imports.
func (f File) note() agent.Note {
	n := agent.Note{ID: f.Path + "#" + f.sum(), Text: f.noteText()}
	if f.Problem == nil {
		n.Files = []event.Instructions{{File: f.Path, Type: f.Kind, Reason: f.reason}}
	}
	for _, path := range f.imports {
		n.Files = append(n.Files, event.Instructions{File: path, Type: f.Kind, Reason: "include"})
	}
	return n
}

// keep remembers the files that the model gets.
func (n *Notes) keep(files []File) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range files {
		if f.Problem == nil && !slices.Contains(n.loaded, f.Path) && len(n.loaded) < maxServed {
			n.loaded = append(n.loaded, f.Path)
		}
	}
}

// Load returns the files that the model gets at the start of a session: the user's, then
// those from the root of the repository down to at.Dir. It needs only Dir and Hides of the
// place. A file that cannot be read has a Problem.
func (n *Notes) Load(at agent.Place) []File { return n.place(at).load() }

// Loaded returns the paths of the files that Context has returned notes on.
func (n *Notes) Loaded() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.loaded)
}

// Prepare begins to read git's state in a folder, so that the first prompt need not wait.
func (n *Notes) Prepare(dir string) { n.git("", dir) }

// Close ends the programs that Context has started. Without Close they end by themselves,
// after 5 seconds at most.
func (n *Notes) Close() {
	n.mu.Lock() // nothing starts after this
	n.closed = true
	if n.stop != nil {
		n.stop()
	}
	n.mu.Unlock()
	n.going.Wait()
}

func (n *Notes) place(at agent.Place) place {
	return place{dir: at.Dir, home: n.Home, userHome: n.UserHome, noProject: n.NoProject, hides: at.Hides}
}

// git returns git's state in a folder as of the session's first call.
func (n *Notes) git(session, dir string) *gitState {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.states == nil || len(n.states) > maxServed || len(n.served) > maxServed {
		n.states, n.served = map[string]*gitState{}, map[string]bool{}
	}
	s := n.states[dir]
	old := s == nil || session != "" && !n.served[session] && time.Since(s.began) > gitFresh
	if session != "" {
		n.served[session] = true
	}
	if !old {
		return s
	}
	s = &gitState{done: make(chan struct{}), began: time.Now()}
	n.states[dir] = s
	if n.NoProject || n.closed {
		close(s.done)
		return s
	}
	if n.ctx == nil {
		n.ctx, n.stop = context.WithCancel(context.Background())
	}
	ctx := n.ctx
	n.going.Go(func() {
		defer close(s.done)
		s.text = describeGit(ctx, dir)
	})
	return s
}
