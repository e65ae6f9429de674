package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
)

// maxShown bounds quotations in messages, in bytes.
const maxShown = 200

// A DeniedError says that the settings do not let a path be used, or a command run.
type DeniedError struct {
	Path    string // absolute and without symlinks; "" where it is about a command
	Command string // the simple command, or the line where that is not understood
	Rule    string // the setting and its value, as in `deniedPaths "/etc"`
	Why     string // as in "it is denied by deniedPaths "/etc""

	doubt bool // the command may change a file that it opens, and is not known to
}

// Error says what was denied, and by which rule.
func (e *DeniedError) Error() string {
	subject := e.Path
	if subject == "" {
		subject = fmt.Sprintf("the command %q", text.Bytes(e.Command, maxShown))
	} else if e.Command != "" {
		subject += fmt.Sprintf(" in the command %q", text.Bytes(e.Command, maxShown))
	}
	return "the sandbox denies " + subject + ": " + e.Why
}

// CheckPath returns nil if a path may be read ([permission.ReadFile]) or written
// ([permission.EditFile]), else a [*DeniedError]. The path is absolute, begins with
// "~/", or is relative to the working directory, and need not exist; it is judged
// as it is written and where it really leads. Whole segments count: a rule for
// /project does not cover /project-backup.
func (r *Rules) CheckPath(path string, kind permission.AccessKind) error {
	abs, err := r.absolute(path)
	if err != nil || strings.ContainsRune(path, 0) {
		return &DeniedError{Path: path, Why: "it is not a usable path"}
	}
	real := paths.RealPath(abs)
	if real == "" {
		return &DeniedError{Path: path, Why: "it leads through too many symlinks"}
	}
	clean := filepath.Clean(abs)
	deny := func(e entry) error {
		rule := fmt.Sprintf("%s %q", e.setting, e.text)
		return &DeniedError{Path: real, Rule: rule, Why: "it is denied by " + rule}
	}
	touches := func(list []entry) int {
		return slices.IndexFunc(list, func(e entry) bool { return e.holds(real) || e.holds(clean) })
	}
	if i := touches(r.denied); i >= 0 {
		return deny(r.denied[i])
	}
	if i := touches(r.hidden); i >= 0 && !r.bared(real, kind) {
		return deny(r.hidden[i])
	}
	lists := [][]entry{r.denied, r.hidden}
	if kind == permission.EditFile {
		lists = append(lists, r.keep)
	}
	if e, ok := newSubject(real).aliased(lists...); ok {
		return deny(e)
	}
	writable := slices.ContainsFunc(r.write, func(e entry) bool { return below(e.real, real) })
	if kind == permission.EditFile {
		if i := touches(r.keep); i >= 0 {
			return deny(r.keep[i])
		}
		if r.isApart(real) {
			return &DeniedError{Path: real, Rule: "worktree", Why: "the run works in the worktree " + r.worktree.top + ", apart from it; leave the worktree to change files there"}
		}
		if !writable {
			return missing(real, "it may not be written", "allowedWritePaths", r.write)
		}
		return nil
	}
	if len(r.read) == 0 || writable || slices.ContainsFunc(r.read, func(e entry) bool { return below(e.real, real) }) {
		return nil
	}
	return missing(real, "it may not be read", "allowedReadPaths", r.read)
}

// conceals is [Rules.CheckPath] for reading a path that is clean and has no links in it.
// Of other names only those of hard links count: folders were judged before.
func (r *Rules) conceals(path string) bool {
	holds := func(e entry) bool { return e.holds(path) }
	covers := func(e entry) bool { return below(e.real, path) }
	switch {
	case slices.ContainsFunc(r.denied, holds):
		return true
	case slices.ContainsFunc(r.hidden, holds) && !r.bared(path, permission.ReadFile):
		return true
	}
	if len(r.read) > 0 && !slices.ContainsFunc(r.write, covers) && !slices.ContainsFunc(r.read, covers) {
		return true
	}
	return r.hides() && hasOtherNames(path) && r.aliased(path)
}

// mayBeCopy reports whether a path has the last name of a relative path of a setting in
// it: only such a path can be a copy in another worktree.
func (r *Rules) mayBeCopy(path string) bool {
	if foldCase {
		path = strings.ToLower(path)
	}
	return slices.ContainsFunc(r.names, func(name string) bool { return strings.Contains(path, name) })
}

// hides reports whether settings name anything that is not read.
func (r *Rules) hides() bool {
	return len(r.settings.DeniedPaths)+len(r.settings.Filesystem.DenyRead) > 0
}

