// Package config reads settings from their layers. It says of each value which layer
// it comes from, and why it counts.
//
//	settings, err := config.Load(config.Options{Dir: project, Home: home})
//	a.Permissions = settings.Policy()
//
// A later layer counts before an earlier one: defaults of the program, the user's file,
// the project's file, the project's local file, the environment, flags, and managed
// settings of the machine. Lists of permission rules, folders and variables are joined.
// A project's files may restrict; the rest of them counts once you trust them. Managed
// settings only restrict, and no layer overrides them.
//
// The files are JSON objects. A setting has the name that Claude Code gives it, if there
// is one. [Keys] lists them all.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
)

// A Scope is a layer of settings.
type Scope string

const (
	Default     Scope = "default"
	User        Scope = "user"
	Project     Scope = "project"
	Local       Scope = "local"
	Environment Scope = "environment"
	Flags       Scope = "flags"
	Managed     Scope = "managed"
)

// Scopes lists the layers, the lowest first.
var Scopes = []Scope{Default, User, Project, Local, Environment, Flags, Managed}

// A Source is where a value comes from.
type Source struct {
	Scope Scope  `json:"scope"`
	Name  string `json:"name,omitempty"` // of a variable or a flag
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"` // from 1
}

// String returns file:line, the name of a variable or flag, or the scope.
func (s Source) String() string {
	switch {
	case s.File != "":
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	case s.Name != "":
		return s.Name
	}
	return string(s.Scope)
}

// A Given value comes from outside of files: of a variable, a flag or the program.
type Given struct {
	Scope Scope // Default, Environment or Flags
	Name  string
	Key   string
	Value json.RawMessage
}

// Options say where settings are. The zero value reads no file.
type Options struct {
	Dir     string // the project's folder; "": there is none
	Home    string // the folder of the user's file, such as ~/.openagent; "": there is none
	Managed string // the file of managed settings; "": there is none
	// Given are values of the environment and of flags, and defaults of the program.
	// Of two with one scope and key the first counts.
	Given []Given
	// Extra is the value of a flag such as --settings: a JSON object, or the path of
	// a file with one. It counts after the other flags and before the environment.
	Extra string
	// Bounds is a JSON object of settings that bound all others, as managed settings do, of a program
	// that drives this one. They only restrict: other settings of it have no effect.
	Bounds string
	// Layers are the scopes of files that are read, of User, Project and Local.
	// Nil is all; managed settings are always read.
	Layers []Scope
	// Trusted reports whether to trust a file of the project that sets more than a
	// project may. Nil trusts none.
	Trusted func(File) bool
}

// folder is where a project has its files.
const folder = ".openagent"

// ManagedFile is where managed settings are on this system. They belong to its
// administrator.
func ManagedFile() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/openagent/managed-settings.json"
	case "windows":
		return `C:\ProgramData\openagent\managed-settings.json`
	}
	return "/etc/openagent/managed-settings.json"
}

// A Problem is something in a settings file that you should know of.
type Problem struct {
	Source Source `json:"source"`
	Key    string `json:"key,omitempty"`
	Text   string `json:"text"`
	Kind   Kind   `json:"kind"`
}

func (p *Problem) Error() string { return p.Source.String() + ": " + p.Text }

// A Kind says what sort of problem it is.
type Kind string

const (
	Broken  Kind = "broken"  // the file cannot be used: this is an error
	Unknown Kind = "unknown" // there is no such setting
	Idle    Kind = "idle"    // a setting of Claude Code that has no effect here
	Relied  Kind = "relied"  // the same, and it is there to keep something from happening
)

// A Layer is what one layer says about a setting.
type Layer struct {
	Source Source          `json:"source"`
	Value  json.RawMessage `json:"value"`
	Counts bool            `json:"counts"`
	Why    string          `json:"why"` // it counts, or does not

	lines []int // of the items of a list
}

// Settings are the settings of all layers. They do not change.
type Settings struct {
	files    []File
	problems []Problem
	said     map[string][]saying // by key, the highest layer first
	results  map[string]result
}

// A saying is the value of a key in one layer.
type saying struct {
	source  Source
	value   json.RawMessage
	trusted bool
	lines   []int // of the items of a list; nil outside of files
}

