//go:build linux

package pairs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// A world is a folder in which a scenario runs: a git repository, a session, and files
// that nobody may change or read.
type world struct {
	dir      string // of everything
	features features
	begun    string // the files of the main tree, as they were
}

func (w *world) project() string  { return filepath.Join(w.dir, "project") }
func (w *world) outside() string  { return filepath.Join(w.dir, "outside") }
func (w *world) sessions() string { return filepath.Join(w.dir, "sessions") }

// memory is the folder of entries. It has one from an earlier session.
func (w *world) memory() *memory.Store { return memory.Open(w.project(), memory.ProjectFolder) }

const (
	secret   = "TOPSECRET"
	tripwire = "untouched"
	mainID   = "s"

	agentModel  = "claude-sonnet-4-6"
	optionModel = "claude-haiku-4-5" // of a prompt with options
	person      = "a person elsewhere"
)

// agent makes the agent of the scenario. done closes what it works with.
func (w *world) agent(models func(name string) (llm.Model, error)) (a *agent.Agent, done func() error, err error) {
	on := w.features.has
	ws := &workspace.Workspace{Root: w.project()}
	closers := []func() error{ws.Close}
	done = func() error {
		var failed error
		for _, c := range closers {
			if err := c(); err != nil && failed == nil {
				failed = err
			}
		}
		return failed
	}
	model, err := models(agentModel)
	if err != nil {
		return nil, done, err
	}
	a = &agent.Agent{Model: model, Models: models, Dir: w.project(), Sessions: session.Dir(w.sessions()), AwaitAgents: true, Program: "pairs",
		Permissions: permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"Read(denied.txt)", permission.Rule("Edit(/" + w.outside() + "/**)")}}}
	if on("sandbox") {
		box, err := sandbox.New(sandbox.Settings{Enabled: true, DeniedPaths: []string{"hidden"}}, sandbox.Place{Dir: w.project()})
		if err != nil {
			return nil, done, err
		}
		ws.Confine = box.Confiner()
		a.Deciders = append(a.Deciders, box)
		closers = append(closers, box.Close)
	}
	manager := &subagent.Manager{Worktrees: ws}
	enter, exit := tools.PlanMode()
	a.Tools = append(tools.Core(ws), tools.Agent(manager), tools.Batch(), enter, exit, tools.EnterWorktree(ws))
	a.Tools = append(a.Tools, tool.Func(tool.Spec{Name: "Deploy", Description: "Deploys.", NeedsApproval: tool.AskAlways("it deploys")},
		func(_ context.Context, in markInput) (string, error) {
			return "deployed", mark(filepath.Join(w.outside(), filepath.Base(in.File)))
		}))
	if on("skill") {
		skills := skill.New(skill.BuiltIn(w.project())...)
		skills.Discover(skill.Folders("", w.project()))
		a.Tools = append(a.Tools, tools.Skill(skills))
	}
	if on("MCP") {
		self, err := os.Executable()
		if err != nil {
			return nil, done, err
		}
		servers := mcp.New(map[string]mcp.Config{"marks": {Command: self, Env: map[string]string{serverDir: w.outside()}, AlwaysLoad: true}}, mcp.Options{Workspace: ws})
		closers = append([]func() error{servers.Close}, closers...)
		a.Toolsets = []tool.Set{servers}
	}
	if on("hook") {
		a.Hooks = []hook.Hook{{On: hook.PreToolUse, Func: changeInput}}
	}
	if on("memory") {
		m := &memory.Memory{Stores: []memory.Named{{Name: "project", Store: w.memory()}}}
		a.Context, a.Tools = m.Context, append(a.Tools, m.Tool())
	}
	kept := &checkpoint.Store{Dir: filepath.Join(w.dir, "checkpoints")}
	if on("rewind") {
		a.Checkpoint = func(ctx context.Context, at agent.CheckpointPlace) (string, error) {
			c, err := kept.Take(ctx, checkpoint.Mark{Session: at.Session, Seq: at.Prompt}, at.Roots...)
			return c.ID, err
		}
	}
	a.CanUseTool = func(_ context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
		switch {
		case call.Name == "Deploy":
			return permission.Defer(), nil
		case verdict.Behavior == permission.Asked:
			return permission.Allow(), nil
		case on("defer") && call.Agent == "" && strings.Contains(string(call.Input), "count-2"):
			return permission.Defer(), nil
		}
		return permission.Decision{}, nil
	}
	return a, done, nil
}

// changeInput is a hook that replaces what the model wrote: a call that runs as the model
// wrote it leaves a file raw-N.
func changeInput(_ context.Context, in *hook.Input) (hook.Output, error) {
	if !strings.Contains(string(in.Input), "raw-") {
		return hook.Output{}, nil
	}
	return hook.Output{Input: json.RawMessage(strings.ReplaceAll(string(in.Input), "raw-", "count-"))}, nil
}

// serverDir makes the test binary an MCP server whose tool leaves marks in a folder.
const serverDir = "PAIRS_SERVER_DIR"

type markInput struct {
	File string `json:"file"`
}

func serveMarks(dir string) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "marks", Version: "1.0.0"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "mark", Description: "Leaves a mark."},
		func(_ context.Context, _ *sdk.CallToolRequest, in markInput) (*sdk.CallToolResult, any, error) {
			text := "marked"
			if err := mark(filepath.Join(dir, filepath.Base(in.File))); err != nil {
				return nil, nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
	return server.Run(context.Background(), &sdk.StdioTransport{})
}

func mark(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString("x\n"); err != nil {
		return err
	}
	return f.Close()
}

// A mortal store kills the program before an append, the nth of all sessions.
type mortal struct {
	session.Store
	left *int
}

func (m mortal) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	log, err := m.Store.Open(ctx, id, h)
	return mortalLog{log, m.left}, err
}

// Under keeps the sessions of agents beside that of the one they work for.
func (m mortal) Under(id string) session.Store { return mortal{session.Under(m.Store, id), m.left} }

type mortalLog struct {
	session.Log
	left *int
}

func (l mortalLog) Append(ctx context.Context, after int64, sync bool, es ...event.Event) error {
	if *l.left--; *l.left == 0 {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return l.Log.Append(ctx, after, sync, es...)
}

// models are models that a strict server in memory answers.
func models(server *llmtest.Server) func(name string) (llm.Model, error) {
	client := &anthropic.Client{BaseURL: server.URL, HTTP: server.Client(), APIKey: "k"}
	return func(name string) (llm.Model, error) { return client.Model(name), nil }
}

// strict collects what a scenario does wrong.
type strict struct {
	errs     []string
	cleanups []func()
}

func (s *strict) Helper()           {}
func (s *strict) Cleanup(fn func()) { s.cleanups = append(s.cleanups, fn) }
func (s *strict) Errorf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Sprintf(format, args...))
}
func (s *strict) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
