package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// modelMembers are the members of a model with the types of their values. The type of
// price is "": an object of numbers.
var modelMembers = []Key{
	{Name: "name", Type: Text}, {Name: "provider", Type: Text}, {Name: "aliases", Type: Texts},
	{Name: "window", Type: Whole}, {Name: "max_output", Type: Whole}, {Name: "price"},
	{Name: "display_name", Type: Text}, {Name: "description", Type: Text},
	{Name: "thinking", Type: Text, Words: []string{"none", "budget", "adaptive", "effort"}},
	{Name: "efforts", Type: Texts, Words: []string{"low", "medium", "high", "max"}},
	{Name: "edits", Type: Text, Words: []string{"replace", "patch"}},
	{Name: "fast", Type: Bool}, {Name: "fast_factor", Type: Amount}, {Name: "no_samplers", Type: Bool}, {Name: "no_forced_tool", Type: Bool}, {Name: "max_completion_tokens", Type: Bool},
	{Name: "no_images", Type: Bool}, {Name: "no_pdf", Type: Bool}, {Name: "no_tools", Type: Bool}, {Name: "source", Type: Text}, {Name: "date", Type: Text},
}

// priceMembers are the members of a price. Those of the second list have to be there.
var priceMembers, neededPrices = []string{"input", "output", "cache_read", "cache_write", "long_at", "long_input", "long_output"}, []string{"input", "output"}

// acceptsModels checks a list of models.
func (k Key) acceptsModels(data []byte, n *node) error {
	if n.kind != isList {
		return k.expected(n, "a "+string(k.Type))
	}
	var names []string
	for _, item := range n.items {
		if item.kind != isObject {
			return wrongAt(item.line, "%s: a model must be an object, not %s", k.Name, item.kind)
		}
		for _, m := range item.members {
			if err := k.acceptsModel(data, m); err != nil {
				return err
			}
		}
		name := item.text(data, "name")
		if name == "" {
			return wrongAt(item.line, "%s: a model has no name", k.Name)
		}
		name += " of " + item.text(data, "provider")
		if slices.Contains(names, name) {
			return wrongAt(item.line, "%s: there are two models called %.100q", k.Name, strings.TrimSuffix(name, " of "))
		}
		names = append(names, name)
		window, most := item.number(data, "window"), item.number(data, "max_output")
		if window > 0 && most > window {
			return wrongAt(item.line, "%s: an answer of %.0f tokens does not fit a window of %.0f", k.Name, most, window)
		}
	}
	return nil
}

// text is a member's text, "" where there is none.
func (n *node) text(data []byte, name string) string {
	var s string
	if m := n.member(name); m != nil {
		_ = json.Unmarshal(data[m.value.start:m.value.end], &s)
	}
	return s
}

// number is a member's number, 0 where there is none.
func (n *node) number(data []byte, name string) float64 {
	var f float64
	if m := n.member(name); m != nil {
		_ = json.Unmarshal(data[m.value.start:m.value.end], &f)
	}
	return f
}

func (k Key) acceptsModel(data []byte, m member) error {
	i := slices.IndexFunc(modelMembers, func(s Key) bool { return s.Name == m.name })
	if i < 0 {
		var known []string
		for _, s := range modelMembers {
			known = append(known, s.Name)
		}
		return wrongAt(m.line, "%s: %.100q is not a member of a model; use %s", k.Name, m.name, strings.Join(known, ", "))
	}
	member := modelMembers[i]
	member.Name = k.Name + "." + m.name
	if member.Type != "" {
		return member.accepts(data, m.value)
	}
	if m.value.kind != isObject {
		return member.expected(m.value, "an object of numbers, in USD per million tokens")
	}
	for _, p := range m.value.members {
		var f float64
		switch {
		case !slices.Contains(priceMembers, p.name):
			return wrongAt(p.line, "%s: %.100q is not a known member; use %s", member.Name, p.name, strings.Join(priceMembers, ", "))
		case p.value.kind != isNumber || json.Unmarshal(data[p.value.start:p.value.end], &f) != nil || f < 0 || math.IsInf(f, 0):
			return wrongAt(p.line, "%s.%s must be a number from 0 up", member.Name, p.name)
		}
	}
	for _, name := range neededPrices {
		if m.value.member(name) == nil {
			return wrongAt(m.line, "%s: %s is missing; without a whole price the cost is unknown", member.Name, name)
		}
	}
	long := 0
	for _, name := range priceMembers[4:] {
		if m.value.number(data, name) > 0 {
			long++
		}
	}
	if at := m.value.number(data, "long_at"); long != 0 && long != 3 || at != math.Trunc(at) {
		return wrongAt(m.line, "%s: %s go together, the first a whole number of tokens", member.Name, strings.Join(priceMembers[4:], ", "))
	}
	return nil
}

// joinModels puts lists of models together; a later model takes the place of an earlier
// one of its name and provider.
func joinModels(lower, higher json.RawMessage) json.RawMessage {
	var all, more []map[string]json.RawMessage
	_ = json.Unmarshal(lower, &all) // they were checked
	_ = json.Unmarshal(higher, &more)
	id := func(m map[string]json.RawMessage) string { return fmt.Sprintf("%s %s", m["name"], m["provider"]) }
	for _, m := range more {
		all = slices.DeleteFunc(all, func(o map[string]json.RawMessage) bool { return id(o) == id(m) })
	}
	return encode(append(all, more...))
}