// Load reads the settings. A file that is there and cannot be read or
// understood, and a value of the wrong type, is an error: a *[Problem] with file
// and line. To go on without it could allow what it forbids.
func Load(o Options) (*Settings, error) {
	s := &Settings{said: map[string][]saying{}}
	for _, k := range keys {
		if k.Default != nil {
			s.said[k.Name] = []saying{{Source{Scope: Default}, k.Default, true, nil}}
		}
	}
	for _, f := range o.files() {
		if err := s.load(f, o); err != nil {
			return nil, err
		}
	}
	if err := s.bounds(o.Bounds); err != nil {
		return nil, err
	}
	if err := s.extra(o.Extra); err != nil {
		return nil, err
	}
	return s.With(o.Given...)
}

// File returns the file of a scope, unread: User, Project, Local or Managed.
func (o Options) File(scope Scope) (File, bool) {
	for _, f := range o.files() {
		if f.Scope == scope {
			return f, true
		}
	}
	return File{}, false
}

// files lists the files of the layers, the lowest first.
func (o Options) files() []File {
	var list []File
	if o.Home != "" {
		list = append(list, File{Scope: User, Path: filepath.Join(o.Home, "settings.json")})
	}
	dir := filepath.Join(o.Dir, folder)
	if o.Dir != "" && dir != o.Home && !sameFile(dir, o.Home) { // the user's own folder is no project's
		list = append(list, File{Scope: Project, Path: filepath.Join(dir, "settings.json"), root: o.Dir},
			File{Scope: Local, Path: filepath.Join(dir, "settings.local.json"), root: o.Dir})
	}
	if o.Managed != "" {
		list = append(list, File{Scope: Managed, Path: o.Managed})
	}
	return list
}

// load takes in a file.
func (s *Settings) load(f File, o Options) error {
	if o.Layers != nil && f.Scope != Managed && !slices.Contains(o.Layers, f.Scope) {
		return nil
	}
	data, mode, err := read(f.Path)
	own := f.Scope == User || f.Scope == Managed
	if err == nil && data != nil && own && openToAll(mode) {
		err = errors.New("every user can write to the file; remove that right (chmod o-w)")
	}
	if err != nil {
		return f.broken(err)
	}
	if data == nil {
		s.files = append(s.files, f)
		return nil
	}
	f.Exists, f.Sum, f.Trusted = true, sum(data), own
	u, err := understand(f, data)
	if err != nil {
		return f.broken(err)
	}
	if !own && o.Trusted != nil {
		f.Trusted = o.Trusted(f)
	}
	s.files = append(s.files, f)
	s.problems = append(s.problems, u.problems...)
	for _, v := range u.values {
		v.saying.trusted = f.Trusted
		s.add(v.key, v.saying)
	}
	return nil
}

// BoundsName names the settings of a program that drives this one.
const BoundsName = "--managed-settings"

// bounds takes in the settings of a program that drives this one. They count after those of the
// machine's administrator. A restriction that there is not here is an error: it would be missing
// silently.
func (s *Settings) bounds(value string) error {
	if value == "" {
		return nil
	}
	f := File{Scope: Managed, Path: BoundsName, Trusted: true}
	u, err := understand(f, []byte(value))
	if err != nil {
		return f.broken(err)
	}
	for _, p := range u.problems {
		if p.Key == "allowManagedHooksOnly" {
			var all map[string]json.RawMessage
			if err := json.Unmarshal([]byte(value), &all); err != nil {
				return f.broken(err)
			}
			if !isFalse(all[p.Key]) {
				s.add("disableAllHooks", saying{Source{Scope: Flags, Name: BoundsName}, json.RawMessage("true"), true, nil})
			}
			continue
		}
		if p.Kind == Relied {
			p.Kind = Broken
			return &p
		}
		s.problems = append(s.problems, p)
	}
	for _, v := range u.values {
		v.saying.trusted = true
		k, _ := keyNamed(v.key)
		switch {
		case v.key == "disableAllHooks": // hooks of the machine's administrator run
			if isTrue(v.value) {
				v.saying.source = Source{Scope: Flags, Name: BoundsName}
				s.add(v.key, v.saying)
			}
		case k.Restricts || k.tighter != nil || k.Type == Hooks:
			s.add(v.key, v.saying)
		default:
			s.problems = append(s.problems, Problem{v.source, v.key, fmt.Sprintf("%s has no effect in %s, which only restrict", v.key, BoundsName), Idle})
		}
	}
	return nil
}

