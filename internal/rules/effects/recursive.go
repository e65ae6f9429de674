package effects

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

//go:embed recursive.txt
var recursiveTable string

// A walker is a program that takes a folder for all that is in it: see recursive.txt.
type walker struct {
	Options      // that make it do so; without any it always does
	Here    bool // without arguments it takes the folder that it runs in
}

// readWalkers returns programs by name, and commands of git with "git>" in front.
func readWalkers() map[string]walker {
	table := map[string]walker{}
	for _, r := range readTable("recursive.txt", recursiveTable) {
		var x walker
		for _, w := range r.words {
			if x.add(&r, w, false) != 0 {
				continue
			}
			if x.Here = true; w != "here" {
				r.unknown(w)
			}
		}
		for _, name := range r.names {
			table[name] = x
		}
	}
	return table
}

// WalkerOf returns how a command takes folders for all that is in them; false for a
// command that does not.
func WalkerOf(name string, args []string) (walker, bool) {
	if name != "git" {
		w, ok := known().walkers[name]
		return w, ok && w.walks(args)
	}
	var found walker
	ok := false
	for _, a := range args {
		if w, is := known().walkers["git>"+a]; is {
			found.Here, ok = found.Here || w.Here, true
		}
	}
	return found, ok
}

// Operands are the words of a command that may name files.
func Operands(name string, words []shellword.Word) []shellword.Word {
	if r, known := ReaderOf(name); known && r.operands == "pattern" {
		if files, ok := r.Parse(name, words); ok {
			return files
		}
	}
	return words
}

// walks reports whether the command, by its options, goes into folders. find and some
// others write a long option with one dash.
func (w walker) walks(args []string) bool {
	return w.none() || slices.ContainsFunc(args, func(a string) bool {
		name, dash := strings.CutPrefix(a, "-")
		_, long := w.long[name]
		return w.Matches(a) || dash && long
	})
}
