// Package shellword reads the words of a shell's syntax tree: their text where it is known,
// the file patterns in them, and what they may be as paths where it is not.
package shellword

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/paths"
	"mvdan.cc/sh/v3/syntax"
)

// A Word is a word of a command with its quoting removed.
type Word struct {
	Text  string // Unknown for what is only known at run time
	Glob  string // where the word is a pattern of files: the text, or rest, with what was quoted escaped
	Home  bool   // begins with the home folder, followed by rest
	Rest  string
	Split bool   // may become several words, or none
	Means []Word // where the text is not known: all that the word may be as a path; nil if that is not known
	From  *syntax.Word
	Found bool // the name of a file that a program found, which does not begin with "-"
}

//go:noinline // called from many places: every program stays smaller
func (w Word) Unknown() bool { return strings.Contains(w.Text, Unknown) }

// Any reports whether is returns true for one of the words.
//
//go:noinline // called from many places: every program stays smaller
func Any(words []Word, is func(Word) bool) bool { return slices.ContainsFunc(words, is) }

// Hidden reports whether the word is not known, not even as a path.
func (w Word) Hidden() bool {
	return w.Unknown() && (!w.Home || strings.Contains(w.Rest, Unknown))
}

// Target returns the path that the word names, "~" first for the home folder;
// false if it is not known.
func (w Word) Target() (string, bool) {
	switch {
	case w.Home:
		return "~" + w.Rest, !strings.Contains(w.Rest, Unknown) && w.Glob == ""
	case strings.HasPrefix(w.Text, "~"):
		return "./" + w.Text, !w.Unknown() && w.Glob == ""
	}
	return w.Text, !w.Unknown() && w.Glob == ""
}

func Read(w *syntax.Word) Word {
	if text, ok := Ordinary(w); ok {
		return Word{Text: text}
	}
	x := plainText(w)
	if HasBraces(w) {
		return Word{Text: Unknown, Split: true, Means: alternatives(w)}
	}
	if x.Hidden() {
		x.Means = pathMeanings(w)
	}
	return x
}

// Ordinary returns the text of a word that stands for itself; false for others.
func Ordinary(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, !strings.ContainsAny(p.Value, "\\~*?[{")
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	}
	return "", false
}

// plainText returns the text of a word as if braces meant nothing.
func plainText(w *syntax.Word) Word {
	var r wordReader
	for i, p := range w.Parts {
		r.part(p, i == 0, len(w.Parts) == 1)
	}
	return r.word()
}

// A wordReader puts a word together from its parts.
type wordReader struct {
	text, glob, rest   strings.Builder // as in word
	magic, home, split bool
}

func (r *wordReader) add(t string, quoted bool) {
	r.text.WriteString(t)
	r.rest.WriteString(t)
	if quoted {
		t = paths.EscapeGlob(t)
	}
	r.glob.WriteString(t)
}

func (r *wordReader) part(p syntax.WordPart, first, only bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		r.literal(p.Value, first, only)
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			r.add(Unknown, true)
		} else {
			r.add(p.Value, true)
		}
	case *syntax.DblQuoted:
		r.quoted(p, first)
	case *syntax.ParamExp:
		r.add(Unknown, false)
		if first && isHome(p) {
			r.home = true
		} else {
			r.split = r.split || !IsNumber(p)
		}
	case *syntax.ProcSubst:
		r.add("/dev/fd/63", true)
	case *syntax.ArithmExp:
		r.add(Unknown, true)
	default:
		r.add(Unknown, false)
		r.split = true
	}
}

func (r *wordReader) literal(v string, first, only bool) {
	if first && strings.HasPrefix(v, "~") {
		if v == "~" && only || strings.HasPrefix(v, "~/") {
			r.home = true
			r.text.WriteString("~")
			v = v[1:]
		} else {
			r.add(Unknown, false)
		}
	}
	t, g := paths.Unescape(v)
	r.text.WriteString(t)
	r.rest.WriteString(t)
	r.glob.WriteString(g)
	r.magic = r.magic || paths.HasMagic(g)
}

func (r *wordReader) quoted(q *syntax.DblQuoted, first bool) {
	if q.Dollar {
		r.add(Unknown, true)
		return
	}
	for j, p := range q.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			r.add(UnescapeQuoted(p.Value), true)
		case *syntax.ParamExp:
			r.add(Unknown, true)
			r.home = r.home || first && j == 0 && isHome(p)
			r.split = r.split || isList(p)
		default:
			r.add(Unknown, true)
		}
	}
}

func (r *wordReader) word() Word {
	x := Word{Text: r.text.String(), Home: r.home, Split: r.split}
	if x.Home {
		x.Rest = strings.TrimPrefix(r.rest.String(), Unknown)
	}
	if r.magic {
		x.Glob = r.glob.String()
		if x.Home {
			x.Glob = strings.TrimPrefix(x.Glob, Unknown)
		}
	}
	return x
}

func UnescapeQuoted(v string) string {
	if !strings.Contains(v, `\`) {
		return v
	}
	var t strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) && strings.IndexByte("$`\"\\\n", v[i+1]) >= 0 {
			i++
			if v[i] == '\n' {
				continue
			}
		}
		t.WriteByte(v[i])
	}
	return t.String()
}

// HasBraces reports whether a word may be a brace expansion.
func HasBraces(w *syntax.Word) bool {
	if !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		l, ok := p.(*syntax.Lit)
		return ok && strings.Contains(l.Value, "{")
	}) {
		return false
	}
	var b strings.Builder
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		} else {
			b.WriteByte('_')
		}
	}
	_, rest, ok := strings.Cut(b.String(), "{")
	if !ok {
		return false
	}
	end := strings.LastIndexByte(rest, '}')
	return end >= 0 && (strings.Contains(rest[:end], ",") || strings.Contains(rest[:end], ".."))
}

func IsSimple(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil &&
		p.Repl == nil && p.Names == 0 && p.Exp == nil && p.Flags == nil && len(p.Modifiers) == 0
}

func isHome(p *syntax.ParamExp) bool { return IsSimple(p) && p.Param.Value == "HOME" }

// IsNumber reports whether an expansion is a whole number whatever happens.
func IsNumber(p *syntax.ParamExp) bool {
	if p.Length && p.Index == nil && p.Exp == nil && p.Slice == nil {
		return true
	}
	return IsSimple(p) && slices.Contains([]string{"?", "#", "$", "!"}, p.Param.Value)
}

// isList reports whether an expansion may be several words even in quotes.
func isList(p *syntax.ParamExp) bool {
	if p.Param != nil && p.Param.Value == "@" {
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return p.Index != nil && (!ok || w.Lit() == "@") || p.Names != 0
}

// MayBeOption reports whether a word may turn out to be an option, or several.
func (w Word) MayBeOption() bool {
	return !w.Found && strings.HasPrefix(w.Text, Unknown) && !w.Home || w.Split && strings.HasPrefix(w.Text, "-")
}
