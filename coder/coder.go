// Package coder builds a complete coding agent: tools on a folder, a shell in a sandbox, permissions,
// instructions, sub-agents, skills, MCP servers, hooks and checkpoints. It is the agent of the command
// openagent.
//
//	c, err := coder.New(ctx, coder.Options{Dir: ".", Model: "anthropic/claude-sonnet-4-6", Sandbox: coder.Require})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	res, err := c.Prompt(ctx, "Make the tests pass.")
//
// # Trust
//
// Files of the project and of plugins may name programs that run by themselves, or loosen
// permissions: settings, hooks, MCP servers, sub-agents, skills and tools. They count only if
// [Options].Trust trusts them. Its zero value trusts nothing. AGENTS.md and CLAUDE.md are texts: the
// model gets them without trust, and permissions and the sandbox apply regardless of what they say. Settings of
// a project that only restrict count without trust, too.
//
// # Permissions
//
// Without a function CanUseTool, calls that need a person's permission are refused. In a sandbox,
// commands need none. Set Agent.Permissions.Mode to permission.AcceptEdits to let the agent change
// files in the folder.
package coder

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/workspace"
)

// A Coder is a coding agent with everything that it works with. You may change its Agent before you
// make a session. Close it after the last session.
type Coder struct {
	Agent     *agent.Agent
	Dir       string               // the working folder, absolute and free of symlinks
	Workspace *workspace.Workspace // files and commands of the agent
	Sandbox   *sandbox.Sandbox     // nil: nothing is confined
	Skills    *skill.Registry      // nil: there are none
	Servers   *mcp.Servers         // nil: there are none
	Memory    *memory.Memory       // nil: there is none

	inner *coding.Coder
}

// New builds a coding agent. It connects to MCP servers in the background. The error of a wrong
// field names the field.
func New(ctx context.Context, o Options) (*Coder, error) {
	inner, err := coding.New(ctx, o.inner())
	if err != nil {
		return nil, err
	}
	return &Coder{
		Agent: inner.Agent, Dir: inner.Dir, Workspace: inner.Workspace, Sandbox: inner.Sandbox,
		Skills: inner.Skills, Servers: inner.Servers, Memory: inner.Memory, inner: inner,
	}, nil
}

// Session returns a session of the agent; "" is a new one. See [agent.Agent.Session].
func (c *Coder) Session(id string) *agent.Session { return c.inner.Session(id) }

// Prompt runs a prompt in a new session. See [agent.Agent.Prompt].
func (c *Coder) Prompt(ctx context.Context, text string, more ...llm.Block) (*agent.Result, error) {
	return c.inner.Prompt(ctx, text, more...)
}

// Stream runs a prompt in a new session and shows its events. See [agent.Agent.Stream].
func (c *Coder) Stream(ctx context.Context, text string, more ...llm.Block) iter.Seq2[event.Event, error] {
	return c.inner.Stream(ctx, text, more...)
}

// Rewind takes a session back to its state after fact number after: first the files, also those
// that commands have changed, then the conversation. The fact before a prompt is that of its
// UserMessage less one; 0 stands for that before the first prompt. The report lists the changed
// files and those that were left. It fails with [agent.ErrNoCheckpoint] if the files were not
// kept, as without Sessions that [session.Dir] made.
func (c *Coder) Rewind(ctx context.Context, s *agent.Session, after int64) (checkpoint.Report, error) {
	r, err := c.inner.Rewind(ctx, s, after)
	report := checkpoint.Report{Left: r.Unrestored()}
	for _, ch := range r.Changes {
		report.Changes = append(report.Changes, checkpoint.Change{Path: filepath.Join(ch.Root, filepath.FromSlash(ch.Path)), Kind: string(ch.Kind)})
	}
	return report, err
}

// Setting decodes the value of a setting into what to points to, and reports whether anything is
// set. The value is the one that counts after all settings files and [Options].
func (c *Coder) Setting(name string, to any) bool { return c.inner.Settings.Decode(name, to) }

// Close ends all commands, MCP servers and language servers of the agent, and removes its temporary
// files. Close the sessions first.
func (c *Coder) Close() error { return c.inner.Close() }
