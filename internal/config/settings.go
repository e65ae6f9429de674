package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
)

// A Value is the effective value of a setting.
type Value struct {
	Key    string
	Value  json.RawMessage // nil: nothing is set
	Source Source          // of the highest layer that has a part in it
}

// Get returns the effective value of a setting, or of a table's member such as
// "env.PATH".
func (s *Settings) Get(name string) (Value, error) {
	k, member, err := Find(name)
	if err != nil {
		return Value{}, err
	}
	r := s.results[k.Name]
	if member == "" {
		return Value{name, r.value, r.source}, nil
	}
	for _, l := range r.layers {
		if text, ok := memberOf(l.Value, member); ok && l.Counts {
			return Value{name, text, l.Source}, nil
		}
	}
	return Value{Key: name}, nil
}

func memberOf(table json.RawMessage, name string) (json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(table, &members) != nil {
		return nil, false
	}
	v, ok := members[name]
	return v, ok
}

// Managed returns the managed value of a setting, and whether there is one. Code that
// changes a setting during a run must respect it.
func (s *Settings) Managed(name string) (Value, bool) {
	for _, l := range s.results[name].layers {
		if l.Source.Scope == Managed {
			return Value{name, l.Value, l.Source}, true
		}
	}
	return Value{Key: name}, false
}

