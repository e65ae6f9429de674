package shellword

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/paths"
	"mvdan.cc/sh/v3/syntax"
)

// What a word may be as a path where its text is not known. Rules that forbid
// paths look at it; nothing is allowed by it.

// maxMeanings bounds the alternatives of braces that are followed.
const maxMeanings = 64

// Meanings returns what the word may be as a path; false if that is not known.
func (w Word) Meanings() ([]Word, bool) {
	if w.Means != nil {
		return w.Means, true
	}
	return []Word{w}, !w.Hidden()
}

// alternatives returns what a word with braces may be, nil if that is not known;
// also the word itself, which it stays for shells that know no braces.
func alternatives(w *syntax.Word) []Word {
	split := *w
	if !syntax.SplitBraces(&split) {
		return nil
	}
	lists, ok := expandBraces(split.Parts)
	if !ok {
		return nil
	}
	var all []Word
	if x := plainText(w); !x.Hidden() {
		all = append(all, x)
	}
	for _, parts := range lists {
		alt := &syntax.Word{Parts: mergeText(parts)}
		x := plainText(alt)
		if !x.Hidden() {
			all = append(all, x)
			continue
		}
		more := pathMeanings(alt)
		if more == nil {
			return nil
		}
		all = append(all, more...)
	}
	return all
}

// expandBraces returns the words that braces stand for; false for too many.
func expandBraces(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	out := [][]syntax.WordPart{nil}
	for _, p := range parts {
		alts := [][]syntax.WordPart{{p}}
		if b, ok := p.(*syntax.BraceExp); ok {
			if alts, ok = braceElements(b); !ok {
				return nil, false
			}
		}
		if len(out)*len(alts) > maxMeanings {
			return nil, false
		}
		var next [][]syntax.WordPart
		for _, before := range out {
			for _, a := range alts {
				next = append(next, slices.Concat(before, a))
			}
		}
		out = next
	}
	return out, true
}

func braceElements(b *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	var all [][]syntax.WordPart
	if b.Sequence {
		from, to := b.Elems[0].Lit(), b.Elems[1].Lit()
		if IsDigits(strings.TrimLeft(from, "+-")) {
			return [][]syntax.WordPart{{&syntax.ArithmExp{}}}, true // a number, like the result of one
		}
		for c := min(from[0], to[0]); c <= max(from[0], to[0]); c++ {
			all = append(all, []syntax.WordPart{&syntax.SglQuoted{Value: string(rune(c))}})
		}
		return all, true
	}
	for _, e := range b.Elems {
		lists, ok := expandBraces(e.Parts)
		if !ok || len(all)+len(lists) > maxMeanings {
			return nil, false
		}
		all = append(all, lists...)
	}
	return all, true
}

// mergeText joins neighbouring texts, so that "~" and "/" are read as one.
func mergeText(parts []syntax.WordPart) []syntax.WordPart {
	var out []syntax.WordPart
	for _, p := range parts {
		lit, ok := p.(*syntax.Lit)
		if ok && lit.Value == "" {
			continue
		}
		if ok && len(out) > 0 {
			if before, ok := out[len(out)-1].(*syntax.Lit); ok {
				out[len(out)-1] = &syntax.Lit{Value: before.Value + lit.Value}
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// pathMeanings returns what a word may be that holds nothing unknown but numbers and, in
// front, the folder that the shell is in; nil for any other.
func pathMeanings(w *syntax.Word) []Word {
	var parts []syntax.WordPart
	here, split, numbers := false, false, false
	known := func(p syntax.WordPart, first bool) (syntax.WordPart, bool) {
		switch p := p.(type) {
		case *syntax.ArithmExp:
			numbers = true
			return &syntax.Lit{Value: paths.Number}, true
		case *syntax.ParamExp:
			if IsNumber(p) {
				numbers = true
				return &syntax.Lit{Value: paths.Number}, true
			}
			if first && IsSimple(p) && p.Param.Value == "PWD" {
				here = true
				return &syntax.Lit{Value: "."}, true
			}
		case *syntax.Lit:
			if rest, ok := strings.CutPrefix(p.Value, "~+"); ok && first && (strings.HasPrefix(rest, "/") || rest == "" && len(w.Parts) == 1) {
				here = true
				return &syntax.Lit{Value: "." + rest}, true
			}
		}
		return p, false
	}
	for i, p := range w.Parts {
		q, quoted := p.(*syntax.DblQuoted)
		if !quoted || q.Dollar {
			x, _ := known(p, i == 0)
			_, variable := p.(*syntax.ParamExp)
			split = split || variable && here && i == 0
			parts = append(parts, x)
			continue
		}
		for j, p := range q.Parts {
			x, ok := known(p, i == 0 && j == 0 && !isText(p))
			if !ok {
				x = &syntax.DblQuoted{Parts: []syntax.WordPart{p}}
			}
			parts = append(parts, x)
		}
	}
	x := plainText(&syntax.Word{Parts: parts})
	if x.Hidden() || here && x.Text != "." && !strings.HasPrefix(x.Text, "./") {
		return nil
	}
	if x.Split = split; numbers {
		x.Text = Unknown // its form is all that is known
	}
	return []Word{x}
}

func isText(p syntax.WordPart) bool {
	_, ok := p.(*syntax.Lit)
	return ok
}
