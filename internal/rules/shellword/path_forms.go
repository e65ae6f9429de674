package shellword

import (
	"net/url"
	"regexp"
	"strings"
)

var fileScheme = regexp.MustCompile(`(?i)^(--?[a-z-]+=)?\{?file[^a-z/:]*:(//[^/]*)?(/.*)$`)

// FileAddress returns the path in an address of a file, Unknown if it has patterns.
func FileAddress(text string) (string, bool) {
	if !strings.Contains(text, ":/") {
		return "", false
	}
	if scheme, _, _ := strings.Cut(text, ":/"); strings.ContainsAny(scheme, "{[") {
		return Unknown, true // curl expands it
	}
	m := fileScheme.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	file, err := url.PathUnescape(m[3])
	if err != nil || strings.ContainsAny(text, "{}[]"+Unknown) {
		return Unknown, true
	}
	return file, true
}

// PathForms returns the paths that an argument may hold: itself, the value of a
// flag or of name=value, and what follows "@".
func PathForms(w Word) []Word {
	if w.Text == "" {
		return nil
	}
	var out pathForms
	flag := strings.HasPrefix(w.Text, "-")
	if !flag {
		out.list = append(out.list, w)
	}
	if _, v, ok := strings.Cut(w.Text, "="); ok {
		v = strings.Trim(strings.TrimLeft(v, "@<"), `"`)
		out.add(v)
		if at := strings.IndexAny(v, ";,"); at > 0 { // "f=@a;type=b" of curl
			for piece := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ';' || r == ',' || r == '"' }) {
				out.add(piece)
			}
		}
	}
	if front, v, ok := strings.Cut(w.Text, "@"); ok {
		if !flag && front != "" && strings.Contains(w.Text, Unknown) {
			v = Unknown
		}
		out.add(v)
	}
	if flag && len(w.Text) > 2 && w.Text[1] != '-' {
		out.add(strings.TrimLeft(w.Text[2:], "@<"))
		if i := strings.IndexByte(w.Text[2:], '/'); i > 0 && w.Glob == "" && !strings.ContainsAny(w.Text, "=:") {
			out.add(w.Text[2+i:]) // after letters of other options
		}
	}
	if file, ok := FileAddress(w.Text); ok {
		out.add(file)
	}
	if front, back, ok := strings.Cut(w.Text, ":"); ok && !strings.HasPrefix(back, "//") {
		if !flag {
			out.add(front) // host:path, revision:path
		}
		out.add(back)
	}
	return out.list
}

// pathForms are the parts of a word that may be paths.
type pathForms struct{ list []Word }

//go:noinline // called from many places: every program stays smaller
func (f *pathForms) add(text string) {
	if text == "" {
		return
	}
	w := Word{Text: text}
	if strings.HasPrefix(text, "~/") {
		w.Home, w.Rest = true, text[1:] // many programs expand it
	}
	f.list = append(f.list, w)
}
