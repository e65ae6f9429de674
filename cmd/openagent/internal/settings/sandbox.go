package settings

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/sandbox"
)

// Values of --sandbox. With "on" a sandbox is required. With "auto" the run works without one if
// the system has none, and asks the user.
const (
	sandboxAuto = "auto"
	sandboxOn   = "on"
	sandboxOff  = "off"
)

var sandboxWords = []string{sandboxAuto, sandboxOn, sandboxOff}

const sandboxPrefix = "sandbox."

// SandboxSettings returns the sandbox settings, and whether any are set.
func (o *Options) SandboxSettings() (s sandbox.Settings, some bool, err error) {
	if o.Settings == nil {
		return s, false, nil
	}
	values := map[string]any{}
	for _, k := range config.Keys() {
		name, ours := strings.CutPrefix(k.Name, sandboxPrefix)
		v := o.Setting(k.Name)
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
	if _, says := o.Managed("sandbox.memoryMB"); !says && o.Settings.ManagedSandbox() {
		s.MemoryMB = min(s.MemoryMB, sandbox.DefaultMemory()>>20) // 0 is the default
	}
	var wrong *sandbox.SettingError
	if errors.As(err, &wrong) {
		err = cli.Usagef("%s: %s%s %w", o.Setting(sandboxPrefix+wrong.Setting).Source, sandboxPrefix, wrong.Setting, wrong.Err)
	}
	return s, some, err
}

// put sets the member of an object at a path of names.
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
