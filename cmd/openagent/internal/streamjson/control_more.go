package streamjson

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
)

// A hostRequest carries out a control request. It may take its time: others are not delayed.
type hostRequest func(d *Session, ctx context.Context, request json.RawMessage) (any, error)

// hostRequests are the control requests that hosts of Claude Code know besides those about the run.
var hostRequests = map[string]hostRequest{
	"background_tasks":                 read((*Session).backgroundTasks),
	"generate_session_title":           read((*Session).generateTitle),
	"get_hooks_listing":                read((*Session).hooksListing),
	"get_session_cost":                 read((*Session).sessionCost),
	"get_task_output":                  read((*Session).taskOutput),
	"get_usage":                        read((*Session).usageSoFar),
	"list_permission_rules":            read((*Session).permissionRules),
	"mcp_call":                         read((*Session).callServer),
	"mcp_read_resource":                read((*Session).readResource),
	"read_file":                        read((*Session).readFile),
	"reload_output_styles":             read((*Session).outputStyles),
	"reload_plugins":                   read((*Session).reloadPlugins),
	"reload_skills":                    read((*Session).reloadSkills),
	"seed_read_state":                  read((*Session).nothingToDo),
	"set_has_subscribers":              read((*Session).nothingToDo),
	"set_mcp_permission_mode_override": read((*Session).serverMode),
	"side_question":                    read((*Session).sideQuestion),
	"update_settings":                  read((*Session).updateSettings),
}

// read makes a hostRequest of a function of the request's members.
func read[In any](do func(*Session, context.Context, In) (any, error)) hostRequest {
	return func(d *Session, ctx context.Context, request json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(request, &in); err != nil {
			return nil, fmt.Errorf("the request: %w", mismatch(err))
		}
		return do(d, ctx, in)
	}
}

type noMembers struct{}

// nothingToDo answers requests that need nothing here. Reads are remembered with the session, however
// short its conversation becomes; a file that it has not read is read before a change.
func (d *Session) nothingToDo(context.Context, noMembers) (any, error) { return struct{}{}, nil }

// backgroundTasks answers whether a call was moved to the background. None can be: a call is in the
// background from its start, or never.
func (d *Session) backgroundTasks(_ context.Context, in struct {
	ToolUse string `json:"tool_use_id"`
}) (any, error) {
	if d.report.claude == nil {
		return nil, errNeedsVerbose("background_tasks")
	}
	if d.report.claude.tasks.working(in.ToolUse) {
		return nil, errors.New("background_tasks: a call that runs cannot be moved to the background; have the model set run_in_background, or interrupt the run")
	}
	if in.ToolUse == "" {
		return struct{}{}, nil
	}
	return map[string]bool{"backgrounded": false}, nil
}

// A taskOutput is the end of a background command's output.
type taskOutput struct {
	Output    string `json:"output"`
	Total     int64  `json:"total_bytes"`
	Truncated bool   `json:"truncated"`
}

const shownOutput = 8 << 10 // bytes

