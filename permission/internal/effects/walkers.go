package effects

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/permission/internal/shellword"
)

// Programs that take a folder for all that is in it.

// A walker is a program that takes a folder for all that is in it.
type walker struct {
	letters string   // one-letter flags that make it do so; without any flags it always does
	long    []string // long flags
	Here    bool     // without arguments it takes the folder that it runs in
}

var (
	grepWalks  = walker{letters: "rRd", long: []string{"recursive", "dereference-recursive", "directories"}, Here: true}
	modeWalks  = walker{letters: "R", long: []string{"recursive"}}
	alwaysHere = walker{Here: true}
)

var walkers = map[string]walker{
	"tar": {}, "bsdtar": {}, "gtar": {}, "7z": {}, "7za": {}, "7zz": {}, "7zr": {}, "ditto": {}, "mv": {}, "ln": {}, "diff": {},
	"rg": alwaysHere, "ag": alwaysHere, "ack": alwaysHere, "ugrep": alwaysHere,
	"grep": grepWalks, "egrep": grepWalks, "fgrep": grepWalks, "zgrep": grepWalks,
	"chmod": modeWalks, "chown": modeWalks, "chgrp": modeWalks,
	"cp":    {letters: "rRa", long: []string{"recursive", "archive"}},
	"rsync": {letters: "ra", long: []string{"recursive", "archive"}},
	"gzip":  {letters: "r", long: []string{"recursive"}},
	"gofmt": {letters: "w"}, "goimports": {letters: "w"}, "gofumpt": {letters: "w"},
	"zip":  {letters: "rR", long: []string{"recurse-paths", "recurse-patterns"}},
	"scp":  {letters: "r"},
	"rm":   {letters: "rR", long: []string{"recursive"}},
	"find": {long: []string{"delete", "exec", "execdir", "ok", "okdir"}, Here: true},
}

// gitWalkers are the git commands that take a folder for all that is in it.
var gitWalkers = map[string]walker{
	"grep": alwaysHere, "archive": alwaysHere, "clean": alwaysHere, "--no-index": {}, "checkout": {}, "restore": {}, "rm": {}, "mv": {},
}

// WalkerOf returns what is known of a command that takes folders for all that is in
// them; false for another command.
func WalkerOf(name string, args []string) (walker, bool) {
	if name != "git" {
		w, ok := walkers[name]
		return w, ok && w.walks(args)
	}
	var found walker
	ok := false
	for _, a := range args {
		if w, is := gitWalkers[a]; is {
			found.Here, ok = found.Here || w.Here, true
		}
	}
	return found, ok
}

// Operands are the words of a command that may name files.
func Operands(name string, words []shellword.Word) []shellword.Word {
	if r := Readers[name]; r.operands == "pattern" {
		if files, ok := r.Parse(name, words); ok {
			return files
		}
	}
	return words
}

// walks reports whether the command, by its flags, goes into folders.
func (w walker) walks(args []string) bool {
	if w.letters == "" && w.long == nil {
		return true
	}
	return slices.ContainsFunc(args, func(a string) bool {
		name, isLong := strings.CutPrefix(a, "--")
		if isLong {
			name, _, _ = strings.Cut(name, "=")
			return name != "" && slices.ContainsFunc(w.long, func(l string) bool { return strings.HasPrefix(l, name) })
		}
		return strings.HasPrefix(a, "-") && (strings.ContainsAny(a, w.letters) || slices.Contains(w.long, a[1:]))
	})
}
