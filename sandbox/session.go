package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/proxy"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/sandboxenv"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/worktrees"
)

// A Sandbox is settings at a place, with the backend that enforces them. Its method Decide
// makes it a [permission.Decider] for [agent.Agent].Policies; [Sandbox.Confiner] returns
// the value for [workspace.Workspace].Confine. It is safe for concurrent use.
type Sandbox struct {
	rules      *Rules
	backend    backendKind // nil: disabled by the settings, or none works
	attempts   []refusal
	policy     confinement
	proxy      *proxy.Proxy
	temp       string
	unsearched []string // see [guardedBelow]
	// holdsFiles: the backend sees to all rules about files.
	holdsFiles bool

	mu    sync.Mutex
	base  *view              // of runs in the working directory; guarded by mu
	apart map[worktree]*view // of runs in worktrees; guarded by mu
}

// A view holds the rules for a run in a folder.
type view struct {
	rules  *Rules
	policy confinement // without the paths that git writes in a worktree
	err    error       // unless nil, nothing may run there
}

// ErrUnavailable is matched by the error of [New] where the settings insist on a
// sandbox and the system has none.
var ErrUnavailable = errors.New("the operating system confines no commands here")

// New applies settings at a place. It finds the backend and starts the proxy if the
// settings allow some hosts. If the place names no folder for temporary files, New makes a
// private one. Close the Sandbox after the last command has ended.
func New(settings Settings, p Place) (*Sandbox, error) {
	s := &Sandbox{}
	if err := s.open(settings, p); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sandbox) open(settings Settings, p Place) (err error) {
	if err := settings.Check(); err != nil {
		return err
	}
	if settings.Enabled {
		s.backend, s.attempts = detect(confinement{Weaker: settings.WeakerNested, Nested: settings.AllowNested})
		if s.backend == nil && !settings.AllowUnconfined {
			return fmt.Errorf("sandbox: %w (%s); allow unconfined commands (AllowUnconfined, or failIfUnavailable false in settings) to be asked about them instead, or disable the sandbox", ErrUnavailable, s.whyNone())
		}
	}
	if p.Temp == "" && s.backend != nil {
		if s.temp, err = os.MkdirTemp("", "openagent-tmp-"); err != nil {
			return fmt.Errorf("sandbox: making a folder for temporary files: %w; set TMPDIR to a folder that can be written", err)
		}
		p.Temp, p.ownTemp = s.temp, true
	}
	if s.rules, err = settings.At(p); err != nil {
		return err
	}
	s.base = &view{rules: s.rules}
	if s.backend == nil {
		return nil
	}
	if settings.Network.some() {
		if s.proxy, err = proxy.Start(proxy.Config{Rules: settings.Network.rules()}); err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
	}
	s.policy, s.unsearched = s.rules.policy()
	removeAbandoned(s.policy)
	if s.proxy != nil {
		s.policy.Proxy = s.proxy.Socket()
		s.policy.Loopback, s.policy.ProxyLoopback = settings.Network.rules().Loopback()
	}
	s.base.policy = s.policy
	s.holdsFiles = s.backend.Lacks(s.policy) == nil
	return nil
}

// Close ends the proxy and removes the folder for temporary files. A second Close
// changes nothing.
func (s *Sandbox) Close() error {
	var errs []error
	if s.proxy != nil {
		errs = append(errs, s.proxy.Close())
	}
	if s.temp != "" {
		errs = append(errs, os.RemoveAll(s.temp))
	}
	return errors.Join(errs...)
}

// Rules are the settings as they apply here.
func (s *Sandbox) Rules() *Rules { return s.now().rules }

// Confiner returns the function that starts commands confined, nil if nothing confines
// them. dir is the working folder of the run: a command of a run in a git worktree may
// write that worktree, and not the main folder. own are further folders that the command
// may write.
func (s *Sandbox) Confiner() func(cmd *exec.Cmd, dir string, own ...string) (release func() (left int, signaled bool), err error) {
	if s.backend == nil {
		return nil
	}
	return s.confine
}

// at returns the rules for a run in a folder.
func (s *Sandbox) at(dir string) *view {
	base := s.now()
	if dir == "" || dir == s.rules.place.Dir {
		return base
	}
	w := worktreeOf(dir)
	if w == nil || s.rules.worktree != nil && *w == *s.rules.worktree || !s.worksIn(w.top) {
		return base
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.apart[*w]
	if !ok {
		v = s.view(base.rules.in(w))
		if s.apart == nil {
			s.apart = map[worktree]*view{}
		}
		s.apart[*w] = v
	}
	return v
}

// view returns the view that the rules belong to.
func (s *Sandbox) view(rules *Rules, err error) *view {
	v := &view{rules: rules, err: err}
	if err == nil && s.backend != nil {
		v.policy, _ = rules.policy()
		v.policy.Proxy, v.policy.Loopback, v.policy.ProxyLoopback = s.policy.Proxy, s.policy.Loopback, s.policy.ProxyLoopback
	}
	return v
}

// known returns the rules for a run in the working directory, with the worktrees of the
// last call of [Sandbox.now].
func (s *Sandbox) known() *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base
}