func (d *Session) taskOutput(ctx context.Context, in struct {
	Task string `json:"task_id"`
}) (any, error) {
	session, job := d.s.Session.ID, in.Task
	if agent, of, ok := strings.Cut(in.Task, "/"); ok {
		session, job = agent, of
	}
	now, cancel := context.WithCancel(ctx)
	cancel() // it is not waited for
	o, err := d.s.Workspace.AwaitJob(now, session, job)
	if err != nil {
		return nil, fmt.Errorf("get_task_output: %w", err)
	}
	if o.File == "" {
		return taskOutput{}, nil
	}
	f, err := plainfile.Open(o.File)
	if err != nil {
		return nil, fmt.Errorf("get_task_output: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("get_task_output: %w", err)
	}
	out := taskOutput{Total: info.Size(), Truncated: info.Size() > shownOutput}
	data, err := io.ReadAll(io.NewSectionReader(f, max(info.Size()-shownOutput, 0), shownOutput))
	if err != nil {
		return nil, fmt.Errorf("get_task_output: %w", err)
	}
	out.Output = d.hide(strings.ToValidUTF8(string(data), "\uFFFD"))
	return out, nil
}

// hide replaces secrets in a text for hosts.
func (d *Session) hide(text string) string {
	if c := d.report.claude; c != nil {
		return c.hide(text)
	}
	return text
}

// A fileContent is a file as a host reads it.
type fileContent struct {
	Contents  string `json:"contents"`
	Path      string `json:"absPath"`
	Truncated bool   `json:"truncated,omitempty"`
	Encoding  string `json:"encoding,omitempty"` // base64
	Lossy     *bool  `json:"lossy,omitempty"`    // of a text: it is not what the file holds
}

const (
	readLimit = 1 << 20  // bytes, unless the host says otherwise
	mostRead  = 10 << 20 // bytes
)

// readFile returns a file that the model may read without a question.
func (d *Session) readFile(_ context.Context, in struct {
	Path     string `json:"path"`
	Max      int64  `json:"max_bytes"`
	Encoding string `json:"encoding"`
}) (any, error) {
	if in.Path == "" {
		return nil, errors.New("read_file: path is missing")
	}
	path, err := d.s.Readable(in.Path)
	if err != nil {
		return nil, fmt.Errorf("read_file: %w", err)
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read_file: %w", err)
	}
	defer f.Close()
	most := min(cmp.Or(max(in.Max, 0), readLimit), mostRead)
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("read_file: %w", err)
	}
	out := fileContent{Path: path, Truncated: int64(len(data)) > most}
	if out.Truncated {
		data = data[:most]
	}
	if d.hide(string(data)) != string(data) {
		return nil, errors.New("read_file: the file holds a secret")
	}
	if in.Encoding == "base64" {
		out.Encoding, out.Contents = "base64", base64.StdEncoding.EncodeToString(data)
		return out, nil
	}
	out.Lossy = new(!utf8.Valid(data))
	out.Contents = string(bytes.ToValidUTF8(data, []byte("\uFFFD")))
	return out, nil
}

// reloadSkills reads the skills again.
func (d *Session) reloadSkills(ctx context.Context, _ noMembers) (any, error) {
	if err := d.s.ReloadSkills(ctx); err != nil {
		return nil, fmt.Errorf("reload_skills: %w", err)
	}
	return map[string]any{"skills": d.s.Commands()}, nil
}

// outputStyles lists the output styles. There is one.
func (d *Session) outputStyles(context.Context, noMembers) (any, error) {
	return map[string][]string{"available_output_styles": {"default"}}, nil
}

// reloadPlugins reads what of plugins can be read again, the skills, and reports the rest as it is.
func (d *Session) reloadPlugins(ctx context.Context, in struct {
	Add    []json.RawMessage `json:"add_plugins"`
	IfIdle bool              `json:"refuse_if_busy"`
}) (any, error) {
	if len(in.Add) > 0 {
		return nil, errors.New("reload_plugins: plugins cannot join a running session; name them in initialize or with --plugin-dir")
	}
	d.mu.Lock()
	busy := d.current != nil || len(d.queue) > 0
	d.mu.Unlock()
	if in.IfIdle && busy {
		return nil, &codedError{"reload_plugins_busy", errors.New("reload_plugins: a prompt runs or waits")}
	}
	if err := d.s.ReloadSkills(ctx); err != nil {
		return nil, fmt.Errorf("reload_plugins: %w", err)
	}
	plugins := []namedPlugin{}
	for _, dir := range d.s.Options.Plugins {
		plugins = append(plugins, namedPlugin{filepath.Base(dir), dir})
	}
	return map[string]any{"commands": d.s.Commands(), "agents": d.agentChoices(), "plugins": plugins, "mcpServers": d.claudeServers(ctx), "error_count": 0}, nil
}

// permissionRule is a rule as hosts list it.
type permissionRule struct {
	Behavior    string `json:"behavior"`
	Source      string `json:"source"`
	Rule        string `json:"rule"`
	Editability string `json:"editability"`
	Idle        bool   `json:"notInEffect,omitempty"`
}

