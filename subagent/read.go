package subagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	hookshell "github.com/openagent-go/agent/hook/shell"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/workspace"
)

// Bounds of what a file may say.
const (
	maxMatter      = 32 << 10 // bytes of front matter, of which hooks and servers are the most
	maxName        = 64       // bytes
	maxDescription = 8000     // characters; people write examples into it
	maxTools       = 200
	maxNames       = 32     // skills, and servers
	maxTurns       = 10_000 // answers of the model
	maxJSON        = 1 << 20
)

// Keys of Claude Code's files: those that count, and those that say nothing here.
var (
	keys = []string{"name", "description", "tools", "disallowedTools", "model", "permissionMode", "maxTurns", "skills", "mcpServers", "hooks", "background", "isolation", "effort", "color"}
	idle = []string{"memory", "initialPrompt", "observer", "observerMessage", "criticalSystemReminder"}
)

// CheckName says what is wrong with the name of a kind of agent. Models write it, and
// rules such as Agent(reviewer) have it as their pattern.
func CheckName(name string) error {
	if name == "" {
		return errors.New("the name is empty")
	}
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_.:", c)
	}) {
		return fmt.Errorf("%.80q cannot be a name: it takes letters, digits, -, _, . and :, at most %d bytes", name, maxName)
	}
	return nil
}

// A reader makes a definition of a file.
type reader struct {
	Definition
	place *workspace.Workspace // of hooks
	notes []*front.Fault
}

// read takes in a file. The notes say what should be corrected though the kind can be
// used; what could let it do more than was meant is an error instead.
func read(data []byte, file string, place *workspace.Workspace) (Definition, []*front.Fault, error) {
	r := reader{Definition: Definition{Agent: new(agent.Agent), Source: file}, place: place}
	matter, text, err := front.Split(data, true, maxMatter)
	if err != nil {
		return Definition{}, nil, err
	}
	if len(matter) == 0 {
		return Definition{}, nil, &front.Fault{Line: 1, Text: "there is no front matter: begin the file with lines of ---, name: …, description: … and ---"}
	}
	values, note, err := front.Parse(matter)
	if err != nil {
		return Definition{}, nil, err
	}
	if note != nil {
		r.notes = append(r.notes, note)
	}
	if !utf8.Valid(text) {
		return Definition{}, nil, &front.Fault{Line: 1, Text: "the text is not UTF-8"}
	}
	r.Agent.System = strings.TrimSpace(string(text))
	err = r.takeAll(values)
	return r.Definition, r.notes, err
}

// takeAll takes in the values, and checks that nothing is missing.
func (r *reader) takeAll(values []front.Value) (err error) {
	var rules []permission.Rule
	for _, v := range values {
		if v.Key == "tools" {
			rules, err = r.tools(v)
		} else {
			err = r.take(v)
		}
		if err != nil {
			return err
		}
	}
	first := 1
	if r.Source == "" {
		first = 0
	}
	switch a := r.Agent; {
	case a.Name == "":
		return &front.Fault{Line: first, Text: "name is missing: the name of the agent, such as reviewer"}
	case r.Description == "":
		return &front.Fault{Line: first, Text: "description is missing: when to use the agent, in a line"}
	case a.System == "" && first == 0:
		return &front.Fault{Text: "prompt is missing: write the agent's instructions there"}
	case a.System == "":
		return &front.Fault{Line: first, Text: "there is no text after the front matter; write the agent's instructions there"}
	}
	r.narrow(rules)
	return nil
}

// ParseJSON reads kinds of agents from an object of them by name, each with the keys
// that front matter has, and prompt for the text. Notes say what is idle in them; one
// that is wrong is an error.
func ParseJSON(data []byte, hooks *workspace.Workspace) (list []Definition, notes []string, err error) {
	if len(data) > maxJSON {
		return nil, nil, fmt.Errorf("the JSON has more than %d KB", maxJSON>>10)
	}
	var kinds map[string]map[string]any
	if err := json.Unmarshal(data, &kinds); err != nil || kinds == nil {
		return nil, nil, errors.New(`the JSON must be an object of agents by name, such as {"reviewer": {"description": "…", "prompt": "…"}}`)
	}
	if len(kinds) > maxFiles {
		return nil, nil, fmt.Errorf("the JSON has more than %d agents", maxFiles)
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		r := reader{Definition: Definition{Agent: new(agent.Agent)}, place: hooks}
		prompt, ok := kinds[name]["prompt"].(string)
		if _, there := kinds[name]["prompt"]; there && !ok {
			return nil, nil, fmt.Errorf("%s: prompt: it must be a string", name)
		}
		r.Agent.System = strings.TrimSpace(prompt)
		delete(kinds[name], "prompt")
		if kinds[name] == nil {
			kinds[name] = map[string]any{}
		}
		kinds[name]["name"] = name
		err := r.takeAll(front.ValuesOf(kinds[name]))
		if err != nil {
			return nil, nil, fmt.Errorf("%.80s: %w", name, err)
		}
		if find(list, name) >= 0 {
			return nil, nil, fmt.Errorf("%s appears twice: names that differ only in case count as the same", name)
		}
		for _, n := range r.notes {
			notes = append(notes, name+": "+n.Text)
		}
		list = append(list, r.Definition)
	}
	return list, notes, nil
}

