package streamjson

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/claudecode"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
)

// An initialization holds the members of initialize, by which a host says what it brings along.
type initialization struct {
	System       json.RawMessage            `json:"systemPrompt"` // a text or a list of texts
	AppendSystem string                     `json:"appendSystemPrompt"`
	PlanMode     string                     `json:"planModeInstructions"`
	Agents       json.RawMessage            `json:"agents"`
	Schema       json.RawMessage            `json:"jsonSchema"`
	Title        string                     `json:"title"`
	Skills       []string                   `json:"skills"`
	Hooks        map[string][]hookMatcher   `json:"hooks"`
	HostServers  []string                   `json:"sdkMcpServers"`
	ServerRules  map[string]hostServerRules `json:"sdkMcpServerConfigs"`
	Manifests    json.RawMessage            `json:"sdkMcpServerManifests"`
	Servers      json.RawMessage            `json:"mcpServers"`
	Plugins      []hostPlugin               `json:"plugins"`
	Settings     json.RawMessage            `json:"settings"`
	Denied       json.RawMessage            `json:"disallowedTools"` // a list or a text
	Bounds       json.RawMessage            `json:"managedSettings"`
	Aliases      map[string]string          `json:"toolAliases"`
	Suggest      bool                       `json:"promptSuggestions"`
}

type hostPlugin struct {
	Type string `json:"type"`
	Path string `json:"path"`
}

// hostServerRules are the host's wishes about one of its servers.
type hostServerRules struct {
	Timeout int `json:"timeout"` // milliseconds
	Tools   []struct {
		Name   string `json:"name"`
		Policy string `json:"permission_policy"`
	} `json:"tools"`
}

// idleMembers of initialize have no effect here, and none of them protects anything.
var idleMembers = []string{"subtype", "agentProgressSummaries", "forwardSubagentText", "forwardNestedSubagentToolCalls", "supportedDialogKinds",
	"perTaskStopAffordance", "excludeDynamicSections", "systemPromptSnapshot", "sdkMcpServerManifests", "sdkMcpServerManifestsOrigin", "rapidFollowupPreempt",
	"offersBypassSwitchBack", "keepsBypassHeld", "webSearchIsolationExemptMcpServers"}

// knownMembers of initialize have an effect.
var knownMembers = []string{"systemPrompt", "appendSystemPrompt", "planModeInstructions", "agents", "jsonSchema", "title", "skills", "hooks", "sdkMcpServers", "sdkMcpServerConfigs",
	"mcpServers", "plugins", "settings", "disallowedTools", "managedSettings", "toolAliases", "promptSuggestions"}

// nothing lists the values of members that say nothing.
var nothing = []string{"", "null", "{}", "[]", `""`, "false"}

func saysNothing(raw json.RawMessage) bool {
	return slices.Contains(nothing, string(bytes.TrimSpace(raw)))
}

// Prepare reads the messages before the first prompt, if the host drives the command as it drives
// Claude Code. It returns what the host brings along. A host that asks for something that there is
// not gets an error, and nothing is run.
func (d *Session) Prepare(ctx context.Context, o *settings.Options) (*app.Host, error) {
	if d.claude = o.Driven(); !d.claude {
		return nil, nil
	}
	type read struct {
		line []byte
		err  error
	}
	lines := make(chan read, 1)
	go func() {
		for {
			line, err := d.readLine()
			if err == nil && idleLine(line) {
				continue
			}
			lines <- read{line, err}
			return
		}
	}()
	var first read
	select {
	case first = <-lines:
	case <-ctx.Done():
		return nil, cli.ExitCode(cli.SignalCode(ctx))
	}
	d.first = first.line
	if first.err != nil && len(first.line) == 0 {
		return nil, d.lineError(first.err)
	}
	in, err := parseLine(first.line)
	var request struct {
		Subtype string `json:"subtype"`
	}
	if err != nil || in.Type != "control_request" || json.Unmarshal(in.Request, &request) != nil || request.Subtype != "initialize" {
		if len(o.InitFields) > 0 {
			return nil, cli.Usagef("the first message must be initialize, with %s", strings.Join(o.InitFields, " and "))
		}
		return nil, nil // the session answers for the line
	}
	d.initial, d.initialID = in.Request, in.ID
	d.first = nil
	host, err := d.hostOf(in.Request, o)
	if err != nil {
		return nil, d.refuse(ctx, err)
	}
	return host, nil
}

