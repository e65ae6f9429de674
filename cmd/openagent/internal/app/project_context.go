package app

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/project"
)

const (
	projectContextKey = "projectContext"
	// gitPatience is how long the first prompt waits for git's state. A later answer is added to a
	// later prompt.
	gitPatience = 250 * time.Millisecond
)

// A ProjectContext collects notes about the working folder for runs: instruction files and git's
// state.
type ProjectContext struct {
	home, userHome string
	noProject      bool
	ctx            context.Context
	cancel         context.CancelFunc
	going          sync.WaitGroup

	mu     sync.Mutex
	states map[string]*gitState // by folder
	loaded []string             // files
}

// A gitState is git's state in a folder. It is valid once done is closed.
type gitState struct {
	done chan struct{}
	text string
}

// AddProjectContext adds the project context to the agent, unless the settings disable it.
func AddProjectContext(h *cli.IO, s *App) {
	if o := s.Options; o.Settings != nil {
		on := true
		if o.Settings.Decode(projectContextKey, &on); !on {
			return
		}
	}
	b := NewProjectContext(h, s.Options)
	s.projectContext, s.Agent.Context = b, b.notes
	for _, f := range b.Place(agent.Place{Dir: s.Project}).Load() {
		if f.Problem != nil {
			h.Warn("the instruction file %s is left out: %v", f.Path, f.Problem)
		}
	}
	b.git(s.Project) // reads git's state while the rest starts
}

// NewProjectContext returns the project context that the options ask for.
func NewProjectContext(h *cli.IO, o *settings.Options) *ProjectContext {
	b := &ProjectContext{states: map[string]*gitState{}, noProject: o.Layers != nil && !slices.Contains(o.Layers, string(config.Project))}
	if o.Layers == nil || slices.Contains(o.Layers, string(config.User)) {
		b.home, _ = h.Home()
		b.userHome, _ = os.UserHomeDir()
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Close stops reading git's state.
func (b *ProjectContext) Close() {
	b.mu.Lock() // no new reads start after this
	b.cancel()
	b.mu.Unlock()
	b.going.Wait()
}

// Place returns the folder in which project files are searched.
func (b *ProjectContext) Place(at agent.Place) project.Place {
	return project.Place{Dir: at.Dir, Home: b.home, UserHome: b.userHome, NoProject: b.noProject, Hides: at.Hides}
}

// notes returns notes on instruction files, and once on git's state.
func (b *ProjectContext) notes(ctx context.Context, at agent.Place) []agent.Note {
	state := b.git(at.Dir)
	place := b.Place(at)
	var files []project.File
	if at.Start {
		files = place.Load()
	}
	files = append(files, place.Nested(at.Touched)...)
	var notes []agent.Note
	for _, f := range files {
		n := agent.Note{ID: f.Path + "#" + f.Sum(), Text: f.Note()}
		if f.Problem == nil {
			n.Files = []event.Instructions{{File: f.Path, Type: f.Kind, Reason: f.Reason}}
		}
		for _, path := range f.Imports {
			n.Files = append(n.Files, event.Instructions{File: path, Type: f.Kind, Reason: "include"})
		}
		notes = append(notes, n)
	}
	b.mu.Lock()
	for _, f := range files {
		if f.Problem == nil && !slices.Contains(b.loaded, f.Path) {
			b.loaded = append(b.loaded, f.Path)
		}
	}
	b.mu.Unlock()
	if at.Start {
		select {
		case <-state.done:
		case <-time.After(gitPatience):
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

// git returns git's state in a folder as of the first call.
func (b *ProjectContext) git(dir string) *gitState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.states[dir]; s != nil {
		return s
	}
	s := &gitState{done: make(chan struct{})}
	b.states[dir] = s
	if b.noProject || b.ctx.Err() != nil {
		close(s.done)
		return s
	}
	b.going.Go(func() {
		defer close(s.done)
		s.text = project.Git(b.ctx, dir)
	})
	return s
}

// InstructionFiles returns the instruction files passed to the model so far.
func (s *App) InstructionFiles() []string {
	files := []string{}
	if s.projectContext != nil {
		s.projectContext.mu.Lock()
		defer s.projectContext.mu.Unlock()
		files = append(files, s.projectContext.loaded...)
	}
	return files
}
