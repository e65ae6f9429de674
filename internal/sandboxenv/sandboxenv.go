// Package sandboxenv names the environment variables that a sandbox sets for each
// command it confines. Their values hold for that command only: the port of a
// proxy differs from one command to the next. A shell that saves its variables
// leaves these out.
package sandboxenv

import (
	"slices"
	"strings"
)

// tempDir names the folder for temporary files.
const tempDir = "TMPDIR"

// proxied are the variables that name a proxy. Programs read some in upper case
// and some in lower case.
var proxied = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

// nodeProxy makes Node.js look at the others.
const nodeProxy = "NODE_USE_ENV_PROXY"

// Names returns the names of all variables that a sandbox sets.
func Names() []string {
	names := []string{tempDir, nodeProxy}
	for _, name := range proxied {
		names = append(names, name, strings.ToLower(name))
	}
	return names
}

// Only returns the entries of env, each "NAME=value", whose names are in [Names].
func Only(env []string) []string {
	names := Names()
	var out []string
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(names, name) {
			out = append(out, kv)
		}
	}
	return out
}

// WithTemp returns env with the folder for temporary files.
func WithTemp(env []string, dir string) []string { return set(env, tempDir, dir) }

// WithoutGoIndex returns env with a setting that keeps the go command from storing an index of
// packages in its cache, which is not writable: it would fail. A shell may save the value: it
// changes nothing else.
func WithoutGoIndex(env []string) []string {
	const off = "goindex=0"
	value := off
	for _, kv := range env {
		if old, ok := strings.CutPrefix(kv, "GODEBUG="); ok && strings.Contains(old, "goindex=") {
			return env
		} else if ok && old != "" {
			value = old + "," + off
		}
	}
	return set(env, "GODEBUG", value)
}

// WithProxy returns env with the variables by which programs find a proxy for HTTP
// and SOCKS5 at address, a host and a port. Programs connect to the hosts in direct
// without it.
func WithProxy(env []string, address string, direct ...string) []string {
	values := []string{"http://" + address, "http://" + address, "socks5h://" + address, strings.Join(direct, ",")}
	for i, name := range proxied {
		env = set(set(env, name, values[i]), strings.ToLower(name), values[i])
	}
	return set(env, nodeProxy, "1")
}

// set returns env with the only value of a name.
func set(env []string, name, value string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return append(out, name+"="+value)
}