// idleLine reports whether a line asks for nothing.
func idleLine(line []byte) bool {
	var head struct {
		Type string `json:"type"`
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return true
	}
	return json.Unmarshal(line, &head) == nil && head.Type == "keep_alive"
}

// refuse answers initialize with an error and ends the program.
func (d *Session) refuse(ctx context.Context, err error) error {
	d.reply(d.initialID, nil, err)
	return cli.Usagef("%w", err)
}

// hostOf reads what a host brings along.
func (d *Session) hostOf(raw json.RawMessage, o *settings.Options) (*app.Host, error) {
	in, err := parseInitialization(raw)
	if err != nil {
		return nil, err
	}
	for _, name := range o.InitFields {
		if name == "settings" && saysNothing(in.Settings) || name == "disallowedTools" && saysNothing(in.Denied) ||
			name == "managedSettings" && len(in.Bounds) == 0 {
			return nil, fmt.Errorf("initialize: %s is missing, although the flags say that it is there", name)
		}
	}
	k := &app.Host{Append: in.AppendSystem, Title: strings.TrimSpace(in.Title), Skills: in.Skills, Dial: d.dial}
	if in.PlanMode != "" {
		k.Append = strings.TrimSpace(k.Append + "\n\nIn plan mode: " + in.PlanMode)
	}
	if !slices.Contains([]string{"", "null"}, string(in.System)) {
		if k.System, err = systemOf(in.System); err != nil {
			return nil, err
		}
		k.Minimal = k.System == ""
	}
	if !saysNothing(in.Agents) {
		k.Agents = in.Agents
	}
	if !saysNothing(in.Settings) {
		k.Settings = string(in.Settings)
	}
	k.Bounds, k.Aliases, d.hostSuggests = string(in.Bounds), in.Aliases, in.Suggest
	if d.schema, err = in.schema(); err != nil {
		return nil, err
	}
	if k.Hooks, err = d.hooksOf(in.Hooks); err != nil {
		return nil, err
	}
	k.Hooks = append(k.Hooks, d.elicitationHook())
	if k.Deny, err = in.denied(); err != nil {
		return nil, err
	}
	for _, p := range in.Plugins {
		if p.Type != "local" || p.Path == "" {
			return nil, fmt.Errorf("initialize: plugins: the type %q is not supported; give local plugins with a path", cli.Clip(p.Type))
		}
		k.Plugins = append(k.Plugins, p.Path)
	}
	if err := d.addServers(k, in); err != nil {
		return nil, err
	}
	return k, nil
}

// parseInitialization reads initialize. Members that this program does not know are refused: they may
// be there to protect something.
func parseInitialization(raw json.RawMessage) (in initialization, err error) {
	var all map[string]json.RawMessage
	if err = json.Unmarshal(raw, &all); err == nil {
		err = json.Unmarshal(raw, &in)
	}
	if err != nil {
		return in, fmt.Errorf("initialize: %w", mismatch(err))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(idleMembers, name) && !slices.Contains(knownMembers, name) && !saysNothing(all[name]) {
			return in, fmt.Errorf("initialize: %s is not supported by this version", cli.Clip(name))
		}
	}
	return in, nil
}

// systemBoundary separates parts of a system prompt for the caches of providers.
const systemBoundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

func systemOf(raw json.RawMessage) (string, error) {
	var text string
	var list []string
	if json.Unmarshal(raw, &text) == nil {
		list = strings.Split(text, "\n"+systemBoundary+"\n")
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return "", errors.New("initialize: systemPrompt must be a text or a list of texts")
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == systemBoundary || strings.TrimSpace(s) == "" })
	return strings.Join(list, "\n\n"), nil
}

func (in initialization) schema() (json.RawMessage, error) {
	if saysNothing(in.Schema) {
		return nil, nil
	}
	schema, err := settings.ReadSchema(in.Schema)
	if err != nil {
		return nil, fmt.Errorf("initialize: jsonSchema: %w", err)
	}
	return schema, nil
}

