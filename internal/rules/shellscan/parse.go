package shellscan

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// text parses src, hands the statements of its form to walk, and returns the form.
func (s *shell) text(src string, walk func([]*syntax.Stmt)) (Form, error) {
	if err := checkText(src); err != nil {
		s.fail("%v", err)
		return Form{}, err
	}
	if s.depth >= maxDepth {
		err := fmt.Errorf("shells are nested more than %d deep", maxDepth)
		s.fail("%v", err)
		return Form{}, err
	}
	s.depth++
	defer func() { s.depth-- }()
	sc, err := readScript(src)
	if err != nil {
		s.fail("it is not valid shell: %v", err)
		err = fmt.Errorf("parsing command line: %w", err)
	}
	if sc.odd != "" {
		s.fail("%s", sc.odd)
	}
	if s.List == nil {
		s.List = make([]Command, 0, min(maxList, 4*len(sc.stmts), 1+strings.Count(src, ";")+strings.Count(src, "\n")+strings.Count(src, "|")+strings.Count(src, "&&")))
	}
	ints, outer, rewritten, bash := s.ints, s.src, s.rewritten, s.bash
	s.ints, s.src, s.rewritten, s.bash = wholeNumbers(sc.stmts, sc.Line), sc.Line, false, false
	walk(sc.stmts)
	if s.rewritten && s.Unclear == "" {
		sc = s.reform(sc)
	}
	sc.Bash = sc.Bash || s.bash
	s.ints, s.src, s.rewritten, s.bash = ints, outer, rewritten, bash
	return sc.Form, err
}

// reform prints statements again in which texts for other shells were replaced.
func (s *shell) reform(sc script) script {
	form, odd := writeForm(sc.stmts, len(sc.Line))
	if odd == "" {
		if again, ok := readForm(form); ok {
			return again
		}
		odd = twoWays
	}
	s.fail("%s", odd)
	return sc
}

// rewrite replaces words whose text a shell reads again by one word: the form of that text.
func (s *shell) rewrite(words []shellword.Word, src string, form Form) {
	if s.Unclear != "" || len(words) == 0 || form.Line == src && len(words) == 1 {
		return
	}
	for i, w := range words {
		if w.From == nil {
			s.fail("a text that a shell reads is not on the line")
			return
		}
		w.From.Parts = nil
		if i == 0 {
			w.From.Parts = quotedParts(form.Line)
		}
	}
	s.rewritten = true
}

// quotedParts returns the parts of a word that stands for a text.
func quotedParts(text string) []syntax.WordPart {
	var parts []syntax.WordPart
	for i, t := range strings.Split(text, "'") {
		if i > 0 {
			parts = append(parts, &syntax.Lit{Value: `\'`})
		}
		if t != "" {
			parts = append(parts, &syntax.SglQuoted{Value: t})
		}
	}
	if parts == nil {
		parts = []syntax.WordPart{&syntax.SglQuoted{}}
	}
	return parts
}

// parse returns the statements of src, up to the first error: a shell runs what
// comes before one. A parser that gives up must not end the program.
func parse(src string) (file *syntax.File, err error) {
	file = &syntax.File{}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	p := parsers.Get().(*syntax.Parser)
	all, err := p.Parse(strings.NewReader(src), "")
	if err == nil {
		parsers.Put(p)
		return all, nil
	}
	for st, err := range newParser().StmtsSeq(strings.NewReader(src)) {
		if err != nil {
			return file, err
		}
		file.Stmts = append(file.Stmts, st)
	}
	return file, err
}

func newParser() *syntax.Parser {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
}

// parsers have parsed nothing, or text without an error.
var parsers = sync.Pool{New: func() any { return newParser() }}

var (
	errTooLong = fmt.Errorf("command line is longer than %d bytes", maxLine)
	errNesting = fmt.Errorf("command line is nested more than %d deep", maxNest)
	errBytes   = errors.New("command line holds characters that cannot be seen")
)

// visible reports whether all characters of a text can be seen, or are a space, the
// end of a line or a tab.
func visible(src string) bool {
	for i := range len(src) {
		if c := src[i]; c >= utf8.RuneSelf {
			return utf8.ValidString(src[i:]) && !strings.ContainsFunc(src[i:], hiddenRune)
		} else if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func hiddenRune(c rune) bool {
	return c != '\n' && c != '\t' && (!unicode.IsPrint(c) || c != ' ' && unicode.IsSpace(c))
}

// checkText bounds what the parser has to recurse over and refuses characters
// that a shell may read in another way than the parser.
func checkText(src string) error {
	if len(src) > maxLine {
		return errTooLong
	}
	if !visible(src) {
		return errBytes
	}
	// An upper bound of the depth: whatever opens on one level.
	deep, depth, inWord, start := 0, 0, 0, 0
	for i := range len(src) {
		switch src[i] {
		case '(', '{', '[', '`':
			depth++
			deep = max(deep, depth)
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
		switch src[i] {
		case ' ', '\n', '\t', ';', '|', '&', '(', ')':
			if opensMore(src[start:i]) {
				inWord++
			}
			start = i + 1
		}
	}
	if deep > maxNest || inWord > maxNest {
		return errNesting
	}
	return nil
}

// opensMore reports whether a word may begin what has statements in it.
func opensMore(w string) bool {
	switch w {
	case "if", "elif", "while", "until", "for", "select", "case", "function", "time", "!", "coproc":
		return true
	}
	return false
}

// NotUnderstood begins what is said of lines that are not.
const NotUnderstood = "it is not understood: "
