package paths

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
)

// GitSafe reports whether git, started in dir, finds a repository within the
// roots whose own settings make it run no other program. A repository that came
// with an archive, or one made to look like a folder of sources, may be told to.
// With modules, submodules count as settings that are not known.
func (g *Context) GitSafe(dir string, modules bool) bool {
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

func (g *Context) findGitSafe(dir string, modules bool) bool {
	top := realPath(dir, g.readlink)
	if top == "" {
		return false
	}
	for {
		if Exists(filepath.Join(top, "HEAD")) {
			return false // perhaps a bare repository, perhaps planted
		}
		if Exists(filepath.Join(top, ".git")) {
			r, ok := g.repository(top)
			if !ok || !g.Inside(top) || !r.plain(modules) {
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
func (g *Context) repository(top string) (r repository, ok bool) {
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
	if link := r.own + "/commondir"; Exists(link) {
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
func (g *Context) follow(dir, to string) string {
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
		if Exists(filepath.Join(d, "hooks", "post-index-change")) || !plainConfig(filepath.Join(d, "config")) || !plainConfig(filepath.Join(d, "config.worktree")) {
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
	if parts, _ := filepath.Glob(filepath.Join(EscapeGlob(dir), "sharedindex.*")); parts != nil {
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

const MaxConfig = 64 << 10 // bytes of a git configuration that are read

func readSmall(name string) (string, bool) {
	f, err := plainfile.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxConfig+1))
	return string(data), err == nil && len(data) <= MaxConfig
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

// plainConfig reports whether a git configuration holds only settings that are known to run nothing.
func plainConfig(name string) bool {
	if !Exists(name) {
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

func Exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