// take takes in a value of front matter.
func (r *reader) take(v front.Value) (err error) {
	a := r.Agent
	switch v.Key {
	case "name":
		if a.Name, err = v.Text(); err == nil {
			if wrong := CheckName(a.Name); wrong != nil {
				return v.Fault("%v", wrong)
			}
		}
	case "description":
		if r.Description, err = v.Text(); err == nil {
			r.Description = text.OneLine(text.Clean(r.Description))
			if utf8.RuneCountInString(r.Description) > maxDescription {
				r.Description = text.Runes(r.Description, maxDescription)
				r.note(v, "it has more than %d characters, and is cut there", maxDescription)
			}
		}
	case "disallowedTools":
		return r.without(v)
	case "model":
		if r.Model, err = r.word(v); r.Model == "inherit" {
			r.Model = ""
		}
	case "permissionMode":
		var name string
		if name, err = v.Text(); err == nil && name != "" {
			if a.Permissions.Mode, err = permission.ParseMode(name); err != nil {
				return v.Fault("%v", err)
			}
		}
	case "maxTurns":
		a.Budget.Turns, err = v.Count(maxTurns)
	case "skills":
		r.Skills, err = r.names(v)
	case "mcpServers":
		return r.servers(v)
	case "hooks":
		return r.hooks(v)
	case "background":
		r.Background, err = v.Bool()
	case "isolation":
		if r.Isolation, err = v.Text(); err == nil && r.Isolation != "" && r.Isolation != worktreeIsolation {
			return v.Fault("there is no isolation %.40q, only %s", r.Isolation, worktreeIsolation)
		}
	case "effort":
		if a.Thinking.Effort, err = v.Text(); err == nil && modelcall.CheckThought(a.Thinking) != nil {
			return v.Fault("there is no effort %.40q; there are low, medium, high and max", a.Thinking.Effort)
		}
	case "color":
		r.Color, err = r.word(v)
	default:
		r.unknown(v)
	}
	return err
}

func (r *reader) note(v front.Value, format string, args ...any) {
	r.notes = append(r.notes, v.Fault(format, args...))
}

func (r *reader) unknown(v front.Value) {
	if slices.Contains(idle, v.Key) {
		r.note(v, "it says nothing here")
		return
	}
	problem := "there is no such key"
	if near := text.Nearest(v.Key, keys); near != "" {
		problem += "; did you mean " + near + "?"
	}
	r.notes = append(r.notes, &front.Fault{Line: v.Line, Text: fmt.Sprintf("%.40s: %s", v.Key, problem)})
}

// word is a short text.
func (r *reader) word(v front.Value) (string, error) {
	s, err := v.Text()
	if err == nil && (len(s) > 200 || s != text.OneLine(text.Clean(s))) {
		return "", v.Fault("it must be a line of at most 200 bytes")
	}
	return s, err
}

func (r *reader) names(v front.Value) ([]string, error) {
	names, err := v.Items()
	if err != nil {
		return nil, err
	}
	if len(names) > maxNames {
		return nil, v.Fault("there are more than %d", maxNames)
	}
	for _, n := range names {
		if err := CheckName(n); err != nil {
			return nil, v.Fault("%v", err)
		}
	}
	return names, nil
}

