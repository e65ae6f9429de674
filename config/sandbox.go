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
	{Name: "sandbox.enabled", Type: Bool, Doc: "the operating system confines commands", Default: no, Flag: "sandbox", tighter: on},
	{Name: "sandbox.failIfUnavailable", Type: Bool, Doc: "without a sandbox on this system nothing runs; otherwise commands that may change something are asked about there", Default: no, Flag: "sandbox", tighter: on},
	{Name: "sandbox.autoAllowBashIfSandboxed", Type: Bool, Doc: "confined commands need no question by the mode", Default: no, tighter: off},
	{Name: "sandbox.allowUnsandboxedCommands", Type: Bool, Doc: "the model may ask to run a command outside of the sandbox", Default: no, tighter: off, widens: true},
	{Name: "sandbox.excludedCommands", Type: Texts, Doc: "commands that run outside of the sandbox, such as docker, or git push *", Joined: true, widens: true},
	{Name: "sandbox.allowNestedSandbox", Type: Bool, Doc: "commands may make namespaces of their own", Default: no, tighter: off, widens: true},
	{Name: "sandbox.enableWeakerNestedSandbox", Type: Bool, Doc: "a weaker sandbox will do where containers allow no other", Default: no, tighter: off, widens: true},
	{Name: "sandbox.memoryMB", Type: Whole, Doc: "most memory that the processes of a confined command take together, in MB; without it 1024 and 512 for each processor, at most half of the machine's", tighter: lowerNumber, absentIsLess: true},
	{Name: "sandbox.allowedReadPaths", Type: Texts, Doc: "what alone may be read beside what may be written and, by commands, the folders of the system; empty: all that is not denied"},
	{Name: "sandbox.allowedWritePaths", Type: Texts, Doc: "what may be written; empty: the folders that are worked in and the one for temporary files", widens: true},
	{Name: "sandbox.deniedPaths", Type: Texts, Doc: "what is neither read nor written", Joined: true, Restricts: true},
	{Name: "sandbox.allowedCommands", Type: Texts, Doc: "names of the only commands that may run, at any depth of a line; [] is none"},
	{Name: "sandbox.deniedCommands", Type: Texts, Doc: "names of commands that may not run; they count before those allowed", Joined: true, Restricts: true},
	{Name: "sandbox.network.allowedDomains", Type: Texts, Doc: "hosts that commands may reach: example.com, *.example.com, an address, each with :port or without", Joined: true, widens: true},
	{Name: "sandbox.network.deniedDomains", Type: Texts, Doc: "hosts that commands may not reach; they count before those allowed", Joined: true, Restricts: true},
	{Name: "sandbox.network.allowAnyDomain", Type: Bool, Doc: "commands may reach all names that lead to public addresses", Default: no, tighter: off, widens: true},
	{Name: "sandbox.network.allowPrivateNetworks", Type: Bool, Doc: "allowed names may lead to loopback and private addresses", Default: no, tighter: off, widens: true},
	{Name: "sandbox.network.allowLocalBinding", Type: Bool, Doc: "commands may listen on a loopback of their own", Default: no, tighter: off, widens: true},
	{Name: "sandbox.network.allowAllUnixSockets", Type: Bool, Doc: "commands may use UNIX sockets, and so the services of the host that have one", Default: no, tighter: off, widens: true},
	{Name: "sandbox.filesystem.allowWrite", Type: Texts, Doc: "further files and folders that may be written", Joined: true, widens: true},
	{Name: "sandbox.filesystem.denyWrite", Type: Texts, Doc: "what is not written although it is in what may be", Joined: true, Restricts: true},
	{Name: "sandbox.filesystem.denyRead", Type: Texts, Doc: "what is neither read nor written, but for allowRead", Joined: true, Restricts: true},
	{Name: "sandbox.filesystem.allowRead", Type: Texts, Doc: "what is read although it is in denyRead", Joined: true, widens: true},
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
