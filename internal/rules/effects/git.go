package effects

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

//go:embed git.txt
var gitTable string

// gitReads accepts a git command that changes nothing. Its paths are not nil.
func gitReads(words []shellword.Word) (files []shellword.Word, ok bool) {
	files = []shellword.Word{}
	if shellword.Any(words, shellword.Word.Hidden) {
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
	r, known := known().gitReaders[sub]
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
		case !strings.HasPrefix(a, "-") && (i == 0 || !known().gitValueOptions[args[i-1]]):
			if by, runsText := known().gitRunsText[a]; runsText && (by == "" || slices.Contains(args[i+1:], by)) {
				runs = cmp.Or(by, a)
			}
			return runs, why // the command; what follows are its own flags
		}
		setting = strings.ToLower(setting)
		if given && why == "" && !slices.ContainsFunc(known().gitPlainSettings, func(h string) bool { return strings.HasPrefix(setting, h) }) {
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
	_, known := known().gitReaders[command]
	return known
}
