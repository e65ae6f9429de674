package workspace

import "github.com/openagent-go/agent/internal/environ"

// Secret reports whether a variable of this name is kept from commands: those
// of package environ, and every variable of ANTHROPIC_, OPENAI_ and
// OPENAGENT_. A command gets those that [Workspace].Pass names, and those of
// [Workspace].Env.
func Secret(name string) bool { return environ.Secret(name) || environ.Own(name) }

// Environ is the environment of commands of w, as "NAME=value": the process's environment
// without its secrets, with the variables of w.
func (w *Workspace) Environ() []string { return environ.Child(w.Pass, w.Env) }

// Secrets returns the values of the variables of w that must not be shown: all of
// Env and those that Pass names, but for common words and paths that exist.
func (w *Workspace) Secrets() []string {
	return append(environ.Given(w.Env), environ.Named(w.Pass)...)
}
