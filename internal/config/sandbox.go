package config

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// The settings of the sandbox: the names of Claude Code's, and of its siblings.

func isTrue(v json.RawMessage) bool { return bytes.Equal(v, []byte("true")) }

// on, off order settings that restrict where they are true, or false.
func on(a, b json.RawMessage) bool  { return isTrue(a) && !isTrue(b) }
func off(a, b json.RawMessage) bool { return !isTrue(a) && isTrue(b) }

var no = json.RawMessage("false")

var sandboxKeys = []Key{
	{Name: "sandbox.enabled", Type: Bool, Doc: "run commands in the operating system's sandbox", Default: no, Flag: "sandbox", tighter: on},
	{Name: "sandbox.failIfUnavailable", Type: Bool, Doc: "refuse to start if this system has no sandbox; otherwise commands that may change something ask", Default: no, Flag: "sandbox", tighter: on},
	{Name: "sandbox.autoAllowBashIfSandboxed", Type: Bool, Doc: "let the permission mode run confined commands without a question", Default: no, tighter: off},
	{Name: "sandbox.allowUnsandboxedCommands", Type: Bool, Doc: "let the model ask to run a command outside the sandbox", Default: no, tighter: off, widens: true},
	{Name: "sandbox.excludedCommands", Type: Texts, Doc: "commands that run outside the sandbox, such as docker, or git push *", Joined: true, widens: true},
	{Name: "sandbox.allowNestedSandbox", Type: Bool, Doc: "let commands create namespaces", Default: no, tighter: off, widens: true},
	{Name: "sandbox.enableWeakerNestedSandbox", Type: Bool, Doc: "accept a weaker sandbox inside containers that allow no other", Default: no, tighter: off, widens: true},
	{Name: "sandbox.memoryMB", Type: Whole, Doc: "the most memory for all processes of a confined command, in MB; not set: 1024 plus 512 per processor, at most half of the machine's", tighter: lowerNumber, absentIsLess: true},
	{Name: "sandbox.allowedReadPaths", Type: Texts, Doc: "the only paths that can be read, besides writable paths and, for commands, system folders; empty: everything that is not denied"},
	{Name: "sandbox.allowedWritePaths", Type: Texts, Doc: "paths that can be written; empty: the working folders and the folder for temporary files", widens: true},
	{Name: "sandbox.deniedPaths", Type: Texts, Doc: "paths that can be neither read nor written", Joined: true, Restricts: true},
	{Name: "sandbox.allowedCommands", Type: Texts, Doc: "names of the only commands that can run, at any depth of a line; [] is none"},
	{Name: "sandbox.deniedCommands", Type: Texts, Doc: "names of commands that cannot run; they win over allowed ones", Joined: true, Restricts: true},
	{Name: "sandbox.network.allowedDomains", Type: Texts, Doc: "hosts that commands can reach: example.com, *.example.com, an address, each with :port or without", Joined: true, widens: true},
	{Name: "sandbox.network.deniedDomains", Type: Texts, Doc: "hosts that commands cannot reach; they win over allowed ones", Joined: true, Restricts: true},
	{Name: "sandbox.network.allowAnyDomain", Type: Bool, Doc: "let commands reach every name with a public address", Default: no, tighter: off, widens: true},
	{Name: "sandbox.network.allowPrivateNetworks", Type: Bool, Doc: "let allowed names have loopback and private addresses", Default: no, tighter: off, widens: true},
	{Name: "sandbox.network.allowLocalBinding", Type: Bool, Doc: "let commands listen on a loopback of their own", Default: no, tighter: off, widens: true},
	{Name: "sandbox.network.allowAllUnixSockets", Type: Bool, Doc: "let commands use UNIX sockets, and so the host's services that have one", Default: no, tighter: off, widens: true},
	{Name: "sandbox.filesystem.allowWrite", Type: Texts, Doc: "more files and folders that can be written", Joined: true, widens: true},
	{Name: "sandbox.filesystem.denyWrite", Type: Texts, Doc: "paths that cannot be written although they lie in writable folders", Joined: true, Restricts: true},
	{Name: "sandbox.filesystem.denyRead", Type: Texts, Doc: "paths that can be neither read nor written, except those in allowRead", Joined: true, Restricts: true},
	{Name: "sandbox.filesystem.allowRead", Type: Texts, Doc: "paths that can be read although they are in denyRead", Joined: true, widens: true},
}

// ManagedSandbox reports whether managed settings switch the sandbox on.
func (s *Settings) ManagedSandbox() bool {
	return slices.ContainsFunc(s.said["sandbox.enabled"], func(v saying) bool { return v.source.Scope == Managed && isTrue(v.value) })
}

// bounded returns a key that widens a sandbox which managed settings switch on.
func (s *Settings) bounded(k Key) Key {
	if k.Joined {
		k.only = s.listed(k.Name, Managed)
		return k
	}
	k.fixed = !slices.ContainsFunc(s.said[k.Name], func(v saying) bool { return v.source.Scope == Managed })
	return k
}

// loosens reports whether a value of a key that widens lets commands do more than
// the default: a switch that is on, or paths that lead out of the working folder.
func (k Key) loosens(value json.RawMessage) bool {
	if k.Type == Bool {
		return isTrue(value)
	}
	var paths []string
	if json.Unmarshal(value, &paths) != nil {
		return true
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		return !filepath.IsLocal(strings.TrimSuffix(path, "/**")) || strings.HasPrefix(path, "~")
	})
}
