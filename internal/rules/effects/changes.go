package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// ChangedWords returns the words of a command that may name files which its program is
// known to change, and the other words. An unknown program, an interpreter or a test runner
// is not known to change the files that it is given.
func ChangedWords(name string, words []shellword.Word) (changed, others []shellword.Word) {
	name = strings.TrimSuffix(name, ".exe")
	l := known()
	switch {
	case Copies(name, words) && name != "cp":
		return nil, words
	case l.changers[name], strings.HasPrefix(name, "mkfs"),
		name == "find" && findChanges(words),
		name == "git" && !leavesFiles(words),
		l.changesWithI[name] && hasInPlace(words, "i"),
		l.changesWithW[name] && hasInPlace(words, "w"):
		return words, nil
	case name == "cp":
		return lastOperand(words)
	case name == "dd":
		isInput := func(w shellword.Word) bool { return strings.HasPrefix(w.Text, "if=") }
		changed = slices.DeleteFunc(slices.Clone(words), isInput)
		return changed, slices.DeleteFunc(slices.Clone(words), func(w shellword.Word) bool { return !isInput(w) })
	}
	return nil, words
}

// Copies reports whether a command only reads the files that it is given, other than those
// that [ChangedWords] says it changes, and the folders among them.
func Copies(name string, words []shellword.Word) bool {
	return name == "cp" || known().tars[name] && onlyArchives(words)
}

// findChanges reports whether find deletes the files that it finds, or runs a program on
// them that is known to change files.
func findChanges(words []shellword.Word) bool {
	for i, w := range words {
		switch w.Text {
		case "-delete":
			return true
		case "-exec", "-execdir", "-ok", "-okdir":
			if rest := words[i+1:]; len(rest) > 0 {
				if changed, _ := ChangedWords(path.Base(rest[0].Text), rest[1:]); len(changed) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// onlyArchives reports whether the options of a tar write nothing but an archive.
func onlyArchives(words []shellword.Word) bool {
	creates := false
	for i, w := range words {
		letters, option := strings.CutPrefix(w.Text, "-")
		switch {
		case w.Unknown() && w.MayBeOption(), strings.HasPrefix(letters, "-") && option:
			return false
		case option || i == 0:
			if strings.Trim(letters, "ctvzjJpfC") != "" {
				return false
			}
			creates = creates || strings.ContainsAny(letters, "ct")
		}
	}
	return creates
}

// leavesFiles reports whether a command of git changes no file of the working tree.
func leavesFiles(words []shellword.Word) bool {
	rest := afterGlobals(words)
	return len(rest) > 0 && !rest[0].Unknown() && rest[0].Glob == "" && known().gitLeavesFiles[rest[0].Text]
}

// hasInPlace reports whether an option, of the letter or a long one such as --fix, makes a
// program write the files that it reads.
//
//go:noinline // called from many places: every program stays smaller
func hasInPlace(words []shellword.Word, letter string) bool {
	return shellword.Any(words, func(w shellword.Word) bool {
		long, isLong := strings.CutPrefix(w.Text, "--")
		switch {
		case w.MayBeOption():
			return true
		case isLong:
			return strings.HasPrefix(long, "fix") || strings.HasPrefix(long, "write") || strings.HasPrefix(long, "in")
		}
		return strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, letter)
	})
}

// lastOperand takes the last operand of a copy for its target. With an option that names
// the target, it may be any word.
func lastOperand(words []shellword.Word) (changed, others []shellword.Word) {
	last := -1
	for i, w := range words {
		switch {
		case w.MayBeOption(), w.Text == "--", strings.HasPrefix(w.Text, "--t"),
			strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "t"):
			return words, nil
		case !strings.HasPrefix(w.Text, "-"):
			last = i
		}
	}
	for i, w := range words {
		if i == last {
			changed = append(changed, w)
		} else {
			others = append(others, w)
		}
	}
	return changed, others
}