type namedFolder struct {
	Path   string `json:"path"`
	Source string `json:"source"`
}

// permissionRules lists the rules of the session.
func (d *Session) permissionRules(context.Context, noMembers) (any, error) {
	list, dirs := []permissionRule{}, []namedFolder{}
	words := map[permission.Behavior]string{permission.Allowed: "allow", permission.Asked: "ask", permission.Denied: "deny"}
	only := false
	if s := d.s.Options.Settings; s != nil {
		s.Decode("allowManagedPermissionRulesOnly", &only)
		for _, r := range s.Rules() {
			source, edits := claudeSource(string(r.Source.Scope))
			list = append(list, permissionRule{words[r.Behavior], source, string(r.Rule), edits, !r.Counts})
		}
	}
	if d.prompt != nil {
		for _, r := range d.prompt.rules.List() {
			list = append(list, permissionRule{"allow", "session", string(r), "session", false})
		}
	}
	for _, dir := range d.s.Options.Dirs {
		dirs = append(dirs, namedFolder{dir, "cliArg"})
	}
	return map[string]any{"state": map[string]any{"rules": list, "workspaceDirectories": dirs, "originalCwd": d.s.Project, "managedOnly": only}}, nil
}

// claudeSource returns the name of a layer of settings, and whether its rules can be changed.
func claudeSource(scope string) (name, editability string) {
	switch scope {
	case "user", "project", "local":
		return scope + "Settings", "persistent"
	case "managed":
		return "policySettings", "readonly"
	case "flags":
		return "cliArg", "session"
	}
	return "flagSettings", "readonly"
}

// A listedHook is a hook as hosts list it.
type listedHook struct {
	Event   string  `json:"event"`
	Matcher string  `json:"matcher"`
	Source  string  `json:"source"`
	Label   string  `json:"sourceLabel"`
	Type    string  `json:"type"`
	Text    string  `json:"displayText"`
	Command string  `json:"commandText"`
	Content string  `json:"contentLabel"`
	Timeout float64 `json:"timeout,omitempty"` // seconds
	Async   bool    `json:"runsInBackground,omitempty"`
}

// hooksListing lists the hooks of the session.
func (d *Session) hooksListing(context.Context, noMembers) (any, error) {
	hooks, counts := []listedHook{}, map[string]int{}
	off, managed := false, 0
	if s := d.s.Options.Settings; s != nil {
		s.Decode("disableAllHooks", &off)
		for _, k := range s.Hooks() {
			source, _ := claudeSource(string(k.Source.Scope))
			if source == "policySettings" {
				managed++
			}
			hooks = append(hooks, listedHook{string(k.Event), k.Match, source, k.Source.String(), "command", d.H.OneLine(k.Command), k.Command, "Command", k.Timeout.Seconds(), k.Async})
		}
	}
	var in initialization
	_ = json.Unmarshal(d.initial, &in) // it was read before
	for _, event := range slices.Sorted(maps.Keys(in.Hooks)) {
		for _, m := range in.Hooks[event] {
			for _, id := range m.Callbacks {
				hooks = append(hooks, listedHook{event, orZero(m.Matcher), "sessionHook", "Session", "callback", id, id, "Callback", m.Timeout, false})
			}
		}
	}
	for _, k := range hooks {
		counts[k.Event]++
	}
	events, catalog := []map[string]any{}, []map[string]any{}
	for _, on := range hook.Events {
		e := string(on)
		catalog = append(catalog, map[string]any{"name": e, "summary": "", "supportsMatcher": true})
		if n := counts[e]; n > 0 {
			events = append(events, map[string]any{"name": e, "summary": "", "supportsMatcher": true, "hookCount": n})
		}
	}
	return map[string]any{"events": events, "hooks": hooks, "eventCatalog": catalog,
		"policy": map[string]any{"disabledByPolicy": false, "managedOnly": false, "pluginOnly": false, "allDisabled": off, "policyHookCount": managed}}, nil
}