func isFalse(value json.RawMessage) bool {
	return bytes.Equal(bytes.TrimSpace(value), []byte("false")) || bytes.Equal(bytes.TrimSpace(value), []byte(`"false"`))
}

// extra takes in the value of a flag such as --settings.
func (s *Settings) extra(value string) error {
	if value == "" {
		return nil
	}
	f := File{Scope: Flags, Path: "--settings", Trusted: true}
	data := []byte(value)
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		var err error
		if data, _, err = read(value); err == nil && data == nil {
			return &Problem{Source: Source{Scope: Flags, Name: f.Path}, Text: fmt.Sprintf("there is no file %.200s; name one, or write a JSON object", value), Kind: Broken}
		}
		f.Path = value
		if err != nil {
			return f.broken(err)
		}
		f.Exists = true
		s.files = append(s.files, f)
	}
	u, err := understand(f, data)
	if err != nil {
		return f.broken(err)
	}
	s.problems = append(s.problems, u.problems...)
	for _, v := range u.values {
		v.saying.trusted = true
		s.add(v.key, v.saying)
	}
	return nil
}

// broken returns an error about a file as a *[Problem].
func (f File) broken(err error) error {
	p := &Problem{Source: Source{Scope: f.Scope, File: f.Path, Line: 1}, Text: err.Error(), Kind: Broken}
	var at *lineError
	if errors.As(err, &at) {
		p.Source.Line, p.Text = at.line, at.text
	}
	return p
}

// With returns settings that also have the given values; of values of one scope
// and key those before count. A value that the setting does not accept is an
// error that names the variable or flag.
func (s *Settings) With(given ...Given) (*Settings, error) {
	out := &Settings{files: s.files, problems: s.problems, said: map[string][]saying{}}
	for name, list := range s.said {
		out.said[name] = slices.Clone(list)
	}
	for _, g := range given {
		k, member, err := Find(g.Key)
		if err == nil && member != "" {
			err = fmt.Errorf("%s is not a setting", g.Key)
		}
		if err == nil {
			err = k.Check(g.Value)
		}
		if err != nil {
			var at *lineError
			if errors.As(err, &at) {
				err = errors.New(at.text)
			}
			return nil, fmt.Errorf("%s: %w", g.Name, err)
		}
		out.add(k.Name, saying{Source{Scope: g.Scope, Name: g.Name}, compact(g.Value), true, nil})
	}
	out.results = make(map[string]result, len(keys))
	confined := out.ManagedSandbox()
	for _, k := range keys {
		if confined && k.widens {
			k = out.bounded(k)
		}
		out.results[k.Name] = k.settle(out.said[k.Name])
	}
	if out.flag(managedOnly) {
		k, _ := keyNamed(allowKey)
		k.only = out.listed(allowKey, Managed)
		out.results[allowKey] = k.settle(out.said[allowKey])
	}
	return out, nil
}

// flag returns a setting that is true or false.
func (s *Settings) flag(key string) bool {
	on := false
	s.Decode(key, &on)
	return on
}

// listed returns the texts that a layer has for a key, never nil.
func (s *Settings) listed(key string, scope Scope) []string {
	out := []string{}
	for _, v := range s.said[key] {
		var texts []string
		if v.source.Scope == scope && json.Unmarshal(v.value, &texts) == nil {
			out = append(out, texts...)
		}
	}
	return out
}

// add inserts the value of a layer after those of the same rank.
func (s *Settings) add(key string, v saying) {
	list := s.said[key]
	i := 0
	for i < len(list) && list[i].rank() >= v.rank() {
		i++
	}
	s.said[key] = slices.Insert(list, i, v)
}

// rank orders layers. A file that a flag names counts after other flags.
func (v saying) rank() int {
	r := 2 * slices.Index(Scopes, v.source.Scope)
	if v.source.Scope == Flags && v.source.File != "" {
		r--
	}
	return r
}

func compact(v json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}