// aliased reports whether a path is another name of a file that must not be read.
func (r *Rules) aliased(path string) bool {
	_, is := newSubject(path).aliased(r.denied, r.hidden)
	return is
}

// concealsIn reports whether something in a folder may be concealed, or the folder.
func (r *Rules) concealsIn(folder string) bool {
	near := func(e entry) bool {
		return below(folder, e.real) || below(folder, e.clean) || e.holds(folder)
	}
	covers := func(e entry) bool { return below(e.real, folder) }
	return r.hides() || slices.ContainsFunc(r.denied, near) ||
		len(r.read) > 0 && !slices.ContainsFunc(r.write, covers) && !slices.ContainsFunc(r.read, covers)
}

// bared reports whether a path inside a hidden one may be used: the longest path that
// covers it decides.
func (r *Rules) bared(real string, kind permission.AccessKind) bool {
	open := depth(r.write, real)
	if kind == permission.ReadFile {
		open = max(open, depth(r.bare, real))
	}
	return open > depth(r.hidden, real)
}

// holed reports whether a part of a hidden path may be used.
func (r *Rules) holed(e entry) bool { return e.around(r.bare) || e.around(r.write) }

func missing(path, what, setting string, list []entry) error {
	return &DeniedError{Path: path, Rule: setting, Why: fmt.Sprintf("%s, %s are %s", what, setting, text.Bytes(strings.Join(reals(list), ", "), maxShown))}
}

// CheckCommand returns nil if a command line may run in the working directory, else a
// [*DeniedError]. It checks every simple command, at any depth: in pipes, lists, functions,
// substitutions and nested shells, and as an argument of another command. A line that it
// cannot analyse is denied if there are rules that it could break: names of commands, or
// paths that only the running shell knows. It does not see the work of the programs
// themselves.
func (r *Rules) CheckCommand(line string) error { return r.checkCommand(line, r.place.Dir, false) }

// checkCommand judges a line in a directory. held: the operating system sees to
// the paths, so those that are not known may pass.
func (r *Rules) checkCommand(line, dir string, held bool) error {
	if err := r.checkNames(line); err != nil {
		return err
	}
	q := permission.Request{Tool: "Bash", Dir: dir, Access: []permission.Access{{Kind: permission.RunCommand, Target: line}}}
	p := r.strict
	if held {
		p = r.lenient
	}
	d := p.Denies(&q)
	if d != nil && !r.onlyMayChange(p, q) {
		return r.explain(line, d)
	}
	if held { // a line names more files than it opens, as where a cd may fail
		return nil
	}
	if err := r.checkFiles(line, q); err != nil || d == nil {
		return err
	}
	err := r.explain(line, d)
	err.doubt, err.Why = true, err.Rule+" protects it; the command may still write there; no sandbox holds it"
	return err
}

// onlyMayChange reports whether a command is denied only because it may change a protected
// file that it names.
func (r *Rules) onlyMayChange(p *policies.Compiled, q permission.Request) bool {
	if _, _, all := policies.Files(q); !all {
		return false
	}
	q.Confined, q.WriteProtected = true, []string{string(filepath.Separator)}
	return p.Denies(&q) == nil
}

// checkFiles judges the files that a command line names, if nothing confines it.
func (r *Rules) checkFiles(line string, q permission.Request) error {
	read, written, all := policies.Files(q)
	bounded := len(r.read) > 0 || slices.ContainsFunc(r.hidden, r.holed)
	if !all && bounded {
		const rule = "allowedReadPaths, filesystem.denyRead"
		return &DeniedError{Command: line, Rule: rule, Why: "which files it opens is only known when it runs, and " + rule + " bound what may be read"}
	}
	for _, f := range written {
		if !ofSystem(f, devices) {
			if err := r.CheckPath(f, permission.EditFile); err != nil {
				return in(line, err)
			}
		}
	}
	if !bounded {
		return nil
	}
	for _, f := range read {
		// A word that names no file is usually not a path but another argument.
		if _, err := os.Lstat(f); err == nil && !ofSystem(f, systemFolders) {
			if err := r.CheckPath(f, permission.ReadFile); err != nil {
				return in(line, err)
			}
		}
	}
	return nil
}

// in names the line in the error about a path.
func in(line string, err error) error {
	if d, ok := err.(*DeniedError); ok {
		d.Command = line
	}
	return err
}