// rulesOf reads a list of tools, with patterns or without. Agent(a, b) stands for a
// rule for each.
func rulesOf(v front.Value) ([]permission.Rule, error) {
	items, err := v.Items()
	if err != nil {
		return nil, err
	}
	var out []permission.Rule
	for _, item := range items {
		name, pattern, scoped := strings.Cut(item, "(")
		parts := []string{item}
		if pattern, closed := strings.CutSuffix(pattern, ")"); scoped && closed && (name == "Agent" || name == "Task") {
			parts = nil
			for p := range strings.SplitSeq(pattern, ",") {
				parts = append(parts, name+"("+strings.TrimSpace(p)+")")
			}
		}
		for _, p := range parts {
			rules, err := permission.ParseRules(p) // spaces separate names as well
			if err != nil {
				return nil, v.Fault("%v", err)
			}
			out = append(out, rules...)
		}
	}
	if len(out) > maxTools {
		return nil, v.Fault("there are more than %d tools", maxTools)
	}
	return out, nil
}

// tools takes in the only tools; none is no list, and * is all of them.
func (r *reader) tools(v front.Value) ([]permission.Rule, error) {
	rules, err := rulesOf(v)
	if err != nil || slices.Contains(rules, "*") {
		return nil, err
	}
	if len(rules) == 0 {
		if list, is := v.List(); is && len(list) == 0 {
			return nil, v.Fault("an agent without tools cannot be written as an empty list; leave tools out for all of its parent's, or name those it needs")
		}
	}
	for _, rule := range rules {
		if name := policies.ToolOf(rule); !slices.Contains(r.Agent.AllowedTools, name) {
			r.Agent.AllowedTools = append(r.Agent.AllowedTools, name)
		}
	}
	return rules, nil
}

// narrow has a policy see to rules with patterns, and finds out whether the kind only
// reads.
func (r *reader) narrow(rules []permission.Rule) {
	if slices.ContainsFunc(rules, func(rule permission.Rule) bool { return strings.Contains(string(rule), "(") }) {
		r.Agent.Deciders = []permission.Decider{onlyRules(r.Agent.Name, rules)}
	}
	reads := []string{"Read", "Glob", "Grep"}
	r.ReadOnly = len(rules) > 0 && len(r.Servers) == 0 && !slices.ContainsFunc(rules, func(rule permission.Rule) bool { return !slices.Contains(reads, policies.ToolOf(rule)) })
}

// without takes in tools that it does not have: names, which it does not see, and
// rules with patterns, which deny calls.
func (r *reader) without(v front.Value) error {
	rules, err := rulesOf(v)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if strings.Contains(string(rule), "(") {
			r.Agent.Permissions.Deny = append(r.Agent.Permissions.Deny, rule)
		} else {
			r.Agent.DisallowedTools = append(r.Agent.DisallowedTools, policies.ToolOf(rule))
		}
	}
	return nil
}

// servers takes in MCP servers: names, objects of a name and a configuration, or one
// object of several.
func (r *reader) servers(v front.Value) error {
	list, isList := v.List()
	if !isList {
		list = []front.Value{v}
	}
	for _, item := range list {
		object, inline := item.Object()
		if !inline {
			names, err := r.names(item)
			if err != nil {
				return err
			}
			for _, n := range names {
				r.Servers = append(r.Servers, Server{Name: n})
			}
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if err := CheckName(name); err != nil {
				return v.Fault("%v", err)
			}
			if _, ok := object[name].Object(); !ok {
				return v.Fault("the configuration of %s must be an object, as in .mcp.json", name)
			}
			config, err := object[name].JSON()
			if err != nil {
				return err
			}
			r.Servers = append(r.Servers, Server{name, config})
		}
	}
	for i, s := range r.Servers {
		if slices.ContainsFunc(r.Servers[:i], func(o Server) bool { return o.Name == s.Name }) {
			return v.Fault("%s is there twice", s.Name)
		}
	}
	if len(r.Servers) > maxNames {
		return v.Fault("there are more than %d", maxNames)
	}
	return nil
}

// hooks takes in hooks, as settings have them. A Stop is that of the agent, which is
// called SubagentStop.
func (r *reader) hooks(v front.Value) error {
	data, err := v.JSON()
	if err != nil {
		return err
	}
	if string(data) == "null" {
		return nil
	}
	list, err := config.ParseHooks(data, config.Source{File: r.Source, Line: v.Line})
	if err != nil {
		return v.Fault("%v", err)
	}
	if len(list) > 0 && r.place == nil {
		return v.Fault("commands of hooks cannot be run here")
	}
	for _, w := range list {
		if w.Event == hook.Stop {
			w.Event = hook.SubagentStop
		}
		h := hookshell.Hook(w.Event, w.Match, hookshell.Command{Workspace: r.place, Line: w.Command, Project: filepath.Clean(r.place.Root), Async: w.Async})
		h.Timeout = w.Timeout
		r.Agent.Hooks = append(r.Agent.Hooks, h)
	}
	return nil
}
