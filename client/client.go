// Package client drives a program that speaks stream-json: the command openagent, or Claude
// Code. The program runs the agent in a process of its own; your Go program sends prompts,
// reads messages, decides about calls, and lends hooks and tools.
//
//	s, err := client.Start(ctx, client.Options{Mode: permission.Plan})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	for m, err := range s.Prompt(ctx, "What does this project do?") {
//		if err != nil {
//			return err
//		}
//		fmt.Print(m.Text())
//	}
//
// Callbacks and hooks have the types of the library, so the same functions serve an
// agent.Agent of your own process and the program. To run an agent within your process, use
// package agent or coder instead.
//
// The program is not trusted: its lines are bounded and checked, and a line that cannot be
// read ends it.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// Options configure a [Session]. The zero value drives openagent in the working directory.
type Options struct {
	// Command is the program, looked up in PATH, and its first arguments. Nil: openagent.
	Command []string
	// Args are further arguments, such as "--max-turns", "5".
	Args   []string
	Dir    string    // where the program works; "" is the working directory
	Env    []string  // its whole environment, "NAME=value"; nil: that of the process
	Stderr io.Writer // gets its error output and must not block; nil: errors quote the end of it

	Model  string          // "": the program's own choice
	Mode   permission.Mode // "": default, or what the settings say
	Resume string          // id of a session to continue
	Fork   bool            // continue a copy of it
	// SystemPrompt replaces the program's system prompt. "" keeps it.
	SystemPrompt string
	// Partial asks for messages of type stream_event, with text as it arrives.
	Partial bool

	// CanUseTool decides about calls that need a person's permission; the verdict is the
	// reason for the question. It has the type of agent.Agent.CanUseTool. Nil, an error, a
	// panic and the zero Decision deny the call.
	CanUseTool func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error)
	// Permit takes the place of CanUseTool. It sees updates that would permit calls like this
	// one, as the program suggests them. With an allowance it returns those to make, for the
	// rest of the session.
	Permit func(ctx context.Context, call tool.Call, verdict permission.Decision, suggested []hook.Update) (permission.Decision, []hook.Update, error)
	// AskUser answers the questions of tools, as agent.Agent.AskUser does. Nil: they go to
	// CanUseTool, as calls of AskUserQuestion.
	AskUser func(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error)
	// Hooks are called at the program's events. One that guards an action and fails, panics
	// or is late blocks it, as in the library.
	Hooks []hook.Hook
	// Tools run in this process. The program sees those of a name as an MCP server, and its
	// model as mcp__NAME__TOOL.
	Tools map[string][]tool.Tool
	// Initialize holds further members of the request initialize, such as "agents".
	Initialize map[string]any
}

const (
	initializing = time.Minute // for the answer to initialize
	// Times of Close: for the program to end by itself, to end once it was asked to, and
	// for callbacks to return.
	leaving   = 2 * time.Second
	stopping  = 5 * time.Second
	returning = 5 * time.Second
	// lateness is how much longer than we the program waits for a hook: our answer says
	// what the failure means.
	lateness = 5 * time.Second
	// defaultTimeout is that of hooks without a Timeout.
	defaultTimeout = time.Minute
)

