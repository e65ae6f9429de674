package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const someHooks = `{"hooks": {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "%s", "timeout": 1.5}]}],
  "Stop": [{"hooks": [{"type": "command", "command": "%s done", "async": true, "statusMessage": "…"}]}]}}`

// Hooks of all layers are called, the user's first; a project's only once it is
// trusted; those of the administrator whatever the others switch off.
func TestHooks(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted bool
		also    string // of the user's file
		managed string
		want    string
	}{
		{"not trusted", false, "", "", "[user]"},
		{"trusted", true, "", "", "[user project local]"},
		{"managed", false, "", fmt.Sprintf(someHooks, "managed", "managed"), "[user managed]"},
		{"off", true, `"disableAllHooks": true, `, "", "[]"},
		{"off but for managed", true, `"disableAllHooks": true, `, fmt.Sprintf(someHooks, "managed", "managed"), "[managed]"},
		{"off by the administrator", true, "", `{"disableAllHooks": true, ` + fmt.Sprintf(someHooks, "managed", "managed")[1:], "[]"},
	} {
		p := newPlace(t)
		p.write(User, "{"+c.also+fmt.Sprintf(someHooks, "user", "user")[1:])
		p.write(Project, fmt.Sprintf(someHooks, "project", "project"))
		p.write(Local, fmt.Sprintf(someHooks, "local", "local"))
		if c.managed != "" {
			p.write(Managed, c.managed)
		}
		p.Trusted = func(File) bool { return c.trusted }
		got := []string{}
		for _, h := range p.load().Hooks() {
			if h.Event == "PreToolUse" {
				got = append(got, h.Command)
				if h.Match != "Edit|Write" || h.Timeout != 1500*time.Millisecond || h.Async {
					t.Errorf("%+v", h)
				}
			} else if h.Event != "Stop" || !h.Async || h.Timeout != 0 || h.Match != "" {
				t.Errorf("%+v", h)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

// A project that is not trusted cannot switch off what guards.
func TestHooksAreNotSwitchedOff(t *testing.T) {
	p := newPlace(t)
	p.write(User, fmt.Sprintf(someHooks, "user", "user"))
	p.write(Project, `{"disableAllHooks": true}`)
	if n := len(p.load().Hooks()); n != 2 {
		t.Errorf("%d hooks are left", n)
	}
	s := p.load()
	i := slices.IndexFunc(s.Files(), func(f File) bool { return f.Scope == Project })
	if needs := s.Needs(s.Files()[i]); len(needs) != 1 || needs[0].Key != "disableAllHooks" {
		t.Errorf("%+v", needs)
	}
}

// What cannot be is an error with its line: a hook that is silently left out would
// guard nothing.
func TestBadHooks(t *testing.T) {
	for value, want := range map[string]string{
		`[]`:                                "must be an object of hooks",
		`{"PreTooluse": []}`:                "did you mean PreToolUse?",
		`{"PreToolUse": {}}`:                "PreToolUse must be a list",
		`{"PreToolUse": ["x"]}`:             "must be an object",
		`{"PreToolUse": [{}]}`:              "a group without hooks",
		`{"PreToolUse": [{"hooks": [{}]}]}`: `must be "command"`,
		`{"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}`:                       `"prompt" is not a known member`,
		`{"PreToolUse": [{"hooks": [{"type": "command"}]}]}`:                                     "no command",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": " "}]}]}`:                     "no command",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": 0}]}]}`:       "number of seconds",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": "1s"}]}]}`:    "number of seconds",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "async": 1}]}]}`:         "true or false",
		`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "if": "Bash(rm *)"}]}]}`: `"if" is not a known member`,
		`{"PreToolUse": [{"matcher": "(", "hooks": []}]}`:                                        "error parsing regexp",
		`{"PreToolUse": [{"matcher": 1, "hooks": []}]}`:                                          "must be a text",
		`{"PreToolUse": [{"match": "Bash", "hooks": []}]}`:                                       `"match" is not a known member`,
	} {
		k, _, err := Find("hooks")
		if err == nil {
			err = k.Check([]byte(value))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