// usageSoFar returns cost and usage of the session. Plans with limits are not known here.
func (d *Session) usageSoFar(context.Context, noMembers) (any, error) {
	if d.report.claude == nil {
		return nil, errNeedsVerbose("get_usage")
	}
	return map[string]any{"session": d.report.claude.soFar(), "subscription_type": nil, "rate_limits_available": false, "rate_limits": nil, "behaviors": nil}, nil
}

func errNeedsVerbose(request string) error {
	return &codedError{"unsupported_request", fmt.Errorf("%s needs --verbose", request)}
}

// sessionCost returns the cost of the session as a text.
func (d *Session) sessionCost(context.Context, noMembers) (any, error) {
	if d.report.claude == nil {
		return nil, errNeedsVerbose("get_session_cost")
	}
	return map[string]string{"text": d.report.claude.soFar().text()}, nil
}

// updateSettings stores a setting for later sessions: the user's effort. The only output style is there
// anyway.
func (d *Session) updateSettings(ctx context.Context, in struct {
	Source   string                     `json:"source"`
	Settings map[string]json.RawMessage `json:"settings"`
}) (any, error) {
	for name, raw := range in.Settings {
		var value string
		if json.Unmarshal(raw, &value) != nil {
			return nil, fmt.Errorf("update_settings: %s must be a text", cli.Clip(name))
		}
		switch {
		case in.Source == "localSettings" && name == "outputStyle" && value == "default":
		case in.Source == "userSettings" && name == "effortLevel" && slices.Contains(settings.Efforts, value):
			if err := d.s.SaveEffort(ctx, value); err != nil {
				return nil, fmt.Errorf("update_settings: %w", err)
			}
		default:
			return nil, fmt.Errorf("update_settings: %s of %s cannot be set to %s this way; userSettings take effortLevel (%s)", cli.Clip(name), cli.Clip(in.Source), cli.Clip(value), strings.Join(settings.Efforts, ", "))
		}
	}
	return struct{}{}, nil
}

// callServer calls a tool of an MCP server without the model.
func (d *Session) callServer(ctx context.Context, in struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Check     bool            `json:"check_permissions"`
	Soft      bool            `json:"soft_error_result"`
	Inputs    json.RawMessage `json:"input_files"`
	Outputs   json.RawMessage `json:"output_files"`
}) (any, error) {
	if !saysNothing(in.Inputs) || !saysNothing(in.Outputs) {
		return nil, errors.New("mcp_call: input_files and output_files are not supported")
	}
	st, ok := d.serverOf(in.Tool)
	switch {
	case !ok:
		return nil, fmt.Errorf("mcp_call: no MCP server has the tool %q; mcp_status lists them", cli.Clip(in.Tool))
	case st.Type == mcpnames.InProcess:
		return nil, fmt.Errorf("mcp_call: %s is a server within the host; call it there", st.Name)
	}
	if saysNothing(in.Arguments) {
		in.Arguments = json.RawMessage(`{}`)
	}
	r, err := d.s.CallServer(ctx, in.Tool, in.Arguments, in.Check)
	switch {
	case err != nil:
		return nil, fmt.Errorf("mcp_call: %w", err)
	case r.IsError && !in.Soft:
		return nil, fmt.Errorf("mcp_call: %s", r.Text())
	}
	out := map[string]any{"content": contentjson.Blocks(r.Content)}
	if r.IsError {
		out["isError"] = true
	}
	return out, nil
}

// serverOf returns the connected server that has a tool.
func (d *Session) serverOf(name string) (mcp.Status, bool) {
	for _, st := range d.s.ServerStatus() {
		if slices.Contains(st.Tools, name) {
			return st, true
		}
	}
	return mcp.Status{}, false
}

