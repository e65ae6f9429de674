package workspace

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// Names of variables that commands do not inherit. The rule is by name alone:
// better a variable too many than a key in the hands of a command that the
// model wrote. What a command needs of these is given to it in [Workspace].Env.
var (
	secretPrefixes = []string{"ANTHROPIC_", "OPENAI_", "OPENAGENT_", "CODEANY_"}
	secretSuffixes = []string{
		"APIKEY", "API_KEY", "ACCESS_KEY", "ACCESS_KEY_ID", "SECRET_KEY", "PRIVATE_KEY", "_KEY_BASE",
		"TOKEN", "SECRET", "PASSWORD", "PASSWD", "_PWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "_PAT", "_AUTH",
	}
)

// Secret reports whether a variable of this name is kept from commands: API
// keys, tokens, passwords and credentials, and every variable of ANTHROPIC_,
// OPENAI_, OPENAGENT_ and CODEANY_. Case does not matter.
func Secret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(secretSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
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
