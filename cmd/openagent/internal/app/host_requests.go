package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// This file holds what a host may ask for beside the prompts of a session.

// ServerModes are the MCP servers whose calls need permission although the mode of the session would
// allow them. The zero value names none.
type ServerModes struct {
	mu     sync.Mutex
	asks   map[string]bool
	always func() bool // the mode allows every call
}

// Set has the calls of a server need permission, or not any more.
func (m *ServerModes) Set(server string, asks bool, always func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks, m.always = maps.Clone(m.asks), always
	if m.asks == nil {
		m.asks = map[string]bool{}
	}
	if m.asks[server] = asks; !asks {
		delete(m.asks, server)
	}
}

// Decide asks about the calls of the servers in modes that would allow them. It only tightens.
func (m *ServerModes) Decide(r permission.Request) permission.Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asks) == 0 || !strings.HasPrefix(r.Tool, "mcp__") {
		return permission.Decision{}
	}
	for name := range m.asks {
		if strings.HasPrefix(r.Tool, "mcp__"+name+"__") && m.always() {
			return permission.Ask("the host wants to be asked about the calls of " + name)
		}
	}
	return permission.Decision{}
}

// Readable returns the absolute path of a file if the rules let the model read it without a question.
func (s *App) Readable(path string) (string, error) {
	t := tools.Read(s.Workspace)
	call := tool.Call{Name: t.Spec().Name, Input: settings.EncodeValue(map[string]string{"file_path": path}), Dir: s.Project}
	r, class := requestOf(t, call, append([]string{s.Project}, s.Options.Dirs...))
	if len(class.Access) != 1 {
		return "", fmt.Errorf("%s cannot be read", cli.Clip(path))
	}
	p := s.Session.Agent().Permissions
	p.Mode = permission.Default
	d := p.Decide(r)
	if d.Behavior == permission.Allowed && len(s.Agent.Deciders) > 0 {
		if o := permission.Composite(s.Agent.Deciders...).Decide(r); o.Behavior != permission.NoOpinion {
			d = o
		}
	}
	if d.Behavior != permission.Allowed {
		return "", fmt.Errorf("%s may not be read: %s", cli.Clip(path), d.Reason)
	}
	return class.Access[0].Target, nil
}

// CallServer calls a tool of an MCP server for the host, which has decided that itself. Rules that deny
// hold, and so do hooks. With check the call needs permission as the model's would.
func (s *App) CallServer(ctx context.Context, name string, input json.RawMessage, check bool) (*tool.Result, error) {
	a := *s.Session.Agent()
	mode, err := s.Session.Mode(ctx)
	if err != nil {
		return nil, err
	}
	a.Permissions.Mode = mode
	a.DeferredTools, a.AskUser, a.Inbox, a.Context, a.Checkpoint = nil, nil, nil, nil, nil
	if !check {
		a.CanUseTool = func(_ context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
			if verdict.Behavior != permission.Asked {
				return permission.Decision{}, nil
			}
			return permission.Allow(), nil
		}
	}
	return a.CallTool(ctx, name, input)
}

// limits of questions beside the prompts.
const (
	asideTime   = 2 * time.Minute
	titleTokens = 2000
	maxTitle    = 80 // characters
)

// Aside asks the model a question about the session, which stays as it is. The model calls no tools. ""
// means that it gave no answer.
func (s *App) Aside(ctx context.Context, question string) (string, *agent.Result, error) {
	memory := session.Memory()
	if err := session.Copy(ctx, s.Store, memory, s.Session.ID); err != nil && !errors.Is(err, session.ErrNotFound) {
		return "", nil, err
	}
	a := *s.Session.Agent()
	a.Sessions, a.Hooks, a.AskUser, a.Inbox, a.Context, a.Checkpoint = memory, nil, nil, nil, nil, nil
	a.Budget = agent.Budget{Turns: 1, USD: a.Budget.USD, Time: asideTime}
	stop := permission.Deny("a question beside the conversation calls no tools")
	stop.Interrupt = true
	a.CanUseTool = func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) { return stop, nil }
	aside := a.Session(s.Session.ID)
	defer aside.Close()
	res, err := aside.Prompt(ctx, "Answer this question briefly, from what you know. Do not call tools. The answer does not become part of the conversation.\n\n"+question)
	if res == nil {
		return "", nil, err
	}
	return strings.TrimSpace(res.Text), res, nil
}

// TitleFor has the small model, or else the main one, write a title.
func (s *App) TitleFor(ctx context.Context, description string) (string, *agent.Result, error) {
	now := s.Session.Agent()
	a := agent.Agent{Program: now.Program, Model: now.Model, Quota: now.Quota, Retry: now.Retry, Secrets: now.Secrets, Log: now.Log, MaxTokens: titleTokens,
		Budget: agent.Budget{Turns: 1, USD: now.Budget.USD, Time: asideTime},
		System: "Write a title for a session of work, of 3 to 7 words, in the language of its description. Answer with the title alone."}
	if now.SmallModel != nil {
		a.Model = now.SmallModel
	}
	title := a.Session("")
	defer title.Close()
	res, err := title.Prompt(ctx, description)
	if res == nil {
		return "", nil, err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(res.Text), "\n")
	line = strings.Trim(strings.TrimSpace(line), "\"'")
	if r := []rune(line); len(r) > maxTitle {
		line = string(r[:maxTitle])
	}
	if line == "" {
		return "", res, fmt.Errorf("the model wrote no title: %s", res.Reason)
	}
	return line, res, nil
}

// ReloadSkills reads the skills again, those that the host wants.
func (s *App) ReloadSkills(ctx context.Context) error {
	return s.Coder.ReloadSkills(ctx, s.host.wantsSkill)
}

// SaveEffort stores the effort in the user's settings.
func (s *App) SaveEffort(ctx context.Context, effort string) error {
	if scopes := s.Options.Scopes(); scopes != nil && !slices.Contains(scopes, config.User) {
		return errors.New("this session does not read the user's settings (--setting-sources)")
	}
	f, ok := s.Options.Settings.File(config.User)
	if !ok {
		return errors.New("the home folder is unknown; set OPENAGENT_HOME")
	}
	_, err := config.Set(ctx, f, "effort", settings.EncodeValue(effort))
	return err
}
