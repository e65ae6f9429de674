package effects

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission/internal/shellword"
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
func gitReads(words []shellword.Word) (files []shellword.Word, ok bool) {
	files = []shellword.Word{}
	if slices.ContainsFunc(words, shellword.Word.Hidden) {
		return nil, false
	}
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		switch words[0].Text {
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
	sub, rest := words[0].Text, words[1:]
	r, known := gitCommands[sub]
	if !known || sub == "stash" && (len(rest) != 1 || rest[0].Text != "list") || sub == "worktree" && (len(rest) != 1 || rest[0].Text != "list") {
		return nil, false
	}
	for _, w := range rest {
		// "%G?" in a format runs gpg.
		if strings.Contains(w.Text, "%G") || w.Glob != "" {
			return nil, false
		}
	}
	paths, ok := r.Parse(sub, rest)
	if !ok {
		return nil, false
	}
	return append(files, paths...), true
}

// gitPlain are beginnings of git's settings that run no program.
var gitPlain = strings.Fields("user.name user.email color. advice. core.quotepath core.autocrlf core.eol core.filemode commit.gpgsign init.defaultbranch log.date push.default pull.rebase pull.ff")

// gitTexts are the commands of git that run what their arguments say, with the argument
// by which they do, "*" for any.
var gitTexts = map[string]string{"submodule": "foreach", "filter-branch": "*", "difftool": "*", "mergetool": "*", "for-each-repo": "*", "bisect": "run", "filter-repo": "*"}

// GitSettings looks at what is set in front of a git command: aliases and many other
// settings run programs. It returns the word by which the command runs a text in its
// arguments, and why the line is not understood, "" for nothing.
func GitSettings(args []string) (runs, why string) {
	for i, a := range args {
		setting, given := "", false
		switch {
		case a == "-c" || a == "--config-env":
			if given = true; i+1 < len(args) {
				setting = args[i+1]
			}
		case strings.HasPrefix(a, "--config-env="):
			_, setting, _ = strings.Cut(a, "=")
			given = true
		case strings.HasPrefix(a, "--exec-path="):
			given = true
		case !strings.HasPrefix(a, "-") && (i == 0 || !strings.HasPrefix(args[i-1], "-")):
			if runsText := gitTexts[a]; runsText != "" && (runsText == "*" || slices.Contains(args[i+1:], runsText)) {
				runs = cmp.Or(strings.Trim(runsText, "*"), a)
			}
			return runs, why // the command; what follows are its own flags
		}
		setting = strings.ToLower(setting)
		if given && why == "" && !slices.ContainsFunc(gitPlain, func(h string) bool { return strings.HasPrefix(setting, h) }) {
			why = "git may run another program with " + text.Bytes(a+" "+setting, shellword.MaxShown)
		}
	}
	return "", why
}

// VisitsModules reports whether a git command that changes nothing runs git in
// the submodules too, under their settings.
func VisitsModules(args []string) bool {
	sub := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	return sub >= 0 && (args[sub] == "status" || args[sub] == "diff")
}

// IsGitReader reports whether a command of git is known to change nothing when it is
// called in certain ways.
func IsGitReader(command string) bool {
	_, known := gitCommands[command]
	return known
}