// Start starts the program and waits until it has accepted the options. When ctx ends, the
// program and everything that it has started are ended.
func Start(ctx context.Context, o Options) (*Session, error) {
	s, err := newSession(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("starting a client: %w", err)
	}
	if err := s.launch(); err != nil {
		s.cancel(err)
		return nil, fmt.Errorf("starting a client: %w", err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, initializing, fmt.Errorf("no answer within %v; is it a program that speaks stream-json?", initializing))
	defer cancel()
	if err := s.Control(limited, "initialize", s.initialization(), nil); err != nil {
		if ended := s.ending(); ended != nil {
			err = ended
		}
		s.cancel(err)
		<-s.done
		s.rest()
		return nil, fmt.Errorf("starting a client of %s: %w", s.args()[0], err)
	}
	return s, nil
}

// newSession checks the options.
func newSession(ctx context.Context, o Options) (*Session, error) {
	o.Command, o.Args, o.Env, o.Hooks = slices.Clone(o.Command), slices.Clone(o.Args), slices.Clone(o.Env), slices.Clone(o.Hooks)
	o.Tools, o.Initialize = maps.Clone(o.Tools), maps.Clone(o.Initialize)
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	s := &Session{o: o, parent: ctx, calls: map[string]chan response{}, asked: map[string]context.CancelFunc{}, servers: map[string]*toolServer{},
		input: newFeed(), changed: make(chan struct{}, 1), reading: make(chan struct{}, 1), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	for i, h := range o.Hooks {
		h.Match = "" // the program has matched
		set, err := hookrun.Compile([]hook.Hook{h})
		if err != nil {
			return nil, fmt.Errorf("hook %d: %w", i, err)
		}
		s.hooks = append(s.hooks, set)
	}
	if _, err := hookrun.Compile(o.Hooks); err != nil {
		return nil, err
	}
	for name, tools := range o.Tools {
		served, err := server.New(server.Options{Name: name, Tools: tools, Dir: o.Dir})
		if err != nil {
			return nil, fmt.Errorf("Options.Tools: %w", err)
		}
		s.servers[name] = newToolServer(s, name, served)
	}
	if o.CanUseTool != nil && o.Permit != nil {
		return nil, errors.New("Options.Permit takes the place of Options.CanUseTool; set one of them")
	}
	if o.Fork && o.Resume == "" {
		return nil, errors.New("Options.Fork copies the session of Options.Resume; set that")
	}
	return s, nil
}

// args are the program and its arguments.
func (s *Session) args() []string {
	o := s.o
	args := slices.Clone(o.Command)
	if len(args) == 0 {
		args = []string{"openagent"}
	}
	args = append(args, "--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
	for _, f := range []struct{ name, value string }{{"--model", o.Model}, {"--permission-mode", string(o.Mode)}, {"--resume", o.Resume}} {
		if f.value != "" {
			args = append(args, f.name, f.value)
		}
	}
	if o.Fork {
		args = append(args, "--fork-session")
	}
	if o.Partial {
		args = append(args, "--include-partial-messages")
	}
	if o.CanUseTool != nil || o.Permit != nil || o.AskUser != nil {
		args = append(args, "--permission-prompt-tool", "stdio")
	}
	return append(args, o.Args...)
}

// launch starts the process.
func (s *Session) launch() error {
	env := s.o.Env
	if env == nil {
		env = os.Environ()
	}
	s.space = &workspace.Workspace{Root: s.o.Dir}
	var err error
	s.process, err = s.space.Start(s.ctx, workspace.Command{Args: s.args(), Env: env, Input: s.input, Output: &lines{take: s.take, tooLong: s.fail},
		Errors: (*stderr)(s), Grace: stopping})
	if err != nil {
		return err
	}
	for _, v := range s.servers {
		v.start()
	}
	go s.live()
	return nil
}

// live waits for the end of the process.
func (s *Session) live() {
	s.exit = s.process.Wait()
	s.cancel(errEnded)
	for _, v := range s.servers {
		v.in.Close()
	}
	s.input.Close()
	_ = s.space.Close() // nothing of it is left
	close(s.done)
}

// initialization holds the members of the request initialize.
func (s *Session) initialization() map[string]any {
	members := map[string]any{}
	if s.o.SystemPrompt != "" {
		members["systemPrompt"] = []string{s.o.SystemPrompt}
	}
	type matcher struct {
		Matcher   string   `json:"matcher,omitempty"`
		IDs       []string `json:"hookCallbackIds"`
		Timeout   int      `json:"timeout"` // seconds
		OnFailure string   `json:"onFailure,omitempty"`
	}
	hooks := map[hook.Event][]matcher{}
	for i, h := range s.o.Hooks {
		m := matcher{Matcher: h.Match, IDs: []string{hookID(i)}, Timeout: int((hookTimeout(h) + lateness + time.Second - 1) / time.Second)}
		if hookrun.Guards(h.On) {
			m.OnFailure = "block"
		}
		hooks[h.On] = append(hooks[h.On], m)
	}
	if len(hooks) > 0 {
		members["hooks"] = hooks
	}
	if len(s.servers) > 0 {
		members["sdkMcpServers"] = slices.Sorted(maps.Keys(s.servers))
	}
	maps.Copy(members, s.o.Initialize)
	return members
}

func hookTimeout(h hook.Hook) time.Duration {
	if h.Timeout > 0 {
		return h.Timeout
	}
	return defaultTimeout
}

func hookID(i int) string { return fmt.Sprintf("hook_%d", i) }

// withMember returns a JSON object with one more member.
func withMember(object json.RawMessage, name string, value any) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if s := strings.TrimSpace(string(object)); s != "" && s != "null" {
		if err := json.Unmarshal(object, &members); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	members[name] = data
	return json.Marshal(members)
}
