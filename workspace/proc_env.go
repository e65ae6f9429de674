package workspace

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/openagent-go/agent/tool"
)

// ownPrefixes are those of the variables that configure us.
var ownPrefixes = []string{"ANTHROPIC_", "OPENAI_", "OPENAGENT_", "CODEANY_"}

// Secret reports whether a variable of this name is kept from commands: those
// of [tool.SecretName], and every variable of ANTHROPIC_, OPENAI_, OPENAGENT_
// and CODEANY_. What a command needs of these is given to it in [Workspace].Env.
func Secret(name string) bool {
	own := func(p string) bool { return strings.HasPrefix(strings.ToUpper(name), p) }
	return tool.SecretName(name) || slices.ContainsFunc(ownPrefixes, own)
}

// environ is the process's environment without its secrets, with the variables
// of w, as "NAME=value".
func (w *Workspace) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return Secret(name)
	})
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		env = append(env, name+"="+w.Env[name])
	}
	return env
}
