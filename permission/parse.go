package permission

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// text parses src and hands its statements to walk.
func (s *shell) text(src string, walk func([]*syntax.Stmt)) error {
	if err := checkText(src); err != nil {
		s.fail("%v", err)
		return err
	}
	if s.depth >= maxDepth {
		err := fmt.Errorf("shells are nested more than %d deep", maxDepth)
		s.fail("%v", err)
		return err
	}
	s.depth++
	defer func() { s.depth-- }()
	stmts, err := parse(src)
	if err != nil {
		s.fail("it is not valid shell: %v", err)
		err = fmt.Errorf("parsing command line: %w", err)
	}
	if s.List == nil {
		s.List = make([]Command, 0, min(maxList, 4*len(stmts), 1+strings.Count(src, ";")+strings.Count(src, "\n")+strings.Count(src, "|")+strings.Count(src, "&&")))
	}
	ints, outer := s.ints, s.src
	s.ints, s.src = wholeNumbers(stmts, src), src
	walk(stmts)
	s.ints, s.src = ints, outer
	return err
}

// parse returns the statements of src, up to the first error: a shell runs what
// comes before one. A parser that gives up must not end the program.
func parse(src string) (stmts []*syntax.Stmt, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	p := parsers.Get().(*syntax.Parser)
	for st, err := range p.StmtsSeq(strings.NewReader(src)) {
		if err != nil {
			return stmts, err
		}
		stmts = append(stmts, st)
	}
	parsers.Put(p)
	return stmts, nil
}

// parsers have parsed nothing, or text without an error.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

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