func (in initialization) denied() (rules []permission.Rule, err error) {
	if saysNothing(in.Denied) {
		return nil, nil
	}
	var list []string
	var text string
	if json.Unmarshal(in.Denied, &text) == nil {
		list = []string{text}
	} else if err := json.Unmarshal(in.Denied, &list); err != nil {
		return nil, errors.New("initialize: disallowedTools must be a list of rules")
	}
	for _, text := range list {
		more, err := permission.ParseRules(text)
		if err != nil {
			return nil, fmt.Errorf("initialize: disallowedTools: %w", err)
		}
		rules = append(rules, more...)
	}
	return rules, nil
}

// addServers adds the servers within the host and those that it names.
func (d *Session) addServers(k *app.Host, in initialization) error {
	k.Servers = map[string]mcp.Config{}
	if !saysNothing(in.Servers) {
		set, err := mcp.Parse([]byte(`{"mcpServers":`+string(in.Servers)+`}`), d.H.Getenv)
		if err != nil {
			return fmt.Errorf("initialize: mcpServers: %w", err)
		}
		maps.Copy(k.Servers, set)
	}
	for _, name := range in.HostServers {
		rules := in.ServerRules[name]
		c := mcp.Config{Type: mcpnames.InProcess}
		if rules.Timeout >= 1000 {
			c.TimeoutMS, c.MaxTimeMS = rules.Timeout, rules.Timeout
		}
		if err := c.Check(name); err != nil {
			return fmt.Errorf("initialize: sdkMcpServers: %w", err)
		}
		k.Servers[name] = c
		for _, t := range rules.Tools {
			rule := permission.Rule("mcp__" + name + "__" + t.Name)
			switch {
			case t.Name == "" || t.Policy == "always_allow":
				continue
			case t.Policy == "always_deny":
				k.Deny = append(k.Deny, rule)
			default:
				k.Ask = append(k.Ask, rule)
			}
			if err := rule.Check(); err != nil {
				return fmt.Errorf("initialize: sdkMcpServerConfigs: %w", err)
			}
		}
	}
	return nil
}

