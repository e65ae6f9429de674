// Package grep searches files for a regular expression as ripgrep does, with
// bounded memory.
package grep

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Options are how a pattern is read.
type Options struct {
	IgnoreCase bool
	// Multiline lets a match span lines: "." matches newlines as well, "^" and "$"
	// match at every line. Files larger than [MaxMultiline] are not searched.
	Multiline bool
}

const (
	maxPattern = 16 << 10 // bytes
	maxProgram = 20_000   // instructions of the compiled pattern, about
	// work bounds the steps, instructions times bytes, that a single run of the
	// matcher may take, since it cannot be interrupted.
	work = 1 << 31
)

// A Pattern is a compiled regular expression in Go's syntax (RE2).
type Pattern struct {
	multiline bool
	re        *regexp.Regexp
	needles   []needle // one of them is in every match; nil: not known
	plain     bool     // a needle is a match
	program   int      // instructions, about
	prog      *syntax.Prog
}

// Compile reads a regular expression. The errors are made for the writer of the pattern.
func Compile(pattern string, o Options) (*Pattern, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	flags := syntax.Perl
	prefix := ""
	if o.IgnoreCase {
		flags |= syntax.FoldCase
		prefix = "i"
	}
	if o.Multiline {
		flags = flags&^syntax.OneLine | syntax.DotNL
		prefix += "ms"
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, explain(pattern, err)
	}
	if !o.Multiline && needsNewline(tree) {
		return nil, errors.New(`the pattern matches only across a line break: set "multiline" to true`)
	}
	program := size(tree)
	if program > maxProgram {
		return nil, errors.New("the pattern is too large: use smaller repetition counts")
	}
	if prefix != "" {
		pattern = "(?" + prefix + ")" + pattern
	}
	p := &Pattern{multiline: o.Multiline, program: program}
	if p.re, err = regexp.Compile(pattern); err != nil {
		return nil, explain(pattern, err)
	}
	p.needles, p.plain = needles(tree.Simplify())
	if tree, err = syntax.Parse(pattern, syntax.Perl); err != nil {
		return nil, explain(pattern, err)
	}
	if p.prog, err = syntax.Compile(tree.Simplify()); err != nil {
		return nil, explain(pattern, err)
	}
	return p, nil
}

// size estimates the number of instructions of re, which bounds the cost of a step through
// a text.
func size(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxProgram+1)
}

// bound returns how many bytes the matcher may get at once: most, or less for a
// large pattern.
func (p *Pattern) bound(most int) int {
	return int(min(int64(most), max(work/int64(p.program), 64<<10)))
}

// explain adds advice for the most frequent mistakes of models.
func explain(pattern string, err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case hasAny(pattern, "(?=", "(?!", "(?<=", "(?<!"):
		return fmt.Errorf("lookahead and lookbehind are not supported (the syntax is RE2): match more, and choose among the results. %s: %q", e.Code, e.Expr)
	case e.Code == syntax.ErrInvalidEscape && len(e.Expr) == 2 && e.Expr[1] >= '1' && e.Expr[1] <= '9', e.Code == syntax.ErrInvalidEscape && e.Expr == `\k`:
		return fmt.Errorf("backreferences are not supported (the syntax is RE2): %q", e.Expr)
	case e.Code == syntax.ErrMissingParen || e.Code == syntax.ErrUnexpectedParen:
		return fmt.Errorf(`%s in %q: write \( and \) for literal parentheses`, e.Code, e.Expr)
	case e.Code == syntax.ErrMissingBracket || e.Code == syntax.ErrInvalidCharRange:
		return fmt.Errorf(`%s in %q: write \[ and \] for literal brackets`, e.Code, e.Expr)
	case e.Code == syntax.ErrMissingRepeatArgument || e.Code == syntax.ErrInvalidRepeatOp:
		return fmt.Errorf(`%s in %q: write \* \+ \? for the characters themselves; possessive and doubled operators are not supported`, e.Code, e.Expr)
	}
	return fmt.Errorf("%s: %q", e.Code, e.Expr)
}

func hasAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// needsNewline reports whether every match holds a newline that was written as such.
func needsNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needsNewline(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min > 0 && needsNewline(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if needsNewline(sub) {
				return true
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !needsNewline(sub) {
				return false
			}
		}
		return true
	}
	return false
}
