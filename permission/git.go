package permission

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/text"
)

const gitLog = ` -pubwzqsRMCiEFP0123456789 -nUSGL: --patch --no-patch --stat? --shortstat --numstat --summary --name-only --name-status --oneline --graph --all --branches --tags --remotes --cached --staged --decorate? --no-decorate --abbrev-commit --no-abbrev-commit --unified= --max-count= --skip= --format= --pretty? --since= --until= --after= --before= --author= --committer= --grep= --follow --no-merges --merges --first-parent --reverse --date= --diff-filter= --ignore-all-space --ignore-space-change --ignore-blank-lines --no-color --color? --word-diff? --minimal --no-renames --find-renames? --no-ext-diff --no-textconv --check --exit-code --quiet --full-diff --raw --topo-order --date-order --merge-base --no-prefix --text --patience --histogram`

// gitCommands are the git commands that change nothing, written like [readers].
var gitCommands = readTable(`
status -sbvz --short --branch --porcelain? --long --show-stash --ignored? --untracked-files? --ahead-behind --no-ahead-behind paths
diff` + gitLog + ` paths
log` + gitLog + ` paths
show` + gitLog + ` paths
shortlog -nse --numbered --summary --email --all --since= --until= --no-merges paths
blame -wesltfpnCM -L: --porcelain --date= paths
grep -niIlLcwvEFPohHq0123456789 -ABCem: --cached --untracked --line-number --count --ignore-case --files-with-matches --name-only --word-regexp --fixed-strings --extended-regexp --perl-regexp paths
ls-files -cdmostkuz --cached --deleted --modified --others --ignored --stage --exclude-standard --full-name --error-unmatch --directory -x: paths
ls-tree -rdtlz --name-only --name-status --long --full-tree --full-name paths
rev-parse -q --abbrev-ref? --short? --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --verify --quiet --is-inside-work-tree --is-bare-repository --symbolic-full-name --all --branches --tags paths
rev-list -n: --count --all --max-count= --no-merges --first-parent --oneline --since= --until= paths
merge-base -a --all --is-ancestor --fork-point paths
describe --tags --all --long --always --abbrev= --match= --contains --exact-match paths
cat-file -ptse paths
branch -arv --list --show-current --all --remotes --verbose --contains= --merged? --no-merged? --sort= --format= --no-color --color? none
tag -ln --list --sort= --format= --contains= --merged? none
remote -v --verbose none
stash paths
worktree paths
version none
`)