// readResource reads a resource of a server for the host's display.
func (d *Session) readResource(ctx context.Context, in struct {
	Server string `json:"serverName"`
	URI    string `json:"uri"`
}) (any, error) {
	if !strings.HasPrefix(in.URI, "ui://") {
		return nil, errors.New("mcp_read_resource: the URI must begin with ui://; other resources are read by the model's tools")
	}
	i := slices.IndexFunc(d.s.ServerStatus(), func(st mcp.Status) bool { return st.Name == in.Server })
	switch {
	case i < 0:
		return nil, fmt.Errorf("mcp_read_resource: there is no server %q", cli.Clip(in.Server))
	case d.s.ServerStatus()[i].Type == mcpnames.InProcess:
		return nil, fmt.Errorf("mcp_read_resource: %s is a server within the host; ask it there", in.Server)
	}
	list, err := d.s.Servers.ReadResource(ctx, in.Server, in.URI)
	if err != nil {
		return nil, fmt.Errorf("mcp_read_resource: %w", err)
	}
	contents := []map[string]any{}
	for _, c := range list {
		row := map[string]any{"uri": c.URI}
		if c.MIMEType != "" {
			row["mimeType"] = c.MIMEType
		}
		if c.Blob != nil {
			row["blob"] = base64.StdEncoding.EncodeToString(c.Blob)
		} else {
			row["text"] = c.Text
		}
		contents = append(contents, row)
	}
	return map[string]any{"contents": contents}, nil
}

// serverMode has the calls of a server need permission in modes that allow every call.
func (d *Session) serverMode(ctx context.Context, in struct {
	Server string  `json:"serverName"`
	Mode   *string `json:"mode"`
}) (any, error) {
	if !d.claude {
		return nil, errNeedsVerbose("set_mcp_permission_mode_override")
	}
	if m := orZero(in.Mode); m != "" && m != string(permission.Default) && m != string(permission.Auto) {
		return nil, fmt.Errorf("set_mcp_permission_mode_override: the mode %q only tightens: it must be default, auto or null", cli.Clip(m))
	}
	d.s.ServerModes.Set(in.Server, in.Mode != nil, func() bool {
		mode, err := d.s.Session.Mode(context.WithoutCancel(ctx))
		return err != nil || mode == permission.Bypass || mode == permission.Auto && orZero(in.Mode) != string(permission.Auto)
	})
	answer := map[string]string{}
	if !slices.ContainsFunc(d.s.ServerStatus(), func(st mcp.Status) bool { return st.Name == in.Server }) {
		answer["warning"] = fmt.Sprintf("no server has the name %q", cli.Clip(in.Server))
	}
	return answer, nil
}

// sideQuestion asks the model about the conversation, beside it.
func (d *Session) sideQuestion(ctx context.Context, in struct {
	Question string `json:"question"`
	History  []struct {
		Question string `json:"question"`
		Response string `json:"response"`
	} `json:"history"`
}) (any, error) {
	if strings.TrimSpace(in.Question) == "" {
		return nil, errors.New("side_question: question is missing")
	}
	var b strings.Builder
	for _, h := range in.History {
		if h.Question != "" {
			fmt.Fprintf(&b, "You were asked before: %s\nYou said: %s\n\n", h.Question, h.Response)
		}
	}
	text, res, err := d.s.Aside(ctx, b.String()+in.Question)
	d.spent(res)
	if res == nil {
		return nil, fmt.Errorf("side_question: %w", cmp.Or(err, errors.New("the model was not asked")))
	}
	answer := map[string]any{"response": nil, "synthetic": false}
	if text != "" {
		answer["response"] = text
	}
	return answer, nil
}

// generateTitle has a model write a title for a description.
func (d *Session) generateTitle(ctx context.Context, in struct {
	Description string `json:"description"`
	Persist     bool   `json:"persist"`
}) (any, error) {
	if strings.TrimSpace(in.Description) == "" {
		return nil, errors.New("generate_session_title: description is missing")
	}
	title, res, err := d.s.TitleFor(ctx, in.Description)
	d.spent(res)
	if err == nil && in.Persist {
		err = d.s.Session.SetTitle(ctx, title)
	}
	if err != nil {
		return nil, fmt.Errorf("generate_session_title: %w", err)
	}
	return map[string]string{"title": title}, nil
}

// spent counts what a question beside the conversation has cost.
func (d *Session) spent(res *agent.Result) {
	if c := d.report.claude; c != nil && res != nil {
		c.spend(res.RunEnd)
	}
}
