package workspace

import (
	"slices"
	"strings"
)

// noPrograms are words at the beginning of a command that may change the shell
// which runs it: bash's builtins, but for a few that cannot, and its reserved words.
var noPrograms = strings.Fields(`. alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare dirs
	disown do done elif else enable esac eval exec exit export fc fg fi for function getopts hash help history if in jobs kill let local
	logout mapfile popd printf pushd read readarray readonly return select set shift shopt source suspend test then time times trap
	type typeset ulimit umask unalias unset until wait while`)

// leavesTrace reports whether a command line may leave something behind in its
// shell that the next line should find: a variable, a directory, an option. It
// takes for granted that there are neither functions nor aliases. A false is
// certain; it is given to plain programs with plain arguments, in pipes and lists.
func leavesTrace(command string) bool {
	rest := strings.TrimSpace(command)
	for {
		name := rest[:span(rest, isNameByte)]
		if name == "" || slices.Contains(noPrograms, name) {
			return true
		}
		rest = rest[len(name):]
		if rest != "" && !strings.ContainsRune(" \t|&;", rune(rest[0])) { // the text read is not the whole word
			return true
		}
		n, ok := arguments(rest)
		if !ok {
			return true
		}
		rest = rest[n:]
		if rest == "" || rest == ";" {
			return false
		}
		switch {
		case strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, "||"):
			rest = rest[2:]
		case rest[0] == '|' || rest[0] == ';':
			rest = rest[1:]
		default: // in the background
			return true
		}
		rest = strings.TrimLeft(rest, " \t")
	}
}

// arguments returns the length of the arguments and redirections that s begins
// with, up to the end of the command; ok is false if they are not plain.
func arguments(s string) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '|' || c == ';':
			return i, true
		case c == '&' && i > 0 && (s[i-1] == '>' || s[i-1] == '<'): // 2>&1
		case c == '&':
			return i, true
		case c == '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return 0, false
			}
			i += end + 1
		case c == '"':
			end := strings.IndexByte(s[i+1:], '"')
			if end < 0 || !plainQuoted(s[i+1:i+1+end]) {
				return 0, false
			}
			i += end + 1
		case c == '$':
			if !variable(s[i+1:]) {
				return 0, false
			}
		case c == '<' && i+1 < len(s) && s[i+1] == '<': // a here-document
			return 0, false
		case !isNameByte(c) && !strings.ContainsRune(" \t=:@%,^~*?<>", rune(c)):
			return 0, false
		}
	}
	return len(s), true
}

// plainQuoted reports whether the text between double quotes has nothing in it
// that is carried out.
func plainQuoted(s string) bool {
	for i := range len(s) {
		if s[i] == '`' || s[i] == '\\' || s[i] == '$' && !variable(s[i+1:]) {
			return false
		}
	}
	return true
}

// variable reports whether s, after a dollar sign, begins with the name of a variable.
func variable(s string) bool { return s != "" && (s[0] == '_' || isLetter(s[0])) }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isNameByte reports whether c may be in the name of a program that needs no quotes.
func isNameByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || strings.IndexByte("_./+-", c) >= 0
}

// span returns how many bytes at the beginning of s are such.
func span(s string, such func(byte) bool) int {
	for i := range len(s) {
		if !such(s[i]) {
			return i
		}
	}
	return len(s)
}