// gitReads accepts a git command that changes nothing. Its paths are not nil.
func gitReads(words []word) (files []word, ok bool) {
	files = []word{}
	if slices.ContainsFunc(words, word.hidden) {
		return nil, false
	}
	for len(words) > 0 && strings.HasPrefix(words[0].text, "-") {
		switch words[0].text {
		case "--no-pager", "--no-optional-locks", "--literal-pathspecs":
		case "--version":
			return files, len(words) == 1
		default:
			return nil, false
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return nil, false
	}
	sub, rest := words[0].text, words[1:]
	r, known := gitCommands[sub]
	if !known || sub == "stash" && (len(rest) != 1 || rest[0].text != "list") || sub == "worktree" && (len(rest) != 1 || rest[0].text != "list") {
		return nil, false
	}
	for _, w := range rest {
		// "%G?" in a format runs gpg.
		if strings.Contains(w.text, "%G") || w.glob != "" {
			return nil, false
		}
	}
	paths, ok := r.parse(sub, rest)
	if !ok {
		return nil, false
	}
	return append(files, paths...), true
}

// gitHarmless are beginnings of git's settings that run no program.
var gitHarmless = strings.Fields("user.name user.email color. advice. core.quotepath core.autocrlf core.eol core.filemode commit.gpgsign init.defaultbranch log.date push.default pull.rebase pull.ff")

// gitTexts are the commands of git that run what their arguments say, with the argument
// by which they do, "*" for any.
var gitTexts = map[string]string{"submodule": "foreach", "filter-branch": "*", "difftool": "*", "mergetool": "*", "for-each-repo": "*", "bisect": "run", "filter-repo": "*"}

// gitSettings looks at what is set in front of a git command: aliases and many
// other settings run programs.
func (s *shell) gitSettings(c Command) {
	for i, a := range c.Args {
		setting, given := "", false
		switch {
		case a == "-c" || a == "--config-env":
			if given = true; i+1 < len(c.Args) {
				setting = c.Args[i+1]
			}
		case strings.HasPrefix(a, "--config-env="):
			_, setting, _ = strings.Cut(a, "=")
			given = true
		case strings.HasPrefix(a, "--exec-path="):
			given = true
		case !strings.HasPrefix(a, "-") && (i == 0 || !strings.HasPrefix(c.Args[i-1], "-")):
			if runsText := gitTexts[a]; runsText != "" && (runsText == "*" || slices.Contains(c.Args[i+1:], runsText)) {
				s.List[c.at].spell = append(s.List[c.at].spell, cmp.Or(strings.Trim(runsText, "*"), a))
			}
			return // the command; what follows are its own flags
		}
		setting = strings.ToLower(setting)
		if given && !slices.ContainsFunc(gitHarmless, func(h string) bool { return strings.HasPrefix(setting, h) }) {
			s.fail("git may run another program with %s", text.Bytes(a+" "+setting, maxShown))
		}
	}
}

// visitsModules reports whether a git command that changes nothing runs git in
// the submodules too, under their settings.
func visitsModules(args []string) bool {
	sub := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	return sub >= 0 && (args[sub] == "status" || args[sub] == "diff")
}

// gitSafe reports whether git, started in dir, finds a repository within the
// roots whose own settings make it run no other program. A repository that came
// with an archive, or one made to look like a folder of sources, may be told to.
// With modules, submodules count as settings that are not known.
func (g *pathContext) gitSafe(dir string, modules bool) bool {
	key := dir
	if modules {
		key += "\x00"
	}
	safe, ok := g.repos[key]
	if !ok {
		safe = g.findGitSafe(dir, modules)
		if g.repos == nil {
			g.repos = map[string]bool{}
		}
		g.repos[key] = safe
	}
	return safe
}

func (g *pathContext) findGitSafe(dir string, modules bool) bool {
	top := realPath(dir, g.readlink)
	if top == "" {
		return false
	}
	for {
		if exists(filepath.Join(top, "HEAD")) {
			return false // perhaps a bare repository, perhaps planted
		}
		if exists(filepath.Join(top, ".git")) {
			r, ok := g.repository(top)
			if !ok || !g.inside(top) || !r.plain(modules) {
				return false
			}
			if r.complete() {
				return true
			}
			// git goes on to the folders above
		}
		up := filepath.Dir(top)
		if up == top {
			return true // no repository, so no settings
		}
		top = up
	}
}

// A repository is where git keeps what belongs to a work tree.
type repository struct {
	own    string // with the index and HEAD; links are resolved
	common string // with objects and settings: own, but for a linked work tree
}

// repository follows the .git of a work tree as git does: it may be a file that
// leads elsewhere, and a file in there may lead on, whatever .git is. It returns
// false for what git may understand otherwise.
func (g *pathContext) repository(top string) (r repository, ok bool) {
	r.own = realPath(top+"/.git", g.readlink)
	if fi, err := os.Stat(r.own); err == nil && fi.Mode().IsRegular() {
		text, ok := readLine(r.own)
		to, prefixed := strings.CutPrefix(text, "gitdir: ")
		if !ok || !prefixed || to == "" {
			return r, false
		}
		r.own = g.follow(top, to)
	}
	r.common = r.own
	if link := r.own + "/commondir"; exists(link) {
		to, ok := readLine(link)
		if !ok {
			return r, false
		}
		r.common = g.follow(r.own, to)
	}
	return r, r.own != "" && r.common != ""
}

// follow returns where a path written in a file of git leads, seen from dir.
// Nothing is short for the home folder there.
func (g *pathContext) follow(dir, to string) string {
	switch {
	case filepath.IsAbs(to):
		return realPath(to, g.readlink)
	case filepath.VolumeName(to) != "" || os.IsPathSeparator(to[0]):
		return "" // absolute in part, which some systems have
	}
	return realPath(dir+"/"+to, g.readlink)
}

// plain reports whether the repository's settings make git run nothing.
func (r repository) plain(modules bool) bool {
	if modules && mayHaveModules(r.own) {
		return false
	}
	for _, d := range []string{r.own, r.common} {
		if exists(filepath.Join(d, "hooks", "post-index-change")) || !plainConfig(filepath.Join(d, "config")) || !plainConfig(filepath.Join(d, "config.worktree")) {
			return false
		}
	}
	return true
}

var plainHead = regexp.MustCompile(`^(ref: refs/|[0-9a-f]{40})`)

// complete reports whether git surely takes this for a repository, and so looks
// no further.
func (r repository) complete() bool {
	head := filepath.Join(r.own, "HEAD")
	if fi, err := os.Lstat(head); err != nil || !fi.Mode().IsRegular() {
		return false
	}
	text, ok := readSmall(head)
	if !ok || !plainHead.MatchString(text) {
		return false
	}
	for _, d := range []string{"objects", "refs"} {
		if _, err := os.Stat(filepath.Join(r.common, d) + "/."); err != nil { // it can be entered
			return false
		}
	}
	return true
}

const maxIndex = 32 << 20 // bytes of a git index that are read

// mayHaveModules looks for the mode of a submodule, 0160000, in the index of a
// repository. Other bytes that look like it do no harm.
func mayHaveModules(dir string) bool {
	if parts, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "sharedindex.*")); parts != nil {
		return true // the index is in several files
	}
	f, err := plainfile.Open(filepath.Join(dir, "index"))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	return err != nil || len(data) > maxIndex || bytes.Contains(data, []byte("\x00\x00\xe0\x00"))
}