// Explain returns what each layer says about a setting, the highest first, and
// why it counts or not.
func (s *Settings) Explain(name string) ([]Layer, error) {
	k, member, err := Find(name)
	if err != nil {
		return nil, err
	}
	layers := slices.Clone(s.results[k.Name].layers)
	if member == "" {
		return layers, nil
	}
	var out []Layer
	for _, l := range layers {
		v, ok := memberOf(l.Value, member)
		if !ok {
			continue
		}
		if l.Value = v; l.Counts {
			l.Why = "counts"
			if i := slices.IndexFunc(out, func(h Layer) bool { return h.Counts }); i >= 0 {
				l.Counts, l.Why = false, "overridden by "+out[i].Source.String()
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// Decode puts the value that counts into what to points to, and reports whether
// anything is set. Texts, lists and durations (see [Settings.Duration]) are JSON
// as [Key.Type] has them.
func (s *Settings) Decode(name string, to any) bool {
	v, err := s.Get(name)
	return err == nil && v.Value != nil && json.Unmarshal(v.Value, to) == nil
}

// Duration returns a setting that is a duration, 0 where nothing is set.
func (s *Settings) Duration(name string) time.Duration {
	v, err := s.Get(name)
	if err != nil || v.Value == nil {
		return 0
	}
	d, err := span(v.Value)
	if err != nil {
		return 0
	}
	return d
}

// Policy returns the permission rules of all layers, with where each was written,
// and the mode.
func (s *Settings) Policy() permission.Policy {
	var p permission.Policy
	s.Decode("permissions.defaultMode", &p.Mode)
	s.Decode("permissions.allow", &p.Allow)
	s.Decode("permissions.ask", &p.Ask)
	s.Decode("permissions.deny", &p.Deny)
	s.Decode("permissions.knownTools", &p.KnownTools)
	for _, r := range s.Rules() {
		if r.Counts {
			p.Origins = append(p.Origins, permission.Origin{Behavior: r.Behavior, Rule: r.Rule, From: r.Source.where()})
		}
	}
	return p
}

// A RuleSource is a permission rule of one layer.
type RuleSource struct {
	Behavior permission.Behavior `json:"behavior"`
	Rule     permission.Rule     `json:"rule"`
	Source   Source              `json:"source"`
	Counts   bool                `json:"counts"`
	Why      string              `json:"why"` // it counts, or does not
}

// Rules lists the permission rules of all layers: those that deny first, then
// those that ask, then those that allow; of the highest layer first. A rule that
// several layers have is listed for each.
func (s *Settings) Rules() []RuleSource {
	var out []RuleSource
	for _, of := range []struct {
		key      string
		behavior permission.Behavior
	}{{"permissions.deny", permission.Denied}, {"permissions.ask", permission.Asked}, {allowKey, permission.Allowed}} {
		counting := s.results[of.key].value
		var count []permission.Rule
		_ = json.Unmarshal(counting, &count) // it was checked
		for _, l := range s.results[of.key].layers {
			var rules []permission.Rule
			_ = json.Unmarshal(l.Value, &rules)
			for i, r := range rules {
				one := RuleSource{of.behavior, r, l.Source, l.Counts, l.Why}
				if i < len(l.lines) {
					one.Source.Line = l.lines[i]
				}
				if one.Counts && !slices.Contains(count, r) {
					one.Counts, one.Why = false, "ignored: managed settings do not list it"
				} else if one.Counts {
					one.Why = "counts"
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// where is the source with its layer, for people.
func (s Source) where() string {
	if s.File == "" {
		return s.String()
	}
	return fmt.Sprintf("%s (%s)", s, s.Scope)
}

// Permits says why a run may not be in a mode, nil if it may: the mode
// bypassPermissions is disabled, or managed settings want a stricter one.
func (s *Settings) Permits(mode permission.Mode) error {
	if v, err := s.Get("permissions.disableBypassPermissionsMode"); err == nil && v.Value != nil && mode == permission.Bypass {
		return fmt.Errorf("the mode %s is disabled by %s", mode, v.Source)
	}
	if v, ok := s.Managed("permissions.defaultMode"); ok && stricterMode(v.Value, encode(mode)) {
		return fmt.Errorf("%s allows only the mode %s and stricter ones", v.Source, v.Value)
	}
	return nil
}

// PermitsRule says why a rule may not allow calls, nil if it may: managed settings
// want none but those that they list.
func (s *Settings) PermitsRule(r permission.Rule) error {
	v, err := s.Get(managedOnly)
	if err != nil || !s.flag(managedOnly) || slices.Contains(s.listed(allowKey, Managed), string(r)) {
		return err
	}
	return fmt.Errorf("%s allows only the rules that it lists, and %s is not among them", v.Source, r)
}

// Bounded returns the values of flags that do not count, because managed
// settings allow less.
func (s *Settings) Bounded() []Value {
	var out []Value
	for _, k := range keys {
		r := s.results[k.Name]
		if r.source.Scope != Managed || k.Joined {
			continue
		}
		for _, l := range r.layers {
			if l.Source.Scope == Flags && !bytes.Equal(l.Value, r.value) {
				out = append(out, Value{k.Name, l.Value, r.source})
				break
			}
		}
	}
	return out
}

// Problems lists what is unknown or without effect in the files.
func (s *Settings) Problems() []Problem { return slices.Clone(s.problems) }

// Files lists the files that were looked for, the lowest layer first.
func (s *Settings) Files() []File { return slices.Clone(s.files) }

// File returns the file of a scope.
func (s *Settings) File(scope Scope) (File, bool) {
	for _, f := range s.files {
		if f.Scope == scope {
			return f, true
		}
	}
	return File{}, false
}

// A Need is a setting of a project that counts only once the file is trusted.
type Need struct {
	Key   string
	Line  int
	Value json.RawMessage
}

// Needs lists what is ignored because a file is not trusted, in the order of the
// keys.
func (s *Settings) Needs(f File) []Need {
	var out []Need
	for _, k := range keys {
		for _, l := range s.results[k.Name].layers {
			if l.Source.Scope == f.Scope && l.Source.File == f.Path && l.Why == untrusted {
				out = append(out, Need{k.Name, l.Source.Line, l.Value})
			}
		}
	}
	return out
}

// String names the setting and its line; of variables their names alone.
func (n Need) String() string {
	k, _, err := Find(n.Key)
	shown := string(n.Value)
	var table map[string]string
	switch {
	case err != nil || !k.secret:
	case k.Type == Table && json.Unmarshal(n.Value, &table) == nil:
		shown = strings.Join(slices.Sorted(maps.Keys(table)), " ")
	default:
		shown = string(k.Hide(n.Value))
	}
	return fmt.Sprintf("%s %s (line %d)", n.Key, text.Bytes(shown, maxShown), n.Line)
}

// Lines show all of the setting, a line each, for a person who is to trust it. A list
// or an object has a line for each of its parts. Values of variables whose names look
// like secrets are hidden.
func (n Need) Lines() []string {
	head := fmt.Sprintf("%s (line %d)", n.Key, n.Line)
	k, _, err := Find(n.Key)
	value := n.Value
	var table map[string]string
	switch {
	case err == nil && k.secret && k.Type == Table && json.Unmarshal(n.Value, &table) == nil:
		for name := range table {
			if environ.Secret(name) {
				table[name] = "[secret]"
			}
		}
		if data, err := json.Marshal(table); err == nil {
			value = data
		}
	case err == nil && k.secret:
		value = k.Hide(n.Value)
	}
	var v any
	_ = json.Unmarshal(value, &v) // what cannot be read is shown as it is
	switch v.(type) {
	case map[string]any, []any:
	default:
		return []string{fmt.Sprintf("%s %s (line %d)", n.Key, value, n.Line)}
	}
	return append([]string{head}, leaves("  ", v)...)
}

// leaves shows the parts of a value, a line each.
func leaves(indent string, v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, named(indent, name, v[name])...)
		}
	case []any:
		for _, x := range v {
			out = append(out, named(indent, "-", x)...)
		}
	case string:
		for line := range strings.SplitSeq(v, "\n") {
			out = append(out, indent+line)
		}
	default:
		data, err := json.Marshal(v)
		if err == nil {
			out = append(out, indent+string(data))
		}
	}
	return out
}

func named(indent, name string, v any) []string {
	parts := leaves(indent+"  ", v)
	if name != "-" {
		name += ":"
	}
	if len(parts) == 1 {
		return []string{indent + name + " " + strings.TrimPrefix(parts[0], indent+"  ")}
	}
	return append([]string{indent + name}, parts...)
}

// Runs reports whether the setting names something that would run, or decides what
// commands find when they run.
func (n Need) Runs() bool {
	return slices.Contains([]string{"hooks", "apiKeyHelper", "languageServers", "env"}, n.Key)
}

const maxShown = 200 // bytes of a value in a line
