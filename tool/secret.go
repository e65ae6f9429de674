package tool

import "github.com/openagent-go/agent/internal/environ"

// SecretName reports whether an environment variable of this name is taken for
// a secret: keys, tokens, passwords, credentials, cookies and addresses of databases.
// Case does not matter. The rule is by name alone: better a variable too many than
// a key shown.
func SecretName(name string) bool { return environ.Secret(name) }
