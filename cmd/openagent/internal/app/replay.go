package app

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/triggerstore"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// OpenToReplay builds the agent of a folder for a replay of the recorded facts. It needs no key and
// starts no MCP servers: tools of servers are as on record.
func OpenToReplay(ctx context.Context, h *cli.IO, o *settings.Options, dir string, store session.Store, facts []event.Event) (_ *App, err error) {
	if o, err = settings.Configure(ctx, h, o, dir, false); err != nil {
		return nil, err
	}
	p, _ := provider.Open(h, o) // no model is called, so its key or name may be missing
	h.Secrets = append(p.Secrets(), o.SecretValues()...)
	s := &App{Options: o, Provider: p, Project: dir}
	defer s.CloseOnError(&err)
	recorded := firstConfigured(facts)
	person := hasTool(recorded, "AskUserQuestion") || hasTool(recorded, "ExitPlanMode")
	if person { // a conversation has a schedule and triggers, which descriptions of tools tell
		s.Schedule, s.Triggers = new(cronstore.Scheduler), new(triggerstore.Handler)
	}
	without := []coding.Part{coding.Servers, coding.Checkpoints, coding.Team, coding.Instructions}
	if err := s.build(ctx, h, Build{Without: without, Person: person, Sessions: store, Quiet: true, model: provider.DemoModel()}); err != nil {
		return nil, err
	}
	s.Store, s.Agent.Context = store, nil // the notes are on record
	s.Agent.Toolsets = append(s.Agent.Toolsets, newRecordedServers(recorded, facts, s.Agent.System))
	return s, nil
}

func firstConfigured(facts []event.Event) fact.Configured {
	for _, e := range facts {
		if c, ok := e.Data.(fact.Configured); ok {
			return c
		}
	}
	return fact.Configured{}
}

func hasTool(c fact.Configured, name string) bool {
	for _, t := range c.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// recordedServers stand for the MCP servers of a recorded session: their tools are described as on
// record, and calls of them are judged as having the recorded effects.
type recordedServers struct {
	tools        []tool.Tool
	instructions string
}

// resourceTools are the tools that read the resources of servers.
var resourceTools = []string{"ListMcpResources", "ReadMcpResource"}

// dateLine is the line of a system prompt that changes each day.
var dateLine = regexp.MustCompile(`(?m)^Date: .*$`)

func newRecordedServers(c fact.Configured, facts []event.Event, system string) *recordedServers {
	s := new(recordedServers)
	classes := map[string]tool.Traits{}
	for _, e := range facts {
		if a, ok := e.Data.(fact.Authorized); ok {
			classes[a.Call] = a.Class
		}
	}
	for _, t := range c.Tools {
		if strings.HasPrefix(t.Name, "mcp__") || slices.Contains(resourceTools, t.Name) {
			s.tools = append(s.tools, recordedTool{t, classes})
		}
	}
	if rest, ok := strings.CutPrefix(dateLine.ReplaceAllString(c.System, ""), dateLine.ReplaceAllString(system, "")); ok {
		s.instructions = strings.TrimPrefix(rest, "\n\n")
	}
	return s
}

func (s *recordedServers) Tools(context.Context) ([]tool.Tool, error) { return s.tools, nil }

// Instructions are what the servers say of themselves in the system prompt.
func (s *recordedServers) Instructions() string { return s.instructions }

// A recordedTool is a tool of a server that is not there.
type recordedTool struct {
	fact.Tool
	classes map[string]tool.Traits // by call
}

func (t recordedTool) Spec() tool.Spec {
	return tool.Spec{Name: t.Name, Aliases: t.Aliases, Description: t.Description, Input: t.Input, ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, Deferred: t.Deferred, AlwaysLoad: !t.Deferred}
}

// Classify returns the recorded effects of the call.
func (t recordedTool) Classify(call tool.Call) tool.Traits { return t.classes[call.ID] }

// Repair returns the input as it is.
func (t recordedTool) Repair(call tool.Call) json.RawMessage { return call.Input }

func (t recordedTool) Run(context.Context, tool.Call) (*tool.Result, error) {
	return tool.Errorf("the server of %s is not running", t.Name), nil
}
