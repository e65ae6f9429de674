package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/permission"
)

// A place is where a test has its layers.
type place struct {
	Options
	t *testing.T
}

func newPlace(t *testing.T) *place {
	dir := t.TempDir()
	return &place{Options{Dir: filepath.Join(dir, "project"), Home: filepath.Join(dir, "home"), Managed: filepath.Join(dir, "managed.json")}, t}
}

func (p *place) path(scope Scope) string {
	for _, f := range p.files() {
		if f.Scope == scope {
			return f.Path
		}
	}
	p.t.Fatalf("no file for %s", scope)
	return ""
}

func (p *place) write(scope Scope, text string) {
	path := p.path(scope)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) load() *Settings {
	p.t.Helper()
	s, err := Load(p.Options)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// all trusts every file.
func all(File) bool { return true }

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		files   map[Scope]string
		given   []Given
		extra   string
		trusted bool
		key     string
		want    string // the value that counts
		source  string // its scope, and line or name
		why     map[Scope]string
	}{
		{name: "nothing", key: "model", source: " "},
		{name: "default", key: "no_color", want: "false", source: "default "},
		{name: "user", files: map[Scope]string{User: "{\n\"model\": \"u\"}"}, key: "model", want: `"u"`, source: "user 2"},
		{name: "null is nothing", files: map[Scope]string{User: `{"model": null, "permissions": null}`}, key: "model", source: " "},
		{name: "project over user", files: map[Scope]string{User: `{"model":"u"}`, Project: `{"model":"p"}`}, trusted: true, key: "model", want: `"p"`, source: "project 1",
			why: map[Scope]string{Project: "counts", User: "overridden by"}},
		{name: "untrusted project", files: map[Scope]string{User: `{"model":"u"}`, Project: `{"model":"p"}`}, key: "model", want: `"u"`, source: "user 1",
			why: map[Scope]string{Project: "not trusted", User: "counts"}},
		{name: "local over project", files: map[Scope]string{Local: `{"effort":"low"}`, Project: `{"effort":"high"}`}, trusted: true, key: "effort", want: `"low"`, source: "local 1"},
		{name: "environment over local", files: map[Scope]string{Local: `{"model":"l"}`}, trusted: true, given: []Given{{Environment, "M", "model", raw(`"e"`)}, {Environment, "N", "model", raw(`"f"`)}}, key: "model", want: `"e"`, source: "environment M"},
		{name: "extra over environment", given: []Given{{Environment, "M", "model", raw(`"e"`)}}, extra: `{"model":"x"}`, key: "model", want: `"x"`, source: "flags 1"},
		{name: "flag over extra", given: []Given{{Flags, "--model", "model", raw(`"f"`)}}, extra: `{"model":"x"}`, key: "model", want: `"f"`, source: "flags --model"},
		{name: "managed over flag", files: map[Scope]string{Managed: `{"model":"m"}`}, given: []Given{{Flags, "--model", "model", raw(`"f"`)}}, key: "model", want: `"m"`, source: "managed 1",
			why: map[Scope]string{Flags: "overridden by", Managed: "counts"}},
		{name: "default of the program", given: []Given{{Default, "built in", "model", raw(`"d"`)}}, files: map[Scope]string{User: `{"model":"u"}`}, key: "model", want: `"u"`, source: "user 1"},

		{name: "rules are joined", files: map[Scope]string{User: `{"permissions":{"deny":["Bash(a)"]}}`, Project: `{"permissions":{"deny":["Bash(b)","Bash(a)"]}}`, Managed: `{"permissions":{"deny":["Bash(c)"]}}`},
			given: []Given{{Flags, "--disallowed-tools", "permissions.deny", raw(`["Bash(d)"]`)}}, key: "permissions.deny", want: `["Bash(a)","Bash(b)","Bash(d)","Bash(c)"]`, source: "managed 1"},
		{name: "untrusted ask holds", files: map[Scope]string{Project: `{"permissions":{"ask":["Bash"]}}`}, key: "permissions.ask", want: `["Bash"]`, source: "project 1"},
		{name: "untrusted allow does not", files: map[Scope]string{Project: `{"permissions":{"allow":["Bash"]}}`}, key: "permissions.allow", source: " "},
		{name: "untrusted local allow does not", files: map[Scope]string{Local: `{"permissions":{"allow":["Bash"]}}`}, key: "permissions.allow", source: " "},
		{name: "untrusted folders", files: map[Scope]string{Project: `{"permissions":{"additionalDirectories":["/"]}}`}, key: "permissions.additionalDirectories", source: " "},
		{name: "managed allow does nothing", files: map[Scope]string{User: `{"permissions":{"allow":["Read"]}}`, Managed: `{"permissions":{"allow":["Bash"]}}`}, key: "permissions.allow", want: `["Read"]`, source: "user 1",
			why: map[Scope]string{Managed: "only restrict"}},
		{name: "tables are joined by name", files: map[Scope]string{User: `{"env":{"A":"u","B":"u"}}`, Project: `{"env":{"B":"p"}}`}, trusted: true, key: "env", want: `{"A":"u","B":"p"}`, source: "project 1"},
		{name: "a member of a table", files: map[Scope]string{User: "{\n\"env\":{\"A\":\"u\",\"B\":\"u\"}}", Project: `{"env":{"B":"p"}}`}, trusted: true, key: "env.A", want: `"u"`, source: "user 2"},
		{name: "untrusted variables", files: map[Scope]string{User: `{"env":{"B":"u"}}`, Project: `{"env":{"B":"p"}}`}, key: "env.B", want: `"u"`, source: "user 1",
			why: map[Scope]string{Project: "not trusted"}},

		{name: "untrusted stricter mode", files: map[Scope]string{Project: `{"permissions":{"defaultMode":"plan"}}`}, key: "permissions.defaultMode", want: `"plan"`, source: "project 1"},
		{name: "untrusted laxer mode", files: map[Scope]string{Project: `{"permissions":{"defaultMode":"acceptEdits"}}`}, key: "permissions.defaultMode", want: `"default"`, source: "default "},
		{name: "untrusted default does not lift plan", files: map[Scope]string{User: `{"permissions":{"defaultMode":"plan"}}`, Project: `{"permissions":{"defaultMode":"default"}}`}, key: "permissions.defaultMode", want: `"plan"`, source: "user 1"},
		{name: "untrusted lower limit", files: map[Scope]string{User: `{"max_turns":9}`, Project: `{"max_turns":3}`}, key: "max_turns", want: `3`, source: "project 1"},
		{name: "untrusted higher limit", files: map[Scope]string{User: `{"max_turns":9}`, Project: `{"max_turns":30}`}, key: "max_turns", want: `9`, source: "user 1"},
		{name: "untrusted tokens where none are set", files: map[Scope]string{Project: `{"max_thinking_tokens":30000}`}, key: "max_thinking_tokens", source: " "},
		{name: "untrusted lower tokens", files: map[Scope]string{User: `{"max_tokens":9000}`, Project: `{"max_tokens":3000}`}, key: "max_tokens", want: "3000", source: "project 1"},
		{name: "managed limit bounds a flag", files: map[Scope]string{Managed: `{"max_budget_usd":0.5}`}, given: []Given{{Flags, "--max-budget-usd", "max_budget_usd", raw(`2`)}}, key: "max_budget_usd", want: `0.5`, source: "managed 1",
			why: map[Scope]string{Flags: "bounded by"}},
		{name: "a flag below the managed limit", files: map[Scope]string{Managed: `{"timeout":"1h"}`}, given: []Given{{Flags, "--timeout", "timeout", raw(`"90s"`)}}, key: "timeout", want: `"90s"`, source: "flags --timeout",
			why: map[Scope]string{Managed: "not needed"}},
		{name: "a managed sandbox stays on", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`}, given: []Given{{Flags, "--sandbox", "sandbox.enabled", raw(`false`)}}, key: "sandbox.enabled", want: `true`, source: "managed 1"},
		{name: "a managed sandbox: no command leaves", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"excludedCommands":["docker"]}}`}, key: "sandbox.excludedCommands", want: `[]`, source: "user 1"},
		{name: "a managed sandbox: a listed command leaves", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true,"excludedCommands":["docker"]}}`, User: `{"sandbox":{"excludedCommands":["docker","git"]}}`}, key: "sandbox.excludedCommands", want: `["docker"]`, source: "user 1"},
		{name: "a managed sandbox: nothing else is written", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"filesystem":{"allowWrite":["/x"]}}}`}, given: []Given{{Flags, "--settings", "sandbox.filesystem.allowWrite", raw(`["/"]`)}}, key: "sandbox.filesystem.allowWrite", want: `[]`, source: "flags --settings"},
		{name: "a managed sandbox: paths outside", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"allowedWritePaths":["src","/x"]}}`}, key: "sandbox.allowedWritePaths", source: " ", why: map[Scope]string{User: "managed settings switch the sandbox on"}},
		{name: "a managed sandbox: the home folder", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"allowedWritePaths":["~/x"]}}`}, key: "sandbox.allowedWritePaths", source: " "},
		{name: "a managed sandbox: paths around", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"allowedWritePaths":["a/../../x"]}}`}, key: "sandbox.allowedWritePaths", source: " "},
		{name: "a managed sandbox: fewer paths", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"allowedWritePaths":["src"]}}`}, key: "sandbox.allowedWritePaths", want: `["src"]`, source: "user 1"},
		{name: "a managed sandbox: hosts", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"network":{"allowedDomains":["example.com"]}}}`}, key: "sandbox.network.allowedDomains", want: `[]`, source: "user 1"},
		{name: "a managed sandbox: switches", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"network":{"allowAnyDomain":true}}}`}, key: "sandbox.network.allowAnyDomain", want: `false`, source: "default "},
		{name: "a managed sandbox: a switch of its own", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true,"network":{"allowAnyDomain":true}}}`, User: `{"sandbox":{"network":{"allowAnyDomain":true}}}`}, key: "sandbox.network.allowAnyDomain", want: `true`, source: "user 1"},
		{name: "a managed sandbox: denials hold", files: map[Scope]string{Managed: `{"sandbox":{"enabled":true}}`, User: `{"sandbox":{"deniedPaths":["x"]}}`}, key: "sandbox.deniedPaths", want: `["x"]`, source: "user 1"},
		{name: "a sandbox of the user's", files: map[Scope]string{Managed: `{"sandbox":{"deniedPaths":["y"]}}`, User: `{"sandbox":{"enabled":true,"excludedCommands":["docker"]}}`}, key: "sandbox.excludedCommands", want: `["docker"]`, source: "user 1"},
		{name: "a managed bound of memory", files: map[Scope]string{Managed: `{"sandbox":{"memoryMB":1000}}`, User: `{"sandbox":{"memoryMB":9000}}`}, key: "sandbox.memoryMB", want: `1000`, source: "managed 1"},
		{name: "untrusted memory where none is set", files: map[Scope]string{Project: `{"sandbox":{"memoryMB":900000}}`}, key: "sandbox.memoryMB", source: " "},
		{name: "a managed limit alone", files: map[Scope]string{Managed: `{"timeout":"1h"}`}, key: "timeout", want: `"1h"`, source: "managed 1"},
		{name: "managed mode bounds", files: map[Scope]string{Managed: `{"permissions":{"defaultMode":"default"}}`, User: `{"permissions":{"defaultMode":"acceptEdits"}}`}, given: []Given{{Flags, "--permission-mode", "permissions.defaultMode", raw(`"bypassPermissions"`)}},
			key: "permissions.defaultMode", want: `"default"`, source: "managed 1", why: map[Scope]string{Flags: "bounded by", User: "overridden by"}},
		{name: "managed mode does not loosen", files: map[Scope]string{Managed: `{"permissions":{"defaultMode":"auto"}}`}, key: "permissions.defaultMode", want: `"default"`, source: "default "},
		{name: "a project disables bypass", files: map[Scope]string{Project: `{"permissions":{"disableBypassPermissionsMode":"disable"}}`}, key: "permissions.disableBypassPermissionsMode", want: `"disable"`, source: "project 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			for scope, text := range c.files {
				p.write(scope, text)
			}
			p.Given, p.Extra = c.given, c.extra
			if c.trusted {
				p.Trusted = all
			}
			s := p.load()
			v, err := s.Get(c.key)
			if err != nil {
				t.Fatal(err)
			}
			at := v.Source.Name
			if v.Source.Line > 0 {
				at = fmt.Sprint(v.Source.Line)
			}
			if string(v.Value) != c.want || string(v.Source.Scope)+" "+at != c.source {
				t.Errorf("%s = %s from %+v, want %s from %s", c.key, v.Value, v.Source, c.want, c.source)
			}
			layers, err := s.Explain(c.key)
			if err != nil {
				t.Fatal(err)
			}
			for scope, want := range c.why {
				i := slices.IndexFunc(layers, func(l Layer) bool { return l.Source.Scope == scope })
				if i < 0 || !strings.Contains(layers[i].Why, want) || layers[i].Counts != (want == "counts") {
					t.Errorf("%s: %+v, want %q", scope, layers, want)
				}
			}
		})
	}
}

// Language servers are programs: a project that is not trusted names none, and
// the values of their variables are told to nobody.
func TestLanguageServers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(User, `{"languageServers":[{"name":"gopls","command":"/bin/gopls","env":{"TOKEN":"hunter2"},"initOptions":{"a":[1]}}]}`)
	p.write(Project, `{"languageServers":[{"name":"gopls","command":"./evil","env":{"TOKEN":"hunter3"}}],"diagnosticsAfterEdits":true,"privateTriggers":true}`)
	s := p.load()
	v, err := s.Get("languageServers")
	if err != nil || v.Source.Scope != User || !strings.Contains(string(v.Value), "/bin/gopls") {
		t.Errorf("%+v, %v", v, err)
	}
	for _, key := range []string{"diagnosticsAfterEdits", "privateTriggers"} {
		if v, err := s.Get(key); err != nil || string(v.Value) != "false" {
			t.Errorf("%+v, %v", v, err)
		}
	}
	k, _, err := Find("languageServers")
	if err != nil || !k.Secret() {
		t.Fatal(err)
	}
	if got := string(k.Hide(v.Value)); got != `[{"command":"/bin/gopls","env":{"TOKEN":"***"},"initOptions":{"a":[1]},"name":"gopls"}]` {
		t.Error(got)
	}
	f, _ := s.File(Project)
	needs := fmt.Sprint(s.Needs(f))
	if !strings.Contains(needs, "./evil") || strings.Contains(needs, "hunter") {
		t.Error(needs)
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// The value that counts is that of the highest layer that sets it, whatever the
// others say.
func TestHighestCounts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p := newPlace(t)
		p.Trusted = all
		want := Scope("")
		for _, scope := range Scopes {
			if r.IntN(2) == 0 {
				continue
			}
			want = scope
			value := fmt.Sprintf("%q", scope)
			switch scope {
			case Default, Environment, Flags:
				p.Given = append(p.Given, Given{scope, string(scope), "model", raw(value)})
			default:
				p.write(scope, `{"small_model":"other","model":`+value+`}`)
			}
		}
		r.Shuffle(len(p.Given), func(i, j int) { p.Given[i], p.Given[j] = p.Given[j], p.Given[i] })
		s := p.load()
		var got Scope
		s.Decode("model", &got)
		v, _ := s.Get("model")
		layers, _ := s.Explain("model")
		counting := 0
		for i, l := range layers {
			if l.Counts {
				counting++
			}
			if l.Why == "" || l.Counts != (i == 0) {
				t.Fatalf("%+v", layers)
			}
		}
		if got != want || v.Source.Scope != want || want != "" && counting != 1 {
			t.Fatalf("%q counts, from %+v; want %q", got, v.Source, want)
		}
	}
}

// A limit is never above what managed settings and a project that is not trusted
// say, whatever the other layers have.
func TestLimitsBound(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		p := newPlace(t)
		said := map[Scope]int{}
		for _, scope := range Scopes[1:] {
			if r.IntN(2) == 0 {
				continue
			}
			said[scope] = 1 + r.IntN(9)
			switch scope {
			case Environment, Flags:
				p.Given = append(p.Given, Given{scope, string(scope), "max_turns", raw(fmt.Sprint(said[scope]))})
			default:
				p.write(scope, fmt.Sprintf(`{"max_turns":%d}`, said[scope]))
			}
		}
		got := 0
		s := p.load()
		s.Decode("max_turns", &got)
		v, _ := s.Get("max_turns")
		if m, ok := said[Managed]; ok && got > m {
			t.Fatalf("%d counts of %v", got, said)
		}
		if sc := v.Source.Scope; (sc == Project || sc == Local) && said[User] != 0 && got > said[User] {
			t.Fatalf("%d of the project counts of %v", got, said)
		}
		if (got == 0) != (len(said) == 0) || len(said) > 0 && said[v.Source.Scope] != got {
			t.Fatalf("%d from %+v of %v", got, v.Source, said)
		}
	}
}

// A managed deny rule holds whatever the other layers and flags say.
func TestManagedDeny(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Trusted = all
	p.write(Managed, `{"permissions":{"deny":["Bash(rm *)"],"disableBypassPermissionsMode":"disable","defaultMode":"acceptEdits"}}`)
	lax := `{"permissions":{"allow":["Bash","Bash(rm *)"],"deny":[],"ask":[],"defaultMode":"bypassPermissions"}}`
	for _, scope := range []Scope{User, Project, Local} {
		p.write(scope, lax)
	}
	p.Extra = lax
	p.Given = []Given{
		{Flags, "--allowed-tools", "permissions.allow", raw(`["Bash(rm *)"]`)},
		{Flags, "--disallowed-tools", "permissions.deny", raw(`[]`)},
		{Flags, "--permission-mode", "permissions.defaultMode", raw(`"bypassPermissions"`)},
	}
	for _, layers := range [][]Scope{nil, {}, {User}} {
		p.Layers = layers
		s := p.load()
		policy := s.Policy()
		call := permission.Request{Tool: "Bash", Dir: p.Dir, Access: []permission.Access{{Kind: permission.RunCommand, Target: "rm x"}}}
		for _, mode := range policies.Modes {
			policy.Mode = mode
			if d := policy.Decide(call); d.Behavior == permission.Allowed {
				t.Errorf("with layers %v and mode %s: %+v", layers, mode, d)
			}
		}
		if m := s.Policy().Mode; m != permission.AcceptEdits {
			t.Errorf("the mode is %s", m)
		}
		if s.Permits(permission.Bypass) == nil || s.Permits(permission.Auto) == nil || s.Permits(permission.AcceptEdits) != nil {
			t.Error("modes beyond the managed one are permitted")
		}
		if b := s.Bounded(); len(b) != 1 || b[0].Key != "permissions.defaultMode" {
			t.Errorf("%+v", b)
		}
	}
}

// What is wrong is told with file and line.
func TestBroken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[]":                     ":1: the settings must be an object, not a list",
		"{\n\"model\": 5}":       ":2: model must be a text in quotes, not a number",
		"{\"model\": \"\"}":      ":1: model: the text is empty",
		"{\"model\": \"a\\nb\"}": ":1: model: the text holds a control character",
		"{\"permissions\":\n[]}": ":2: permissions must be an object, not a list",
		"{\"permissions\":{\"deny\":\n[\"Bash\",\n\"Bash(\"]}}":                   ":3: permissions.deny: ",
		"{\"permissions\":{\"deny\":\"Bash\"}}":                                   ":1: permissions.deny must be a list of rules, not a text",
		"{\"permissions\":{\"deny\":[1]}}":                                        ":1: permissions.deny must be a text in quotes, not a number",
		"{\"permissions\":{\"defaultMode\":\"acceptEdit\"}}":                      "did you mean acceptEdits",
		"{\"permissions\":{\"disableBypassPermissionsMode\":\"enable\"}}":         "not one of disable",
		"{\"env\":{\"A\":1}}":                                                     ":1: env.A must be a text in quotes, not a number",
		"{\"env\":{\"A=B\":\"1\"}}":                                               "cannot be the name of a variable",
		"{\"env\":{\"A\":\"x\\u0000\"}}":                                          "no variable can hold",
		"{\"max_turns\": 0}":                                                      "max_turns must be a whole number from 1",
		"{\"max_turns\": 1.5}":                                                    "max_turns must be a whole number from 1",
		"{\"max_turns\": 1e400}":                                                  "max_turns must be a whole number from 1",
		"{\"max_turns\": \"3\"}":                                                  "not a text",
		"{\"max_budget_usd\": -1}":                                                "a number above 0",
		"{\"timeout\": 10}":                                                       "not a number",
		"{\"timeout\": \"10\"}":                                                   "write one such as 90s or 10m",
		"{\"models\":{}}":                                                         "models must be a list of models, not an object",
		"{\"models\":[{\"window\":1}]}":                                           "a model has no name",
		"{\"models\":[{\"name\":\"x\",\n\"windwo\":1}]}":                          ":2: models: \"windwo\" is not a member of a model; use name, provider",
		"{\"models\":[{\"name\":\"x\",\n\"window\":0}]}":                          ":2: models.window must be a whole number",
		"{\"models\":[{\"name\":\"x\",\n\"price\":{\"input\":1}}]}":               ":2: models.price: output is missing",
		"{\"models\":[{\"name\":\"x\",\"price\":{\n\"input\":-1,\"output\":1}}]}": ":2: models.price.input must be a number from 0 up",
		"{\"models\":[{\"name\":\"x\",\"price\":{\"input\":1,\"output\":1,\"long_at\":5}}]}": "long_at, long_input, long_output go together",
		"{\"models\":[{\"name\":\"x\",\"efforts\":[\"extreme\"]}]}":                          "is not one of low, medium, high, max",
		"{\"models\":[{\"name\":\"x\"},{\"name\":\"x\"}]}":                                   "there are two models called \"x\"",
		"{\"models\":[{\"name\":\"x\",\"window\":5,\"max_output\":6}]}":                      "does not fit a window of 5",
		"{\"languageServers\":{}}":                                                           "languageServers must be a list of language servers, not an object",
		"{\"languageServers\":[\n5]}":                                                        ":2: languageServers: a server must be an object, not a number",
		"{\"languageServers\":[{\"command\":\"x\"}]}":                                        "a server has no name",
		"{\"languageServers\":[{\"name\":\"x\",\n\"comand\":\"x\"}]}":                        ":2: languageServers: \"comand\" is not a member of a server; use name, command",
		"{\"languageServers\":[{\"name\":\"x\",\"args\":\"x\"}]}":                            "languageServers.args must be a list of texts",
		"{\"languageServers\":[{\"name\":\"x\",\"extensions\":{\"go\":\"go\"}}]}":            "must be the end of a file's name",
		"{\"languageServers\":[{\"name\":\"x\",\"env\":{\"A=\":\"go\"}}]}":                   "cannot be the name of a variable",
		"{\"languageServers\":[{\"name\":\"x\"},\n{\"name\":\"x\"}]}":                        ":2: languageServers: there are two servers called \"x\"",
		"{\"no_color\": \"yes\"}":                                                            "no_color must be true or false, not a text",
		"{\"model\":\"a\",\n\"model\":\"b\"}":                                                ":2: \"model\" is there twice, first in line 1",
	} {
		for _, scope := range []Scope{User, Project, Local, Managed} {
			p := newPlace(t)
			p.write(scope, text)
			_, err := Load(p.Options)
			var problem *Problem
			if !errors.As(err, &problem) || problem.Kind != Broken || problem.Source.Scope != scope || !strings.HasPrefix(err.Error(), p.path(scope)+":") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %v, want %q", scope, text, err, want)
			}
		}
	}
	for value, want := range map[string]string{"{\n5}": "--settings:2: ", "/nowhere/x": "--settings: there is no file /nowhere/x; name one, or write a JSON object"} {
		if _, err := Load(Options{Extra: value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", value, err)
		}
	}
	if _, err := Load(Options{Given: []Given{{Environment, "OPENAGENT_PROVIDER", "provider", raw(`"antropic"`)}}}); err == nil || !strings.Contains(err.Error(), "OPENAGENT_PROVIDER: provider: ") || !strings.Contains(err.Error(), "did you mean anthropic") {
		t.Error(err)
	}
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(User, `{
  "$schema": "https://example.com",
  "modle": "x",
  "allowManagedHooksOnly": true,
  "statusLine": {"type": "command"},
  "effortLevel": "high",
  "denied": 1,
  "permissions": {"denny": [], "alow": []},
  "defaultMode": "plan",
  "xyzzyxyzzyxyzzy": true
}`)
	got := map[string]Problem{}
	for _, p := range p.load().Problems() {
		got[p.Key] = p
	}
	for key, want := range map[string]struct {
		line int
		kind Kind
		text string
	}{
		"modle":                 {3, Unknown, "did you mean model?"},
		"allowManagedHooksOnly": {4, Relied, "has no effect"},
		"statusLine":            {5, Idle, "has no effect"},
		"effortLevel":           {6, Idle, "use effort"},
		"denied":                {7, Unknown, "there is no setting"},
		"permissions.denny":     {8, Unknown, "did you mean permissions.deny?"},
		"permissions.alow":      {8, Unknown, "did you mean permissions.allow?"},
		"defaultMode":           {9, Unknown, "did you mean permissions.defaultMode?"},
		"xyzzyxyzzyxyzzy":       {10, Unknown, "there is no setting"},
	} {
		if p := got[key]; p.Source.Line != want.line || p.Kind != want.kind || !strings.Contains(p.Text, want.text) {
			t.Errorf("%s: %+v", key, p)
		}
		delete(got, key)
	}
	if len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// A file of nothing but unknown names neither floods whoever reads the warnings nor
// takes long to understand.
func TestManyStrangers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var b strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&b, "\"stranger%d\": 1,\n", i)
	}
	p.write(Project, "{"+b.String()+`"permissions": {"alow": [], "deny": ["Bash"]}}`)
	s := p.load()
	list := s.Problems()
	if len(list) > 100 {
		t.Errorf("%d problems", len(list))
	}
	last := list[len(list)-1]
	if last.Kind != Unknown || !strings.Contains(last.Text, "29980 more") || last.Source.Line == 0 {
		t.Errorf("%+v", last)
	}
	if v, err := s.Get("permissions.deny"); err != nil || string(v.Value) != `["Bash"]` {
		t.Errorf("%+v, %v", v, err)
	}
}

// What a project says beyond restrictions waits for trust in the file as it is.
func TestTrust(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(Project, "{\n\"base_url\": \"http://evil\",\n\"permissions\": {\"allow\": [\"Bash\"], \"deny\": [\"Read(x)\"]},\n\"max_turns\": 5}")
	asked := ""
	p.Trusted = func(f File) bool { asked = f.Sum; return false }
	s := p.load()
	f, ok := s.File(Project)
	if !ok || f.Trusted || f.Sum == "" || asked != f.Sum {
		t.Fatalf("%+v, asked about %s", f, asked)
	}
	var got []string
	for _, n := range s.Needs(f) {
		got = append(got, fmt.Sprintf("%s:%d", n.Key, n.Line))
	}
	if want := "base_url:2 permissions.allow:3"; strings.Join(got, " ") != want {
		t.Errorf("%v", got)
	}
	p.Trusted = func(f File) bool { return f.Sum == asked }
	if s = p.load(); s.Needs(f) != nil {
		t.Errorf("%v", s.Needs(f))
	}
	p.write(Project, `{"base_url":"http://worse"}`)
	if s = p.load(); s.Decode("base_url", new(string)) {
		t.Error("a changed file is still trusted")
	}
	// In the home folder the file is the user's, and nobody is asked.
	p.Trusted, p.Home = nil, filepath.Join(p.Dir, ".openagent")
	if s = p.load(); !s.Decode("base_url", new(string)) {
		t.Error("the user's own file is not trusted")
	}
	if f, ok := s.File(Project); ok {
		t.Errorf("%+v", f)
	}
}

// Models of all layers are put together, the higher layer's in the place of a lower
// one's of the same name; those of a project that is not trusted do not count.
func TestModels(t *testing.T) {
	p := newPlace(t)
	p.write(User, `{"models":[{"name":"a","window":1},{"name":"b","window":2}]}`)
	p.write(Project, `{"models":[{"name":"b","window":3},{"name":"a","provider":"openai"}]}`)
	p.write(Managed, `{"models":[{"name":"c"}]}`)
	for trusted, want := range map[bool]string{
		false: `[{"name":"a","window":1},{"name":"b","window":2},{"name":"c"}]`,
		true:  `[{"name":"a","window":1},{"name":"b","window":3},{"name":"a","provider":"openai"},{"name":"c"}]`,
	} {
		p.Trusted = func(File) bool { return trusted }
		s, err := Load(p.Options)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Get("models")
		if err != nil || string(v.Value) != want {
			t.Errorf("trusted %v: %s, %v", trusted, v.Value, err)
		}
	}
}

// Settings of a program that drives this one bound the others, and never loosen what the machine's
// administrator wants. A guard that there is not here is an error.
func TestBounds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(User, `{"permissions":{"defaultMode":"bypassPermissions","allow":["Bash"]},"max_turns":50,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`)
	p.Bounds = `{"permissions":{"deny":["WebFetch"],"allow":["Write"],"defaultMode":"default"},"max_turns":5,"model":"other","env":{"A":"b"},"allowManagedHooksOnly":true,
		"hooks":{"Stop":[{"hooks":[{"type":"command","command":"false"}]}]}}`
	s := p.load()
	for key, want := range map[string]string{"permissions.deny": `["WebFetch"]`, "permissions.allow": `["Bash"]`, "permissions.defaultMode": `"default"`, "max_turns": "5", "disableAllHooks": "true"} {
		if v, err := s.Get(key); err != nil || string(v.Value) != want {
			t.Errorf("%s: %s %v, want %s", key, v.Value, err, want)
		}
	}
	for _, key := range []string{"model", "env"} {
		if v, err := s.Get(key); err != nil || v.Value != nil {
			t.Errorf("%s: %s %v", key, v.Value, err)
		}
	}
	if list := s.Hooks(); len(list) != 1 || list[0].Command != "false" {
		t.Errorf("hooks: %v", list)
	}
	if n := len(s.Problems()); n != 3 {
		t.Errorf("problems: %v", s.Problems())
	}
	p.write(Managed, `{"allowManagedPermissionRulesOnly":true,"permissions":{"allow":["Bash"]},"max_turns":3}`)
	p.Bounds = `{"permissions":{"allow":["Write"]},"max_turns":4}`
	s = p.load()
	if v, _ := s.Get("permissions.allow"); string(v.Value) != `["Bash"]` {
		t.Errorf("allow: %s", v.Value)
	}
	if v, _ := s.Get("max_turns"); string(v.Value) != "3" {
		t.Errorf("max_turns: %s", v.Value)
	}
	if err := s.PermitsRule("Write"); err == nil {
		t.Error("a rule of the host counts as one of the administrator")
	}
	for _, bad := range []string{`{"sandbox":{"network":{"allowManagedDomainsOnly":true}}}`, `{"permissions":{"deny":7}}`, `[]`, `{`} {
		p.Bounds = bad
		if _, err := Load(p.Options); err == nil || !strings.Contains(err.Error(), BoundsName) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