// now is known with the worktrees that are there now.
func (s *Sandbox) now() *view {
	if !s.rules.settings.relative() {
		return s.known()
	}
	trees := worktrees.Of(paths.RealPath(s.rules.place.Dir))
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(trees, s.base.rules.trees) {
		rules, err := s.rules.settings.At(s.rules.place)
		if err != nil { // nothing may run, and denied paths stay denied
			return &view{rules: s.base.rules, err: err}
		}
		s.base, s.apart = s.view(rules, nil), nil
	}
	return s.base
}

// worksIn reports whether a folder is in one of those that are worked in.
func (s *Sandbox) worksIn(dir string) bool {
	for _, root := range append([]string{s.rules.place.Dir}, s.rules.place.Roots...) {
		if below(paths.RealPath(root), dir) {
			return true
		}
	}
	return false
}

func (s *Sandbox) confine(cmd *exec.Cmd, dir string, own ...string) (release func() (left int, signaled bool), err error) {
	v := s.at(dir)
	if v.err != nil {
		return nil, v.err
	}
	p := v.policy
	if v.rules.worktree != nil {
		p = v.rules.worktree.allow(p)
	}
	if len(own) > 0 {
		p.Write = slices.Concat(p.Write, own)
	}
	if temp := s.rules.place.Temp; temp != "" {
		if cmd.Env == nil {
			cmd.Env = environ.Child(nil, nil)
		}
		cmd.Env = sandboxenv.WithTemp(cmd.Env, temp)
	}
	if cmd.Env != nil {
		cmd.Env = sandboxenv.WithoutGoIndex(cmd.Env)
	}
	return s.backend.Confine(cmd, p)
}

// MayLeave reports whether a call may ask for its command to run outside.
func (s *Sandbox) MayLeave() bool { return s.backend != nil && s.rules.settings.AllowUnsandboxed }

// AutoAllow reports whether confined commands run without a question. Under Landlock they
// do not, because files that they may write there decide which programs run unconfined
// later.
func (s *Sandbox) AutoAllow() bool {
	return s.backend != nil && s.backend.Name() != "landlock" && s.rules.settings.AutoAllowBash
}

// A State describes how commands are confined.
type State struct {
	Enabled bool `json:"enabled"` // commands are confined
	// Backend is native, bubblewrap, landlock or sandbox-exec; "": nothing does.
	Backend string `json:"backend,omitempty"`
	// Lacks lists in words the settings that the backend cannot enforce, and the folders
	// that are too large to find all guarded files.
	Lacks []string `json:"lacks,omitempty"`
	// Unavailable says why stronger backends, or all, are not used here.
	Unavailable []string `json:"unavailable,omitempty"`
	Network     string   `json:"network,omitempty"` // of confined commands: none, filtered
}

// State describes how commands are confined, and the gaps.
func (s *Sandbox) State() State {
	st := State{Enabled: s.rules.settings.Enabled}
	for _, a := range s.attempts {
		st.Unavailable = append(st.Unavailable, fmt.Sprintf("%s: %v", a.Name, a.Err))
	}
	if s.backend == nil {
		if st.Enabled && st.Unavailable == nil {
			st.Unavailable = []string{"there is no backend for this system"}
		}
		return st
	}
	st.Backend, st.Lacks, st.Network = s.backend.Name(), s.backend.Lacks(s.policy), "none"
	for _, dir := range s.unsearched {
		st.Lacks = append(slices.Clip(st.Lacks), fmt.Sprintf("%s holds too many files: settings of agents, editors and git deep in it may not be kept from being written", dir))
	}
	if s.proxy != nil {
		st.Network = "filtered"
	}
	return st
}

func (s *Sandbox) whyNone() string {
	if len(s.attempts) == 0 {
		return "there is no backend for this system"
	}
	var why []string
	for _, a := range s.attempts {
		why = append(why, a.Name+": "+text.Bytes(a.Err.Error(), maxShown))
	}
	return strings.Join(why, "; ")
}

// Denied lists the hosts that commands were not let reach, as host:port.
func (s *Sandbox) Denied() []string {
	var list []string
	if s.proxy != nil {
		for _, d := range s.proxy.Denials() {
			list = append(list, d.Error())
		}
	}
	slices.Sort(list)
	return list
}

// Note is a text for a model about the sandbox of its commands.
func (s *Sandbox) Note() string {
	network := "There is no network."
	if s.proxy != nil {
		network = "The network is reached through the proxy in HTTP_PROXY and ALL_PROXY, which lets through allowed hosts only."
	}
	// The folder for temporary files has another name each time, and prompts should not.
	write := slices.DeleteFunc(slices.Clone(s.policy.Write), func(path string) bool { return s.temp != "" && below(paths.RealPath(s.temp), path) })
	return fmt.Sprintf("Commands run in a sandbox: they may write in %s (in a git worktree that you work in: the worktree instead) and in TMPDIR, and cannot change git hooks or the settings of shells, editors and agents. %s Do not work around it; say what is missing.",
		text.Bytes(strings.Join(write, ", "), maxShown), network)
}