// readLine reads the next line that is not blank. A last line without an end comes without an error.
func (d *Session) readLine() ([]byte, error) {
	for {
		d.line++
		line, err := ReadLine(d.in, maxLine)
		line = bytes.TrimSpace(line)
		if len(line) > 0 && (err == nil || err == io.EOF) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// lineError adds the number of the line to an error of reading it; nil at the end of the input.
func (d *Session) lineError(err error) error {
	if err == io.EOF {
		return nil
	}
	return cli.Usagef("line %d of stdin: %w", d.line, err)
}

// New returns a session that reads stdin and writes stdout.
func New(h *cli.IO) *Session {
	d := &Session{H: h, changed: make(chan struct{}, 1), requests: newRequests(), in: bufio.NewReaderSize(h.In, 64<<10), hosted: map[string]*hostConn{}, own: map[string]bool{}, unsuggest: func() {}}
	d.out = NewWriter(h.Out, func(err error) {
		d.fail(err)
	})
	return d
}

// initializeLater answers an initialize that did not come first. It may repeat the first one, or say
// nothing that the agent would have to be built with.
func (d *Session) initializeLater(raw json.RawMessage) (any, error) {
	if d.initial != nil && app.SameJSON(raw, d.initial) {
		return d.initialized(), nil
	}
	in, err := parseInitialization(raw)
	if err != nil {
		return nil, err
	}
	callbacks := 0
	for _, list := range in.Hooks {
		for _, m := range list {
			callbacks += len(m.Callbacks)
		}
	}
	for name, there := range map[string]bool{"hooks": callbacks > 0, "agents": !saysNothing(in.Agents), "sdkMcpServers": len(in.HostServers) > 0, "systemPrompt": !saysNothing(in.System),
		"appendSystemPrompt": in.AppendSystem != "", "planModeInstructions": in.PlanMode != "", "skills": in.Skills != nil, "mcpServers": !saysNothing(in.Servers),
		"plugins": len(in.Plugins) > 0, "settings": !saysNothing(in.Settings), "disallowedTools": !saysNothing(in.Denied), "managedSettings": !saysNothing(in.Bounds), "toolAliases": len(in.Aliases) > 0} {
		if there {
			return nil, fmt.Errorf("initialize: %s counts only in the first message of a host that gives --verbose", name)
		}
	}
	schema, err := in.schema()
	if err != nil {
		return nil, err
	}
	if schema != nil {
		d.mu.Lock()
		d.schema = schema
		d.mu.Unlock()
	}
	return d.initialized(), nil
}

// initialized is the answer to initialize.
func (d *Session) initialized() map[string]any {
	answer := map[string]any{"commands": append(d.s.Commands(), app.LocalCommands...), "agents": []string{}, "models": d.models(), "account": struct{}{}, "hooks_applied": false,
		"output_style": "default", "available_output_styles": []string{"default"}, "capabilities": capabilities}
	if d.claude {
		d.claudeInitialized(answer)
	}
	return answer
}

// models lists the models of the provider. For hosts of Claude Code the first is the one without a
// choice.
func (d *Session) models() []modelChoice {
	list := []modelChoice{}
	if d.claude {
		main := choiceOf(modelinfo.Of(d.s.Agent.Model))
		main.Resolved, main.Value = main.Value, "default"
		list = append(list, main)
	}
	for _, e := range d.s.Provider.Models.Entries() {
		if e.Provider != providers.Vendor(d.s.Provider.Name.Value) {
			continue
		}
		m := choiceOf(modelinfo.OfEntry(e))
		if d.claude {
			m.Resolved = m.Value
		}
		list = append(list, m)
	}
	return list
}

// An agentChoice is a definition of a sub-agent for a host.
type agentChoice struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Model       string `json:"model,omitempty"`
}

func (d *Session) agentChoices() []agentChoice {
	agents := []agentChoice{}
	for _, k := range d.s.Definitions {
		agents = append(agents, agentChoice{k.Agent.Name, k.Description, k.Model})
	}
	return agents
}

// claudeInitialized adds what hosts of Claude Code read.
func (d *Session) claudeInitialized(answer map[string]any) {
	p := d.s.Provider
	maps.Copy(answer, map[string]any{"agents": d.agentChoices(),
		"account":                   map[string]string{"tokenSource": p.Key.Source, "apiKeySource": p.Key.Source, "apiProvider": p.Name.Value},
		"hook_on_failure_supported": true, "claude_code_version": claudeVersion, "openagent_version": cli.Version(), "pid": os.Getpid(),
		"current_permission_mode": string(d.report.Mode), "session_state": "idle", "fast_mode_state": "off"})
	var in initialization
	_ = json.Unmarshal(d.initial, &in) // it was read before
	delete(answer, "hooks_applied")
	if len(in.Hooks) > 0 {
		answer["hooks_applied"] = true
	}
	if len(in.Plugins) > 0 {
		answer["plugins_applied"] = true
	}
	if !saysNothing(in.Servers) {
		answer["mcp_servers_applied"] = true
	}
	if !saysNothing(in.Settings) {
		answer["settings_applied"] = true
	}
	if !saysNothing(in.Denied) {
		answer["disallowed_tools_applied"] = true
	}
	if len(in.Bounds) > 0 {
		answer["managed_settings_applied"] = true
	}
	var manifests map[string]json.RawMessage
	if json.Unmarshal(in.Manifests, &manifests) == nil && len(manifests) > 0 {
		parked := map[string]string{}
		for name := range manifests {
			parked[name] = "not_honoured" // the servers are asked
		}
		answer["sdk_mcp_manifests_parked"] = parked
	}
}

// claudeVersion is the version of Claude Code whose lines and control messages these are.
const claudeVersion = "2.1.330"

// Abandon ends the output of a session that did not start. It reports the failure to a host of Claude
// Code, which reads no other lines of it.
func (d *Session) Abandon(ctx context.Context, err error) error {
	if d.claude && err != nil {
		var e *cli.ExitError
		if text := err.Error(); !errors.As(err, &e) || e.Err != nil {
			d.out.Put(claudeResult{Type: "result", Subtype: "error_during_execution", IsError: true, Errors: []string{d.H.OneLine(text)}, Usage: claudecode.UsageOf(llm.Usage{}),
				ModelUsage: map[string]claudeModel{}, Denials: []denial{}, FastMode: "off", Origin: d.sign()})
		}
	}
	return CloseWriter(ctx, d.out, err)
}
