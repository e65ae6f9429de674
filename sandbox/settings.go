package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/badsetting"
	"github.com/openagent-go/agent/internal/proxy"
	"github.com/openagent-go/agent/permission"
)

// Settings limit the calls of an agent: paths, commands and hosts. They are plain data;
// their JSON has the names of Claude Code's settings if it has such a setting. The zero
// value confines nothing.
//
// A path is absolute, begins with "~/", or is relative to the working directory;
// it stands for a file or a folder with all below it. A "/**" at its end changes
// nothing; other patterns are refused.
type Settings struct {
	// Enabled makes the operating system confine commands. The rules about paths and
	// commands hold without it too, as far as they can be checked before a call.
	Enabled bool `json:"enabled,omitempty"`
	// AllowUnconfined: where the operating system cannot confine, commands that may change
	// something are asked about. Otherwise [New] fails there with [ErrUnavailable]. In JSON,
	// "failIfUnavailable": false says the same.
	AllowUnconfined bool `json:"allowUnconfined,omitempty"`
	// AutoAllowBash spares confined commands the question that the mode would ask.
	AutoAllowBash bool `json:"autoAllowBashIfSandboxed,omitempty"`
	// AllowUnsandboxed lets the model ask for a command to run outside of the
	// sandbox. A person is asked about each.
	AllowUnsandboxed bool `json:"allowUnsandboxedCommands,omitempty"`
	// ExcludedCommands run outside of the sandbox and are judged as without one:
	// names such as "docker", or patterns as in Bash rules, such as "docker compose *".
	ExcludedCommands []string `json:"excludedCommands,omitempty"`
	// AllowNested lets confined programs create namespaces, as a sandbox inside does.
	AllowNested bool `json:"allowNestedSandbox,omitempty"`
	// WeakerNested accepts a weaker sandbox where this program is itself in a container
	// that forbids a private /proc.
	WeakerNested bool `json:"enableWeakerNestedSandbox,omitempty"`

	// AllowedReadPaths may be read in addition to the writable paths. Empty: everything
	// that is not denied. Commands also read the folders of the system.
	AllowedReadPaths []string `json:"allowedReadPaths,omitempty"`
	// AllowedWritePaths may be written. Empty: the working folders and the folder for
	// temporary files.
	AllowedWritePaths []string `json:"allowedWritePaths,omitempty"`
	DeniedPaths       []string `json:"deniedPaths,omitempty"` // neither read nor written
	// AllowedCommands are the names of the only commands that may run, at any depth
	// of a line, built-in ones included; nil: any; empty: none.
	AllowedCommands []string `json:"allowedCommands"`
	DeniedCommands  []string `json:"deniedCommands,omitempty"` // count before AllowedCommands

	// MemoryMB is how many MB of memory the processes of a confined command may take
	// together; one that takes more is killed. 0: [DefaultMemory].
	MemoryMB int `json:"memoryMB,omitempty"`

	Network    Network    `json:"network,omitzero"`    // hosts that commands may reach
	Filesystem Filesystem `json:"filesystem,omitzero"` // folders that commands may read and write

	protected []string // by the deny rules of a place
}

// Network lists the hosts that confined commands may reach. The zero value is none.
type Network struct {
	// AllowedDomains are domains ("example.com"), all hosts below one
	// ("*.example.com") and addresses, each for every port or one ("example.com:443").
	AllowedDomains []string `json:"allowedDomains,omitempty"`
	DeniedDomains  []string `json:"deniedDomains,omitempty"` // count before those allowed
	// AllowAnyDomain allows all names that lead to public addresses.
	AllowAnyDomain bool `json:"allowAnyDomain,omitempty"`
	// AllowPrivateNetworks lets names lead to loopback and private addresses. An
	// address among AllowedDomains, and localhost, may be such without it.
	AllowPrivateNetworks bool `json:"allowPrivateNetworks,omitempty"`
	// AllowLocalBinding lets commands listen on their own loopback.
	AllowLocalBinding bool `json:"allowLocalBinding,omitempty"`
	// AllowAllUnixSockets lets commands reach services of the host that have a UNIX socket.
	// The work of these services is not confined.
	AllowAllUnixSockets bool `json:"allowAllUnixSockets,omitempty"`
}

func (n Network) rules() proxy.Rules {
	return proxy.Rules{Allow: n.AllowedDomains, Deny: n.DeniedDomains, AnyDomain: n.AllowAnyDomain, Private: n.AllowPrivateNetworks}
}

// allowed are the rules without those that deny.
func (n Network) allowed() proxy.Rules { return proxy.Rules{Allow: n.AllowedDomains} }

// some reports whether anybody may be talked to.
func (n Network) some() bool { return len(n.AllowedDomains) > 0 || n.AllowAnyDomain }

