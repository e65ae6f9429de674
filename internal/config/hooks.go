package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/text"
)

// A Hook is a shell command that settings want called at an event.
type Hook struct {
	Event   hook.Event
	Match   string // as in [hook.Hook]
	Command string // a line for bash
	Timeout time.Duration
	Async   bool
	Source  Source
}

// hookMembers are the members of a group of hooks, and of each of its hooks. The
// statusMessage is for people and has no effect.
var hookMembers = [2][]string{{"matcher", "hooks"}, {"type", "command", "timeout", "async", "statusMessage"}}

type wireHooks map[hook.Event][]struct {
	Matcher string `json:"matcher"`
	Hooks   []struct {
		Command string  `json:"command"`
		Timeout float64 `json:"timeout"`
		Async   bool    `json:"async"`
	} `json:"hooks"`
}

// Hooks returns the hooks of all layers that count, the lowest layer first. With
// disableAllHooks there are none but those of managed settings, unless these say so
// themselves.
func (s *Settings) Hooks() []Hook {
	off := false
	s.Decode("disableAllHooks", &off)
	v, managed := s.Managed("disableAllHooks")
	if managed && isTrue(v.Value) {
		return nil
	}
	var out []Hook
	for _, l := range slices.Backward(s.results["hooks"].layers) {
		if !l.Counts || off && l.Source.Scope != Managed {
			continue
		}
		out = append(out, hooksOf(l)...)
	}
	return out
}

func hooksOf(l Layer) []Hook { return decodeHooks(l.Value, l.Source) }

// ParseHooks reads hooks as they are in settings: {EVENT: [{matcher, hooks: [{type,
// command, timeout, async}]}]}. The error names what is wrong in them.
func ParseHooks(data json.RawMessage, from Source) ([]Hook, error) {
	n, err := parse(data)
	if err == nil {
		err = Key{Name: "hooks", Type: Hooks}.acceptsHooks(data, n)
	}
	if err != nil {
		return nil, err
	}
	return decodeHooks(data, from), nil
}

func decodeHooks(data json.RawMessage, from Source) []Hook {
	var events wireHooks
	if json.Unmarshal(data, &events) != nil {
		return nil // it was checked
	}
	var out []Hook
	for _, e := range hook.Events {
		for _, g := range events[e] {
			for _, h := range g.Hooks {
				out = append(out, Hook{e, g.Matcher, h.Command, time.Duration(h.Timeout * float64(time.Second)), h.Async, from})
			}
		}
	}
	return out
}

// acceptsHooks checks hooks: {EVENT: [{matcher, hooks: [{type, command, timeout}]}]}.
func (k Key) acceptsHooks(data []byte, n *node) error {
	if n.kind != isObject {
		return k.expected(n, "an "+string(k.Type))
	}
	for _, m := range n.members {
		if !slices.Contains(hook.Events, hook.Event(m.name)) {
			return wrongAt(m.line, "%s: there is no event %.100q%s", k.Name, m.name, nearestEvent(m.name))
		}
		if err := k.each(m.value, m.name, func(g *node) error { return k.acceptsGroup(data, g, m.name) }); err != nil {
			return err
		}
	}
	return nil
}

// each checks the objects of a list.
func (k Key) each(list *node, name string, check func(*node) error) error {
	if list.kind != isList {
		return wrongAt(list.line, "%s: %s must be a list, not %s", k.Name, name, list.kind)
	}
	for _, item := range list.items {
		if item.kind != isObject {
			return wrongAt(item.line, "%s: each item of %s must be an object, not %s", k.Name, name, item.kind)
		}
		if err := check(item); err != nil {
			return err
		}
	}
	return nil
}

func (k Key) acceptsGroup(data []byte, g *node, event string) error {
	if err := k.knows(g, 0); err != nil {
		return err
	}
	if m := g.member("matcher"); m != nil {
		var match string
		if json.Unmarshal(data[m.value.start:m.value.end], &match) != nil {
			return wrongAt(m.line, "%s: matcher must be a text in quotes, not %s", k.Name, m.value.kind)
		}
		never := func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }
		if _, err := hookrun.Compile([]hook.Hook{{On: hook.Event(event), Match: match, Func: never}}); err != nil {
			return wrongAt(m.line, "%s: %v", k.Name, err)
		}
	}
	m := g.member("hooks")
	if m == nil {
		return wrongAt(g.line, "%s: %s has a group without hooks; write {\"matcher\": …, \"hooks\": [{\"type\": \"command\", \"command\": …}]}", k.Name, event)
	}
	return k.each(m.value, "hooks", func(h *node) error { return k.acceptsHook(data, h) })
}

func (k Key) acceptsHook(data []byte, h *node) error {
	if err := k.knows(h, 1); err != nil {
		return err
	}
	var kind, command string
	if m := h.member("type"); m == nil || json.Unmarshal(data[m.value.start:m.value.end], &kind) != nil || kind != "command" {
		return wrongAt(h.line, "%s: the type of a hook must be \"command\"", k.Name)
	}
	if m := h.member("command"); m == nil || json.Unmarshal(data[m.value.start:m.value.end], &command) != nil || strings.TrimSpace(command) == "" {
		return wrongAt(h.line, "%s: a hook has no command", k.Name)
	}
	if strings.ContainsRune(command, 0) || len(command) > maxText {
		return wrongAt(h.line, "%s: a command must have no NUL and at most %d bytes", k.Name, maxText)
	}
	if m := h.member("timeout"); m != nil {
		var seconds float64
		if json.Unmarshal(data[m.value.start:m.value.end], &seconds) != nil || seconds < 0.001 || seconds > maxSeconds {
			return wrongAt(m.line, "%s: timeout must be a number of seconds from 0.001 to %d", k.Name, maxSeconds)
		}
	}
	if m := h.member("async"); m != nil && m.value.kind != isBool {
		return wrongAt(m.line, "%s: async must be true or false, not %s", k.Name, m.value.kind)
	}
	return nil
}

const maxSeconds = 24 * 60 * 60 // that a hook may take

// knows refuses members that have no effect: who writes them relies on them.
func (k Key) knows(n *node, level int) error {
	for _, m := range n.members {
		if known := hookMembers[level]; !slices.Contains(known, m.name) {
			return wrongAt(m.line, "%s: %.100q is not a known member; use %s", k.Name, m.name, strings.Join(known, ", "))
		}
	}
	return nil
}

func nearestEvent(name string) string {
	var names []string
	for _, e := range hook.Events {
		names = append(names, string(e))
	}
	if best := text.Nearest(name, names); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return ""
}

// joinHooks puts the hooks of two layers together.
func joinHooks(lower, higher json.RawMessage) json.RawMessage {
	var a, b map[string][]json.RawMessage
	if lower == nil || json.Unmarshal(lower, &a) != nil || json.Unmarshal(higher, &b) != nil {
		return higher
	}
	for event, groups := range b {
		a[event] = append(a[event], groups...)
	}
	return encode(a)
}
