// Package front reads the front matter of Markdown files: YAML between two lines of
// three dashes, as files of agents and skills begin with. The last may be three dots.
package front

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A Fault is something wrong in a line of a file.
type Fault struct {
	Line int // from 1; 0: there are no lines
	Text string
}

func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.Text
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Text)
}

// A Problem is something that is wrong with a file or a folder.
type Problem struct {
	File    string // its path
	Line    int    // from 1; 0: all of it
	Text    string // what is wrong
	Skipped bool   // it does not count
}

// Error names file and line.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

func at(line int, format string, args ...any) *Fault {
	return &Fault{line, fmt.Sprintf(format, args...)}
}

// Split takes a file apart: its front matter without the marks, nil if it has none,
// and the text after it. whole says that data is all of the file. More than limit
// bytes of front matter, or one without an end, are a [Fault].
func Split(data []byte, whole bool, limit int) (matter, text []byte, err error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if mark(first) != "---" {
		return nil, data, nil
	}
	for at := rest; len(at) > 0; {
		line, next, _ := bytes.Cut(at, []byte("\n"))
		if m := mark(line); m == "---" || m == "..." {
			matter = rest[:len(rest)-len(at)]
			if len(matter) > limit {
				return nil, nil, &Fault{1, fmt.Sprintf("the front matter has more than %d bytes", limit)}
			}
			return matter, next, nil
		}
		at = next
	}
	if !whole {
		return nil, nil, &Fault{1, fmt.Sprintf("the front matter has more than %d bytes, or no end", limit)}
	}
	return nil, nil, &Fault{1, "the front matter has no end: a line --- is missing"}
}

func mark(line []byte) string { return string(bytes.TrimRight(line, " \t\r")) }

// Parse reads front matter as the values of its keys, in their order. A value on its own
// line that is not YAML, as people write them ("description: how to: a guide"), is read as
// if it were in quotes, with a note. Errors are Faults.
func Parse(matter []byte) (values []Value, note *Fault, err error) {
	if values, err = mapping(matter); err == nil {
		return values, nil, nil
	}
	corrected, changed := quoted(matter)
	if !changed {
		return nil, nil, err
	}
	var wrong error
	if values, wrong = mapping(corrected); wrong != nil {
		return nil, nil, err
	}
	if errors.As(err, &note) {
		note.Text = "the front matter is no YAML, and was read as if the value were in quotes: " + note.Text
	}
	return values, note, nil
}

func mapping(matter []byte) (_ []Value, err error) {
	defer func() { // the parser is someone else's, and so is the file
		if recover() != nil {
			err = at(2, "the front matter cannot be read as YAML")
		}
	}()
	f, err := parser.ParseBytes(matter, 0)
	if err != nil {
		return nil, faultOf(err)
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return nil, nil
	}
	if len(f.Docs) > 1 {
		return nil, at(2, "the front matter is more than one document")
	}
	var nodes []*ast.MappingValueNode
	switch n := f.Docs[0].Body.(type) {
	case *ast.MappingNode:
		nodes = n.Values
	case *ast.MappingValueNode:
		nodes = []*ast.MappingValueNode{n}
	case *ast.CommentGroupNode:
		return nil, nil
	default:
		return nil, at(2, "the front matter must be keys with values, such as description: what it is for")
	}
	var out []Value
	for _, n := range nodes {
		v := Value{Key: strings.Trim(strings.TrimSpace(n.Key.String()), `"'`), Line: n.Key.GetToken().Position.Line + 1} // after the first ---
		var refers refers
		ast.Walk(&refers, n)
		if refers {
			return nil, at(v.Line, "%.80s: anchors and aliases of YAML are not understood here; write the value out", v.Key)
		}
		if err = yaml.NodeToValue(n.Value, &v.value); err != nil {
			return nil, at(v.Line, "%.80s: %s", v.Key, faultOf(err).Text)
		}
		out = append(out, v)
	}
	return out, nil
}

// refers notes whether there is an anchor or an alias: a few of them can stand for
// very much.
type refers bool

func (r *refers) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		*r = true
	}
	if *r {
		return nil
	}
	return r
}

var place = regexp.MustCompile(`^\[(\d+):\d+\] `)

// faultOf makes a line of a YAML error, with the line of the file.
func faultOf(err error) *Fault {
	text, _, _ := strings.Cut(err.Error(), "\n")
	line := 2
	if m := place.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if _, err := fmt.Sscan(m[1], &line); err == nil {
			line++
		}
	}
	return at(line, "%.200s", text)
}

var plainLine = regexp.MustCompile(`^([A-Za-z][\w-]*):[ \t]+(.*\S)\s*$`)

// quoted puts values in quotes that are not YAML by themselves.
func quoted(matter []byte) ([]byte, bool) {
	lines := strings.Split(string(matter), "\n")
	changed := false
	for i, l := range lines {
		m := plainLine.FindStringSubmatch(l)
		if m == nil || strings.ContainsAny(m[2][:1], `"'|>&*!`) {
			continue
		}
		if _, err := parser.ParseBytes([]byte(l), 0); err == nil {
			continue
		}
		lines[i] = m[1] + ": '" + strings.ReplaceAll(m[2], "'", "''") + "'"
		changed = true
	}
	return []byte(strings.Join(lines, "\n")), changed
}