// systemFolders are read by almost every command, even if other folders are denied.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/dev", "/System", "/Library"}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/fd"}

func ofSystem(path string, folders []string) bool {
	path = filepath.Clean(path)
	return slices.ContainsFunc(folders, func(f string) bool { return below(f, path) }) &&
		slices.ContainsFunc(append([]string{"/proc"}, folders...), func(f string) bool { return below(f, paths.RealPath(path)) })
}

// checkNames judges the names of the commands of a line.
func (r *Rules) checkNames(line string) error {
	allowed, denied := r.settings.AllowedCommands, r.settings.DeniedCommands
	if allowed == nil && len(denied) == 0 {
		return nil
	}
	commands, err := shellscan.Scan(line)
	for _, c := range commands.List {
		name := strings.TrimSuffix(c.Name, ".exe")
		if foldCase {
			name = strings.ToLower(name)
		}
		switch {
		case name == "":
		case named(denied, name):
			return &DeniedError{Command: shown(c), Rule: fmt.Sprintf("deniedCommands %q", name), Why: fmt.Sprintf("it is denied by deniedCommands %q", name)}
		case allowed != nil && len(allowed) == 0:
			return &DeniedError{Command: shown(c), Rule: "allowedCommands", Why: "allowedCommands is empty, so no command may run"}
		case allowed != nil && !named(allowed, name):
			return &DeniedError{Command: shown(c), Rule: "allowedCommands", Why: fmt.Sprintf("%q is not in allowedCommands: %s", name, text.Bytes(strings.Join(allowed, ", "), maxShown))}
		}
	}
	if commands.Unclear != "" || err != nil {
		return &DeniedError{Command: line, Rule: "allowedCommands, deniedCommands", Why: "it is not understood, so it may run commands that are not allowed: " + commands.Unclear}
	}
	return nil
}

func named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return s == name || foldCase && strings.EqualFold(s, name) })
}

func shown(c shellscan.Command) string {
	if c.Raw != "" {
		return c.Raw
	}
	return strings.ReplaceAll(c.Name, shellword.Unknown, "…")
}

// forCommands makes the policies that command lines are judged by.
func (r *Rules) forCommands() {
	for _, e := range r.denied {
		r.forbid("Read", e)
	}
	for _, e := range r.hidden {
		if !r.holed(e) { // else the files that a line names are judged one by one
			r.forbid("Read", e)
		}
	}
	for _, e := range r.keep {
		r.forbid("Edit", e)
	}
	// In mode bypassPermissions rules that cannot be checked deny.
	r.strict = policies.Compile(permission.Policy{Deny: r.forbidden, Mode: permission.Bypass})
	r.lenient = r.strict.In(permission.Default)
	r.exclusions, r.excluded = nil, nil
	for _, c := range r.settings.ExcludedCommands {
		e, _ := newExclusion(c) // it was checked
		r.exclusions = append(r.exclusions, e)
		r.excluded = append(r.excluded, policies.Compile(permission.Policy{Mode: permission.DontAsk, Allow: []permission.Rule{e.rule}}))
	}
}

// forbid adds rules for a path as it is written and where it leads.
func (r *Rules) forbid(tool string, e entry) {
	for _, path := range []string{e.clean, e.real} {
		rule := permission.Rule(tool + "(//" + strings.TrimPrefix(patterned.Replace(filepath.ToSlash(path)), "/") + ")")
		if !slices.Contains(r.forbidden, rule) {
			r.forbidden = append(r.forbidden, rule)
		}
	}
}

// patterned makes a path the pattern of a rule. Brackets of a rule must be
// balanced: each stands for any character.
var patterned = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `[`, `\[`, `(`, `?`, `)`, `?`)

// explain makes a denial by the policy for command lines one by the setting.
func (r *Rules) explain(line string, d *permission.Decision) *DeniedError {
	for _, list := range [][]entry{r.denied, r.hidden, r.keep} {
		for _, e := range list {
			one := Rules{}
			one.forbid("Read", e)
			one.forbid("Edit", e)
			if slices.Contains(one.forbidden, permission.Rule(d.Rule)) {
				rule := fmt.Sprintf("%s %q", e.setting, e.text)
				return &DeniedError{Path: e.real, Command: line, Rule: rule, Why: "the line touches what is denied by " + rule + ", or cannot be shown not to (" + text.Bytes(d.Reason, maxShown) + ")"}
			}
		}
	}
	return &DeniedError{Command: line, Rule: d.Rule, Why: d.Reason}
}
