package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxFile  = 1 << 20 // bytes of a file
	maxDepth = 64      // of lists and objects within each other
)

// A node is a JSON value that knows where it stands in its text.
type node struct {
	kind       kind
	start, end int // of its bytes
	line       int // of its first byte, from 1
	members    []member
	items      []*node
}

type member struct {
	name  string
	start int // of the name's first quote
	line  int
	value *node
}

// A kind is what a JSON value is, in words.
type kind string

const (
	isObject kind = "an object"
	isList   kind = "a list"
	isText   kind = "a text"
	isNumber kind = "a number"
	isBool   kind = "true or false"
	isNull   kind = "null"
)

// member returns the member with a name, nil if there is none.
func (n *node) member(name string) *member {
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i]
		}
	}
	return nil
}

// A lineError is an error at a line of a text.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

func wrongAt(line int, format string, args ...any) error {
	return &lineError{line, fmt.Sprintf(format, args...)}
}

var mark = []byte("\xef\xbb\xbf") // some editors put it at the beginning

// parse reads a JSON text (RFC 8259) as encoding/json does, but refuses invalid
// UTF-8 and two members of one name: they would be read in more than one way.
// Its errors are lineErrors.
func parse(data []byte) (*node, error) {
	if len(data) > maxFile {
		return nil, wrongAt(1, "the file has more than %d bytes", maxFile)
	}
	p := parser{data: data, line: 1}
	if bytes.HasPrefix(data, mark) {
		p.at = len(mark)
	}
	if len(bytes.TrimSpace(data[p.at:])) == 0 {
		return nil, wrongAt(1, "the file is empty; write {} into it, or remove it")
	}
	if !utf8.Valid(data) {
		return nil, wrongAt(invalidLine(data), "a character is not UTF-8")
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.space()
	return p.value(0)
}

func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}

// A parser takes apart a text that check has passed.
type parser struct {
	data     []byte
	at, line int
}

// check says in words what is no JSON.
func (p *parser) check() error {
	var all json.RawMessage
	text := p.data[p.at:]
	err := json.Unmarshal(text, &all)
	if err == nil {
		return nil
	}
	var wrong *json.SyntaxError
	if !errors.As(err, &wrong) {
		return wrongAt(1, "%v", err)
	}
	if int(wrong.Offset) >= len(text) && strings.Contains(wrong.Error(), "unexpected end") {
		return wrongAt(1+bytes.Count(text, []byte("\n")), "the text ends too early; a quote or a bracket is not closed")
	}
	before := text[:max(0, min(int(wrong.Offset)-1, len(text)))]
	rest := text[len(before):]
	line := 1 + bytes.Count(before, []byte("\n"))
	switch before = bytes.TrimRight(before, " \t\r\n"); {
	case bytes.HasPrefix(rest, []byte("/")), bytes.HasPrefix(rest, []byte("#")):
		return wrongAt(line, "JSON has no comments; remove it")
	case len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') && bytes.HasSuffix(before, []byte(",")):
		return wrongAt(1+bytes.Count(before, []byte("\n")), "there is a comma after the last value; remove it")
	case len(rest) > 0 && rest[0] == '\'':
		return wrongAt(line, "texts are written in double quotes")
	case len(rest) > 0 && rest[0] == '"':
		return wrongAt(line, "a comma or colon is missing before this text")
	}
	return wrongAt(line, "the text is not JSON: %v", err)
}

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case '\n':
			p.line++
		case ' ', '\t', '\r':
		default:
			return
		}
		p.at++
	}
}

func (p *parser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, wrongAt(p.line, "values are nested more than %d deep", maxDepth)
	}
	n := &node{start: p.at, line: p.line}
	var err error
	switch p.data[p.at] {
	case '{':
		n.kind = isObject
		err = p.inside('}', func() error { return p.member(n, depth) })
	case '[':
		n.kind = isList
		err = p.inside(']', func() error {
			item, err := p.value(depth + 1)
			n.items = append(n.items, item)
			return err
		})
	case '"':
		n.kind = isText
		p.text()
	case 't', 'f':
		n.kind = isBool
		p.word()
	case 'n':
		n.kind = isNull
		p.word()
	default:
		n.kind = isNumber
		p.word()
	}
	n.end = p.at
	return n, err
}

// inside reads what is between brackets, each part with one.
func (p *parser) inside(closing byte, one func() error) error {
	p.at++
	for p.space(); p.data[p.at] != closing; p.space() {
		if p.data[p.at] == ',' {
			p.at++
			p.space()
		}
		if err := one(); err != nil {
			return err
		}
	}
	p.at++
	return nil
}

func (p *parser) member(n *node, depth int) error {
	m := member{start: p.at, line: p.line}
	name := p.text()
	if err := json.Unmarshal(name, &m.name); err != nil {
		return wrongAt(p.line, "the name %s is not understood: %v", name, err)
	}
	p.space()
	p.at++ // the colon
	p.space()
	var err error
	if m.value, err = p.value(depth + 1); err != nil {
		return err
	}
	n.members = append(n.members, m)
	return nil
}

// text reads a string and returns it as it is written.
func (p *parser) text() []byte {
	start := p.at
	for p.at++; p.data[p.at] != '"'; p.at++ {
		if p.data[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	return p.data[start:p.at]
}

// word reads a number or a literal.
func (p *parser) word() {
	for p.at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,]}"), p.data[p.at]) < 0 {
		p.at++
	}
}

// once refuses members of one name in an object, at every depth.
func (n *node) once() error {
	seen := make(map[string]int, len(n.members))
	for _, m := range n.members {
		if line, twice := seen[m.name]; twice {
			return wrongAt(m.line, "%.100q is there twice, first in line %d; remove one", m.name, line)
		}
		seen[m.name] = m.line
		if err := m.value.once(); err != nil {
			return err
		}
	}
	for _, item := range n.items {
		if err := item.once(); err != nil {
			return err
		}
	}
	return nil
}
