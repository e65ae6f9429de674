package sandbox

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/permission"
)

// Lines that leave the sandbox. An exclusion is for one simple command, so the line
// must be just that, in an alphabet that every shell reads alike: words with
// spaces between them, whole words quoted or not. Anything else runs confined.

// plainLine matches such a line: no assignment, list, pipe, redirection, expansion,
// pattern, comment, escape or line end.
var plainLine = regexp.MustCompile(`^ *[A-Za-z0-9_./:@%+,-]+( +([A-Za-z0-9_./:=@%+,-]+|[A-Za-z0-9_./:=@%+,-]*('[ -&(-~]*'|"[ #%-\[\]^_a-~]*")))* *$`)

// An exclusion is an excluded command taken apart.
type exclusion struct {
	words int // that the pattern spells out
	rule  permission.Rule
	path  bool // the program is named by its path
}

func newExclusion(command string) (exclusion, error) {
	rule, err := excludedRule(command)
	literal, _, _ := strings.Cut(strings.TrimSpace(command), "*")
	return exclusion{words: len(strings.Fields(literal)), rule: rule, path: strings.Contains(strings.SplitN(literal, " ", 2)[0], "/")}, err
}

// excludes reports whether a line is a single command that an exclusion covers, and whose
// other arguments run nothing.
func (r *Rules) excludes(line, dir string) bool {
	if !plainLine.MatchString(line) {
		return false
	}
	form, err := shellscan.Canonical(line)
	if err != nil {
		return false
	}
	line = form.Line // which is the program that runs
	parsed, err := shellscan.Scan(line)
	if err != nil || parsed.Unclear != "" || len(parsed.List) != 1 || len(parsed.Redirects) > 0 || parsed.List[0].Raw != line {
		return false
	}
	c := parsed.List[0]
	program := strings.Fields(line)[0]
	for i, e := range r.exclusions {
		d := r.excluded[i].Decide(&permission.Request{Tool: "Bash", Dir: r.place.Dir, Roots: r.place.Roots,
			Access: []permission.Access{{Kind: permission.RunCommand, Target: line, Dir: dir}}})
		if d.Behavior != permission.Allowed || d.Source != policies.FromRule || strings.Contains(program, "/") && !e.path {
			continue
		}
		if !runsMore(c.Name, c.Args[min(len(c.Args), max(0, e.words-1)):]) && r.trusted(program) {
			return true
		}
	}
	return false
}

// trusted reports whether confined commands cannot have written a program.
func (r *Rules) trusted(program string) bool {
	path, err := exec.LookPath(program)
	if err != nil || !filepath.IsAbs(path) {
		return false
	}
	path = filepath.Clean(path)
	return depth(r.write, path) < 0 && depth(r.write, paths.RealPath(path)) < 0
}

// running are long options whose value is a program, of any command.
var running = strings.Fields(`--exec --execute --exec-path --upload-pack --receive-pack --ext-diff --extcmd --to-command --use-compress-program
	--checkpoint-action --rsh --rsync-path --filter --open-files-in-pager --config-env --config --pager --editor --eval --command --init-command --post-file --run --shell --plugin`)

// runningWords are arguments with which a program runs others, or commands from a file.
var runningWords = map[string][]string{
	"git":  {"-c", "-x", "-O", "alias", "bisect", "config", "difftool", "filter-branch", "foreach", "mergetool", "daemon", "hook", "init", "clone"},
	"make": {"-f", "--file", "--makefile", "-C", "--directory", "-I"},
	"tar":  {"-I", "-F"}, "rsync": {"-e"}, "ssh": {"-o", "-F", "-E"}, "scp": {"-o", "-F", "-S"},
	"npm": {"exec", "explore", "config"}, "go": {"run", "generate", "tool", "-exec", "-toolexec", "-vettool"}, "cargo": {"run"},
}

// runsMore reports whether arguments make a program run others.
func runsMore(program string, args []string) bool {
	words := runningWords[program]
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case strings.Contains(arg, "::"): // a transport of git's that is a program
			return true
		case slices.Contains(words, name):
			return true
		case strings.HasPrefix(name, "--"):
			// An option may be cut short as far as it is clear.
			if len(name) > len("--x") && slices.ContainsFunc(running, func(o string) bool { return strings.HasPrefix(o, name) }) {
				return true
			}
		case strings.HasPrefix(arg, "-"):
			if slices.ContainsFunc(words, func(w string) bool { return len(w) == 2 && w[0] == '-' && strings.Contains(name, w[1:]) }) {
				return true
			}
		}
	}
	return false
}