// readLine returns the text of a file that holds one path. Git drops nothing of
// it but line ends at its end; text with white space that could be dropped, or
// with more lines, is not read.
func readLine(name string) (string, bool) {
	data, ok := readSmall(name)
	text := strings.TrimRight(data, "\r\n")
	return text, ok && text != "" && strings.TrimSpace(text) == text && !strings.ContainsAny(text, "\r\n\x00")
}

const maxConfig = 64 << 10 // bytes of a git configuration that are read

func readSmall(name string) (string, bool) {
	f, err := plainfile.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	return string(data), err == nil && len(data) <= maxConfig
}

var (
	configSection = regexp.MustCompile(`^\[([a-zA-Z0-9.-]+)( "[^"\\]*")?\]$`)
	configEntry   = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9-]*)\s*=[^\\]*$`)
)

// plainKeys are the settings that make git run nothing and look nowhere else.
var plainKeys = map[string]string{
	"core":      " repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf abbrev ",
	"remote":    " url pushurl fetch prune tagopt gh-resolved ",
	"user":      " name email signingkey ",
	"submodule": " url active ",
	"init":      " defaultbranch ",
	"pull":      " rebase ff ",
	"push":      " default autosetupremote ",
	"commit":    " gpgsign verbose ",
	"color":     " ui ",
}

// plainConfig reports whether a git configuration holds only known, harmless settings.
func plainConfig(name string) bool {
	if !exists(name) {
		return true
	}
	data, ok := readSmall(name)
	if !ok {
		return false
	}
	keys, branch := "", false
	for line := range strings.Lines(data) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if m := configSection.FindStringSubmatch(line); m != nil {
			section := strings.ToLower(m[1])
			keys, branch = plainKeys[section], section == "branch"
			continue
		}
		m := configEntry.FindStringSubmatch(line)
		if m == nil || !branch && !strings.Contains(keys, " "+strings.ToLower(m[1])+" ") {
			return false
		}
	}
	return true
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
