// Package symbols finds the definitions in source text by the form of its lines. It knows
// no grammar: it may miss some, and report lines that are not definitions.
package symbols

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLine is how much of a line is looked at, in bytes.
const maxLine = 500

// A Symbol is a definition.
type Symbol struct {
	Name string
	Kind string // "function", "method", "class", …
	Line int    // from 1
	Text string // the line without the space around it, valid UTF-8
}

// A Language is how definitions look in a programming language.
type Language struct {
	Name     string
	exts     []string
	comments []string // the beginning of a line that is a comment
	looks    []look
	// within finds the definitions of lines that depend on those before; nil if the
	// language has none.
	within func() func(line string) (name, kind string)
}

// A look is how one kind of definition looks. The last group that matched is its name.
type look struct {
	kind string
	re   *regexp.Regexp
}

// Of returns the language of the file called name, nil if it is not known.
func Of(name string) *Language {
	ext := strings.ToLower(filepath.Ext(name))
	all := languages()
	for i := range all {
		if slices.Contains(all[i].exts, ext) {
			return &all[i]
		}
	}
	return nil
}

// Scan returns the definitions in text, in its order. Only lines for which want
// is true are looked at; nil wants all.
func (l *Language) Scan(text []byte, want func(line []byte) bool) []Symbol {
	var found []Symbol
	var within func(string) (string, string)
	if l.within != nil {
		within = l.within()
	}
	for number := 1; len(text) > 0; number++ {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		line = line[:min(len(line), maxLine)]
		name, kind := "", ""
		if within != nil {
			name, kind = within(string(line))
		}
		if want != nil && !want(line) {
			continue
		}
		if name == "" {
			name, kind = l.define(string(line))
		}
		if name != "" {
			found = append(found, Symbol{name, kind, number, clean(line)})
		}
	}
	return found
}

// define returns the name that a line defines, "" if it defines none.
func (l *Language) define(line string) (name, kind string) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" || slices.ContainsFunc(l.comments, func(c string) bool { return strings.HasPrefix(trimmed, c) }) {
		return "", ""
	}
	for _, look := range l.looks {
		m := look.re.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := m[len(m)-1]
		if i := strings.LastIndex(name, "::"); i >= 0 {
			name = name[i+2:]
		}
		if name != "" && name != "_" && !keywords[name] && !keywords[firstWord(trimmed)] {
			return name, look.kind
		}
	}
	return "", ""
}

// keywords look like definitions, or like their names, but are neither.
var keywords = map[string]bool{
	"if": true, "else": true, "for": true, "while": true, "do": true, "switch": true, "case": true, "catch": true, "return": true,
	"throw": true, "new": true, "delete": true, "goto": true, "sizeof": true, "await": true, "yield": true, "with": true, "super": true,
	"elif": true, "until": true, "unless": true, "assert": true,
}

func firstWord(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		return s
	}
	return s[:end]
}

func clean(line []byte) string {
	for len(line) > 0 && len(line) == maxLine && !utf8.Valid(line) && !utf8.RuneStart(line[len(line)-1]) {
		line = line[:len(line)-1] // a character that was cut in two
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
}
