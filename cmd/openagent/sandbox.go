package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// What --sandbox may be: on insists on a sandbox, auto makes do without where the
// system has none, and asks.
const (
	sandboxAuto = "auto"
	sandboxOn   = "on"
	sandboxOff  = "off"
)

var sandboxWords = []string{sandboxAuto, sandboxOn, sandboxOff}

const sandboxPrefix = "sandbox."

// sandboxSettings returns what the settings say of the sandbox, and whether they
// say anything.
func (o *options) sandboxSettings() (s sandbox.Settings, some bool, err error) {
	if o.settings == nil {
		return s, false, nil
	}
	values := map[string]any{}
	for _, k := range config.Keys() {
		name, ours := strings.CutPrefix(k.Name, sandboxPrefix)
		v := o.setting(k.Name)
		if !ours || v.Value == nil {
			continue
		}
		some = some || v.Source.Scope != config.Default
		put(values, strings.Split(name, "."), v.Value)
	}
	data, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil {
		err = s.Check()
	}
	if _, says := o.managed("sandbox.memoryMB"); !says && o.settings.ManagedSandbox() {
		s.MemoryMB = min(s.MemoryMB, sandbox.DefaultMemory()>>20) // 0 is the default
	}
	var wrong *sandbox.SettingError
	if errors.As(err, &wrong) {
		err = cli.Usagef("%s: %s%s %w", o.setting(sandboxPrefix+wrong.Setting).Source, sandboxPrefix, wrong.Setting, wrong.Err)
	}
	return s, some, err
}

// put sets the member of an object that a path of names leads to.
func put(object map[string]any, path []string, value any) {
	if len(path) == 1 {
		object[path[0]] = value
		return
	}
	inner, ok := object[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		object[path[0]] = inner
	}
	put(inner, path[1:], value)
}

// confine applies the settings of the sandbox to what the tools of a run work on.
// It comes before there are tools.
func (h *host) confine(s *setup) error {
	settings, some, err := s.options.sandboxSettings()
	if err != nil || !some {
		return err
	}
	place := sandbox.Place{Dir: s.project, Roots: h.writableFolders(s.options, s.project), Private: h.private()}
	if dir, err := tool.OutputDir(); err == nil {
		place.Readable = append(place.Readable, dir) // else there are no long outputs to be read
	}
	if s.sandbox, err = sandbox.New(settings, place); err != nil {
		return cli.Usagef("%w", err)
	}
	s.workspace.Confine = s.sandbox.Confiner()
	return nil
}

// writableFolders lists the further folders that confined commands may write. Where
// managed settings switch the sandbox on, they are those that managed settings list.
func (h *host) writableFolders(o *options, dir string) []string {
	if !o.settings.ManagedSandbox() {
		return o.dirs
	}
	var listed, out []string
	if v, ok := o.managed(foldersKey); ok {
		_ = json.Unmarshal(v.Value, &listed) // it was checked
	}
	for _, folder := range o.dirs {
		if slices.ContainsFunc(listed, func(name string) bool { return folderNamed(name, dir) == folder }) {
			out = append(out, folder)
		} else {
			h.complain("%s can be read but not written: managed settings switch the sandbox on, and their %s does not list it", folder, foldersKey)
		}
	}
	return out
}

// guard has the sandbox judge the calls of an agent.
func (s *setup) guard(p *permission.Policy, judges []permission.Decider) []permission.Decider {
	if s.sandbox == nil {
		return judges
	}
	p.AllowConfined = s.sandbox.AutoAllow()
	return append(judges, s.sandbox)
}

// box is the sandbox that Bash knows of, nil where commands are not confined.
func (s *setup) box() tools.Sandbox {
	if s.sandbox == nil || !s.workspace.Confines() {
		return nil
	}
	return s.sandbox
}

// warnOfSandbox tells that commands are not confined although they should be.
func (h *host) warnOfSandbox(s *setup) {
	if s.sandbox == nil {
		return
	}
	switch st := s.sandbox.State(); {
	case st.Enabled && st.Backend == "":
		h.complain("the sandbox is enabled, but this system has none (%s): commands that may change something are asked about", strings.Join(st.Unavailable, "; "))
	case len(st.Lacks) > 0:
		h.complain("the sandbox %s does not hold all that it should: %s", st.Backend, strings.Join(st.Lacks, "; "))
	}
}

// warnOfBypass recommends the sandbox where nothing else bounds what commands do.
func (h *host) warnOfBypass(s *setup) {
	if permission.Mode(s.options.mode) == permission.Bypass && !s.workspace.Confines() {
		h.complain("mode bypassPermissions without a sandbox: commands may read and change whatever you may; confine them with --sandbox on")
	}
}

// examineSandbox tells what confines commands here, and what does not.
func (h *host) examineSandbox() finding {
	const name = "sandbox"
	dir, err := workingDir()
	if err != nil {
		return finding{name, false, err.Error()}
	}
	s, err := config.Load(h.sources(new(options), dir))
	if err != nil {
		return finding{name, true, "the settings cannot be read"} // their own line says why
	}
	settings, _, err := (&options{settings: s}).sandboxSettings()
	if err != nil {
		return finding{name, false, err.Error()}
	}
	enabled := settings.Enabled
	settings.Enabled, settings.FailIfUnavailable = true, false
	box, err := sandbox.New(settings, sandbox.Place{Dir: dir, Private: h.private()})
	if err != nil {
		return finding{name, false, err.Error()}
	}
	defer box.Close()
	st := box.State()
	words := []string{fmt.Sprintf("off; --sandbox auto would use %s", st.Backend)}
	switch {
	case st.Backend == "":
		words = []string{"there is none on this system"}
	case enabled:
		words = []string{st.Backend + ", network " + st.Network}
	}
	if len(st.Lacks) > 0 {
		words = append(words, "lacks: "+strings.Join(st.Lacks, ", "))
	}
	if len(st.Unavailable) > 0 {
		words = append(words, "not used: "+strings.Join(st.Unavailable, ", "))
	}
	return finding{name, st.Backend != "" || !enabled, strings.Join(words, "; ")}
}
