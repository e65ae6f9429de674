package parts

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/badsetting"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/sandbox"
)

// SandboxPrefix begins the settings keys of the sandbox.
const SandboxPrefix = "sandbox."

// SandboxSettings returns the sandbox settings, and whether any are set. s may be nil.
func SandboxSettings(s *config.Settings) (out sandbox.Settings, some bool, err error) {
	if s == nil {
		return out, false, nil
	}
	values := map[string]any{}
	for _, k := range config.Keys() {
		name, ours := strings.CutPrefix(k.Name, SandboxPrefix)
		if !ours {
			continue
		}
		v, err := s.Get(k.Name)
		if err != nil {
			return out, some, err
		}
		if v.Value == nil {
			continue
		}
		some = some || v.Source.Scope != config.Default
		put(values, strings.Split(name, "."), v.Value)
	}
	data, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err == nil {
		err = out.Check()
	}
	if _, says := s.Managed(SandboxPrefix + "memoryMB"); !says && s.ManagedSandbox() {
		out.MemoryMB = min(out.MemoryMB, sandbox.DefaultMemory()>>20) // 0 is the default
	}
	var wrong *badsetting.Error
	if errors.As(err, &wrong) {
		if v, unknown := s.Get(SandboxPrefix + wrong.Setting); unknown == nil {
			err = fmt.Errorf("%s: %s%s %w", v.Source, SandboxPrefix, wrong.Setting, wrong.Err)
		}
	}
	return out, some, err
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

// QuotasName is the folder of the limits of cost, in the folder of the user's own files.
const QuotasName = "quotas"

// PrivatePaths returns the paths in the folder of the user's own files that no tool may read or
// change: secrets, trust records, jobs, what is spent, the token and the shares of servers, and the
// sessions of all projects. Settings, instructions and tools stay accessible; changes to them need
// permission.
func PrivatePaths(home string) []string {
	if home == "" {
		return nil // nothing is stored
	}
	var out []string
	for _, name := range []string{"triggers.json", "trust.json", "cron", "sessions", "checkpoints", "serve", QuotasName, LoginsName, KeysName} {
		out = append(out, filepath.Join(home, name))
	}
	return out
}

// SandboxWarning says why commands are not confined as the settings ask, or "". box may be nil.
func SandboxWarning(box *sandbox.Sandbox) string {
	if box == nil {
		return ""
	}
	switch st := box.State(); {
	case st.Enabled && st.Backend == "":
		return fmt.Sprintf("the sandbox is enabled, but this system has none (%s): commands that may change something need permission", strings.Join(st.Unavailable, "; "))
	case len(st.Lacks) > 0:
		return fmt.Sprintf("the sandbox %s lacks some protections: %s", st.Backend, strings.Join(st.Lacks, "; "))
	}
	return ""
}
