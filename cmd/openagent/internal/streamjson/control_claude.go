package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/claudecode"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/rewind"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
)

// tellMode writes the line about a new permission mode.
func (d *Session) tellMode(mode string) {
	if d.claude {
		d.out.Put(modeLine{Type: "system", Subtype: "status", Mode: mode, Origin: d.sign()})
	}
}

// A modeLine reports a new permission mode.
type modeLine struct {
	Type    string  `json:"type"`
	Subtype string  `json:"subtype"` // status
	Status  *string `json:"status"`
	Mode    string  `json:"permissionMode"`
	Origin
}

// slowly carries out requests that wait for a command or for files.
func (d *Session) slowly(ctx context.Context, o controlCommand) (any, error) {
	if o.Subtype == "rewind_files" {
		return d.rewindFiles(ctx, o)
	}
	switch {
	case o.Task == "":
		return nil, errors.New("stop_task: task_id is missing")
	case slices.Contains(d.s.JobIDs(), o.Task):
		return struct{}{}, d.s.StopJob(ctx, o.Task)
	}
	return struct{}{}, d.s.Session.StopAgent(o.Task)
}

// A rewound says what bringing files back has done, or would do.
type rewound struct {
	Can        bool     `json:"canRewind"`
	Error      string   `json:"error,omitempty"`
	Files      []string `json:"filesChanged,omitempty"`
	Insertions int      `json:"insertions"`
	Deletions  int      `json:"deletions"`
}

// rewindFiles brings the files back as they were before a message of the host.
func (d *Session) rewindFiles(ctx context.Context, o controlCommand) (any, error) {
	if o.UserMessage == "" {
		return nil, errors.New("rewind_files: user_message_id is missing")
	}
	r := rewind.Rewinder{Session: d.s.Session, Store: d.s.Store, Checkpoints: d.s.Checkpoints}
	changes, err := r.Files(ctx, o.UserMessage, o.DryRun)
	if err != nil {
		return rewound{Error: d.H.OneLine(err.Error())}, nil
	}
	done := rewound{Can: true}
	for _, c := range changes {
		done.Files = append(done.Files, c.Path)
		for line := range strings.Lines(c.Diff) {
			switch {
			case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
			case line[0] == '+':
				done.Insertions++
			case line[0] == '-':
				done.Deletions++
			}
		}
	}
	return done, nil
}

// cancelMessage takes a message out of the queue. It reports whether it waited there.
func (d *Session) cancelMessage(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := len(d.queue)
	d.queue = slices.DeleteFunc(d.queue, func(in agent.Input) bool { return id != "" && in.ID == id })
	return len(d.queue) < before
}

