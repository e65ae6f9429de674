// Package gitignore decides which paths git would ignore, as gitignore(5) and
// git itself have it. It reads no files.
package gitignore

import "strings"

// Rules are the patterns in force at a folder: those of its own .gitignore and
// of the folders above. They never change; nil ignores nothing. All paths are
// relative to the folder of the outermost patterns, with slashes and without a
// leading or trailing one; that folder is "".
type Rules struct {
	outer *Rules
	dir   string // where the patterns stand
	rules []rule
}

// With returns r and, before it, the patterns in text, the content of a .gitignore in the
// folder dir or of another file of its form. An invalid pattern never matches; nor does one
// longer than 4,096 bytes, the longest path.
func (r *Rules) With(dir string, text []byte) *Rules {
	rules := parse(text)
	if len(rules) == 0 {
		return r
	}
	return &Rules{outer: r, dir: dir, rules: rules}
}

// Ignores reports whether a pattern excludes the file or folder at path, which
// must lie below the folders of all patterns. The last pattern of the innermost
// file decides. It does not look at the folders above path: nothing in an
// ignored folder can be included again, so a walk does not enter it.
func (r *Rules) Ignores(path string, folder bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; r != nil; r = r.outer {
		rel := path
		if r.dir != "" {
			rel = path[len(r.dir)+1:]
		}
		for i := len(r.rules) - 1; i >= 0; i-- {
			if r.rules[i].match(rel, name, folder) {
				return !r.rules[i].include
			}
		}
	}
	return false
}

// A rule is one line of a .gitignore.
type rule struct {
	include    bool   // began with "!"
	folderOnly bool   // ended in "/"
	byName     bool   // holds no slash: matched against the last name of a path
	suffix     bool   // "*" and then prefix
	prefix     string // the part before the first special character
	rest       []token
}

func (r *rule) match(path, name string, folder bool) bool {
	if r.folderOnly && !folder {
		return false
	}
	if r.byName {
		path = name
	}
	if r.suffix {
		return strings.HasSuffix(path, r.prefix)
	}
	path, ok := strings.CutPrefix(path, r.prefix)
	return ok && match(r.rest, path)
}

// maxPattern is the length in bytes of the longest pattern that is read.
const maxPattern = 4096

func parse(text []byte) []rule {
	var rules []rule
	s := strings.TrimPrefix(string(text), "\ufeff")
	for line := range strings.SplitSeq(s, "\n") {
		if r, ok := parseLine(line); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// parseLine reads a line as dir.c of git does, odd cases included. Not ok: the
// line is empty, a comment or can match nothing.
func parseLine(line string) (r rule, ok bool) {
	if strings.HasPrefix(line, "#") || len(line) > maxPattern {
		return r, false
	}
	line = strings.TrimSuffix(line, "\r")
	line, _, _ = strings.Cut(line, "\x00")
	line = trimSpaces(line)
	line, r.include = strings.CutPrefix(line, "!")
	line, r.folderOnly = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false
	}
	r.byName = !strings.Contains(line, "/")
	if r.byName && line[0] == '*' && !strings.ContainsAny(line[1:], special) {
		r.suffix, r.prefix = true, line[1:]
		return r, true
	}
	line = strings.TrimPrefix(line, "/")
	n := strings.IndexAny(line, special)
	if n < 0 {
		n = len(line)
	}
	r.prefix = line[:n]
	r.rest, ok = compile(line[n:])
	return r, ok
}

// trimSpaces removes trailing spaces that are not escaped.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(s) {
				return s
			}
		}
		end = i + 1
	}
	return s[:end]
}
