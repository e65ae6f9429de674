package workspace

import "github.com/openagent-go/agent/internal/environ"

// environ is the environment of commands of w, as "NAME=value": the process's environment
// without its secrets, with the variables of w.
func (w *Workspace) environ() []string { return environ.Child(w.Pass, w.Env) }