// Filesystem are the same rules about paths in the names of Claude Code's.
type Filesystem struct {
	AllowWrite []string `json:"allowWrite,omitempty"` // further paths that may be written
	DenyWrite  []string `json:"denyWrite,omitempty"`  // not written, although below a writable path
	DenyRead   []string `json:"denyRead,omitempty"`   // neither read nor written, but for AllowRead
	AllowRead  []string `json:"allowRead,omitempty"`  // read although below DenyRead
}

// UnmarshalJSON also reads the member failIfUnavailable of settings files, which is the
// reverse of AllowUnconfined.
func (s *Settings) UnmarshalJSON(data []byte) error {
	type plain Settings
	in := struct {
		*plain
		FailIfUnavailable *bool `json:"failIfUnavailable"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if f := in.FailIfUnavailable; f != nil {
		s.AllowUnconfined = !*f
	}
	return nil
}

// paths lists the settings that are paths, by name.
func (s Settings) paths() []pathSetting {
	return []pathSetting{
		{"allowedReadPaths", s.AllowedReadPaths, false}, {"allowedWritePaths", s.AllowedWritePaths, false}, {"deniedPaths", s.DeniedPaths, true},
		{"filesystem.allowWrite", s.Filesystem.AllowWrite, false}, {"filesystem.denyWrite", s.Filesystem.DenyWrite, true},
		{"filesystem.denyRead", s.Filesystem.DenyRead, true}, {"filesystem.allowRead", s.Filesystem.AllowRead, true},
		{denyRules, s.protected, true},
	}
}

// A pathSetting is a list of paths.
type pathSetting struct {
	name    string
	list    []string
	follows bool // relative paths also hold in the other worktrees of the repository
}

// relative reports whether a setting that follows into worktrees has relative paths.
func (s Settings) relative() bool {
	return slices.ContainsFunc(s.paths(), func(p pathSetting) bool { return p.follows && slices.ContainsFunc(p.list, relative) })
}

// Check reports the first thing that is wrong with the settings. The error names the setting.
func (s Settings) Check() error {
	for _, p := range s.paths() {
		for _, path := range p.list {
			if err := checkPath(path); err != nil {
				return &badsetting.Error{Setting: p.name, Err: fmt.Errorf("%.200q %w", path, err)}
			}
		}
	}
	if s.MemoryMB < 0 || s.MemoryMB > maxMemoryMB {
		return &badsetting.Error{Setting: "memoryMB", Err: fmt.Errorf("%d is not a number from 1 to %d; leave it out for the default", s.MemoryMB, maxMemoryMB)}
	}
	if err := checkNames("allowedCommands", s.AllowedCommands); err != nil {
		return err
	}
	if err := checkNames("deniedCommands", s.DeniedCommands); err != nil {
		return err
	}
	for _, c := range s.ExcludedCommands {
		if _, err := excludedRule(c); err != nil {
			return &badsetting.Error{Setting: "excludedCommands", Err: err}
		}
	}
	if err := s.Network.allowed().Check(); err != nil {
		return &badsetting.Error{Setting: "network.allowedDomains", Err: err}
	}
	if err := s.Network.rules().Check(); err != nil {
		return &badsetting.Error{Setting: "network.deniedDomains", Err: err}
	}
	return nil
}

func checkNames(setting string, names []string) error {
	for _, c := range names {
		if c == "" || strings.ContainsAny(c, "/\\ \t\n*?[]\"'$`;|&<>()\x00") {
			return &badsetting.Error{Setting: setting, Err: fmt.Errorf("%.100q is not the name of a command; for patterns use permission rules such as Bash(git push *)", c)}
		}
	}
	return nil
}

func checkPath(path string) error {
	path = strings.TrimSuffix(path, "/**")
	switch {
	case path == "":
		return errors.New("is empty; name a file or a folder")
	case strings.ContainsRune(path, 0):
		return errors.New("holds a NUL byte")
	case strings.ContainsAny(path, "*?["):
		return errors.New("is a pattern; name a file or a folder, which covers all below it")
	case strings.HasPrefix(path, "~") && path != "~" && !strings.HasPrefix(path, "~/"):
		return errors.New("begins with the home folder of another user; write it in full")
	}
	return nil
}

// excludedRule is the Bash rule that an excluded command stands for.
func excludedRule(command string) (permission.Rule, error) {
	command = strings.TrimSpace(command)
	if command == "" || strings.HasPrefix(command, "*") {
		return "", fmt.Errorf("%.100q would exclude every command; name one", command)
	}
	if !slices.ContainsFunc([]string{"*", " "}, func(s string) bool { return strings.Contains(command, s) }) {
		command += " *"
	}
	return permission.ParseRule("Bash(" + command + ")")
}