// applySettings changes settings of the running session. All members must be ones that can change.
func (d *Session) applySettings(ctx context.Context, raw json.RawMessage) (any, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil || all == nil {
		return nil, errors.New("apply_flag_settings: settings must be an object")
	}
	var in struct {
		Model       *string `json:"model"`
		Effort      *string `json:"effortLevel"`
		Permissions struct {
			Mode *string `json:"defaultMode"`
		} `json:"permissions"`
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var inner map[string]json.RawMessage
		if name == "permissions" && json.Unmarshal(all[name], &inner) == nil {
			delete(inner, "defaultMode")
		}
		if !slices.Contains([]string{"model", "effortLevel", "permissions"}, name) || len(inner) > 0 {
			return nil, fmt.Errorf("apply_flag_settings: %s cannot change in a running session; model, effortLevel and permissions.defaultMode can", cli.Clip(name))
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("apply_flag_settings: %w", mismatch(err))
	}
	if m := in.Permissions.Mode; m != nil {
		if err := d.changeMode(ctx, permission.Mode(*m)); err != nil {
			return nil, err
		}
		d.tellMode(*m)
	}
	if _, said := all["model"]; said {
		name := d.s.Provider.Model.Value
		if in.Model != nil && *in.Model != "default" {
			name = *in.Model
		}
		if err := d.s.SetModel(ctx, name); err != nil {
			return nil, err
		}
	}
	if _, said := all["effortLevel"]; said {
		t := d.s.Agent.Thinking
		if in.Effort != nil {
			if t = (llm.Thought{Effort: strings.Replace(*in.Effort, "xhigh", "high", 1)}); !slices.Contains(settings.Efforts, t.Effort) {
				return nil, fmt.Errorf("apply_flag_settings: there is no effort %q", cli.Clip(*in.Effort))
			}
		}
		if err := d.s.SetThinking(ctx, t); err != nil {
			return nil, err
		}
	}
	return struct{}{}, nil
}

// A claudeServer is an MCP server as Claude Code reports it.
type claudeServer struct {
	Name   string        `json:"name"`
	Status mcp.State     `json:"status"`
	Info   *serverInfo   `json:"serverInfo,omitempty"`
	Error  string        `json:"error,omitempty"`
	Kind   string        `json:"transport"`
	Scope  string        `json:"scope"`
	Source string        `json:"source"`
	Tools  []serverTool  `json:"tools,omitempty"`
	Config *serverConfig `json:"config,omitempty"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type serverConfig struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type serverTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Annotations map[string]bool `json:"annotations"`
}

// claudeServers returns the state of the servers. It shows no configurations, which may hold keys.
func (d *Session) claudeServers(ctx context.Context) []claudeServer {
	list := []claudeServer{}
	for _, st := range d.s.ServerStatus() {
		c := claudeServer{Name: st.Name, Status: st.State, Error: st.Error, Kind: st.Type, Scope: "dynamic", Source: "dynamic", Config: &serverConfig{Type: st.Type, Name: st.Name}}
		if st.ServerName != "" {
			c.Info = &serverInfo{st.ServerName, st.ServerVersion}
		}
		if len(st.Tools) > 0 {
			described := d.described(ctx)
			for _, name := range st.Tools {
				t := described[name]
				t.Name = cmp.Or(t.Name, strings.TrimPrefix(name, "mcp__"+st.Name+"__"))
				c.Tools = append(c.Tools, t)
			}
		}
		list = append(list, c)
	}
	return list
}

// described returns the tools of servers by the names that the model calls them.
func (d *Session) described(ctx context.Context) map[string]serverTool {
	all := map[string]serverTool{}
	ts, err := d.s.Servers.Tools(ctx)
	if err != nil {
		return all // names alone are known
	}
	for _, t := range ts {
		s := t.Spec()
		all[s.Name] = serverTool{Description: s.Description, Annotations: map[string]bool{}}
		if s.ReadOnly {
			all[s.Name].Annotations["readOnly"] = true
		}
	}
	return all
}

// claudeContext returns the use of the context window as Claude Code has it.
func (d *Session) claudeContext(u agent.ContextUsage) claudecode.Context {
	if i := modelinfo.Of(d.s.Session.Agent().Model); u.Tokens == 0 && i.Window > 0 { // no prompt has chosen the model yet
		u.Free += i.Window - u.Window
		u.Window = i.Window
	}
	return claudecode.ContextOf(u.Window, u.Tokens, u.Free, u.Categories, d.s.EffectiveSettings().Model)
}

// claudeSettings are the settings as Claude Code reports them: those that count, those of each layer,
// and what the next request uses. Our own members are there as well.
type claudeSettings struct {
	app.EffectiveSettings
	Effective map[string]any  `json:"effective"`
	Sources   []settingsLayer `json:"sources"` // the lowest first
	Applied   appliedSettings `json:"applied"`
}

type settingsLayer struct {
	Source   string         `json:"source"`
	Settings map[string]any `json:"settings"`
}

type appliedSettings struct {
	Model  string  `json:"model"`
	Effort *string `json:"effort"`
}

// shownSettings are the settings that hosts see, by our names. Others may hold keys.
var shownSettings = []struct{ own, group, name string }{
	{"model", "", "model"}, {"effort", "", "effortLevel"}, {"permissions.defaultMode", "permissions", "defaultMode"}, {"permissions.allow", "permissions", "allow"},
	{"permissions.ask", "permissions", "ask"}, {"permissions.deny", "permissions", "deny"}, {"permissions.additionalDirectories", "permissions", "additionalDirectories"},
	{"disableAllHooks", "", "disableAllHooks"},
}

func (d *Session) claudeSettings() claudeSettings {
	c := claudeSettings{EffectiveSettings: d.s.EffectiveSettings(), Effective: map[string]any{}, Sources: []settingsLayer{}}
	c.Applied.Model = c.Model
	if c.Effort != "" {
		c.Applied.Effort = &c.Effort
	}
	s := d.s.Options.Settings
	if s == nil {
		return c
	}
	layers := map[string]map[string]any{}
	for _, k := range shownSettings {
		list, err := s.Explain(k.own)
		if err != nil {
			continue
		}
		for _, l := range list {
			source, _ := claudeSource(string(l.Source.Scope))
			if l.Source.Scope == "default" {
				continue
			}
			if layers[source] == nil {
				layers[source] = map[string]any{}
			}
			put(layers[source], k.group, k.name, l.Value)
		}
		if v, err := s.Get(k.own); err == nil && v.Value != nil {
			put(c.Effective, k.group, k.name, v.Value)
		}
	}
	for _, name := range []string{"userSettings", "projectSettings", "localSettings", "flagSettings", "cliArg", "policySettings"} {
		if layers[name] != nil {
			c.Sources = append(c.Sources, settingsLayer{strings.Replace(name, "cliArg", "flagSettings", 1), layers[name]})
		}
	}
	return c
}

// put sets a member of an object, within a group if it has one. The first value counts.
func put(to map[string]any, group, name string, value json.RawMessage) {
	if group != "" {
		inner, _ := to[group].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			to[group] = inner
		}
		to = inner
	}
	if _, there := to[name]; !there {
		to[name] = value
	}
}
