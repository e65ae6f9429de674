package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// An Error describes the mistakes in a value.
type Error struct {
	Problems []string // each names a member and the rule that it breaks
	Form     string   // the form expected, "" if not known
}

func (e *Error) Error() string {
	text := strings.Join(e.Problems, "; ")
	if e.Form != "" {
		text += "\nexpected: " + e.Form
	}
	return text
}

// maxProblems is how many problems an Error names.
const maxProblems = 5

// Error returns an error with the form that the schema demands.
func (s *Shape) Error(problems ...string) *Error {
	return &Error{Problems: problems, Form: s.root.form()}
}

// Read checks input and returns it repaired, with the paths of the repairs. Its error is an
// [*Error].
func (s *Shape) Read(input []byte) (_ json.RawMessage, repaired []string, err error) {
	input = bytes.TrimSpace(input)
	if len(input) == 0 || string(input) == "null" {
		input = []byte("{}")
	}
	if !json.Valid(input) {
		var v any
		return nil, nil, s.Error(fmt.Sprintf("it is not valid JSON: %v", json.Unmarshal(input, &v)))
	}
	if !s.root.fits(input) {
		var m inputRepair
		input = m.repair(s.root, input, "")
		if m.problems != nil {
			return nil, nil, s.Error(m.problems...)
		}
		repaired = m.repaired
	}
	if s.full != nil {
		var v any
		if err := json.Unmarshal(input, &v); err != nil {
			return nil, nil, s.Error(err.Error())
		}
		if err := s.full.Validate(v); err != nil {
			return nil, nil, s.Error(strings.TrimPrefix(err.Error(), "validating root: "))
		}
	}
	return input, repaired, nil
}

// Fits reports whether v satisfies the schema as it is, without the keywords that only the
// whole schema checks.
func (s *Shape) Fits(v []byte) bool { return s.root.fits(v) }

// fits reports whether v satisfies n as it is. It allocates nothing but for members that
// an open schema does not name.
func (n *node) fits(v []byte) bool {
	if n == nil {
		return true
	}
	k := kindOf(v)
	if n.kinds != 0 && n.kinds&k == 0 || !n.allows(k, v) {
		return false
	}
	switch k {
	case kindArray:
		if n.items == nil {
			return true
		}
		for e := range elements(v) {
			if !n.items.fits(e) {
				return false
			}
		}
	case kindObject:
		return n.fitsObject(v)
	}
	return true
}

func (n *node) fitsObject(v []byte) bool {
	if len(n.names) > 64 {
		return false // repair decides
	}
	var seen uint64
	for name, value := range fields(v) {
		i, known := n.lookup(name)
		switch {
		case known:
			if seen&(1<<i) != 0 || !n.members[i].fits(value) {
				return false
			}
			seen |= 1 << i
		case n.closed || !n.others.fits(value) || n.respells(name):
			return false
		}
	}
	for i, must := range n.required {
		if must && seen&(1<<i) == 0 {
			return false
		}
	}
	return true
}

// respells reports whether an unknown name is a known one in another case. encoding/json
// would take it for the known one, without the checks of that.
func (n *node) respells(name []byte) bool {
	return len(n.names) > 0 && n.respelled(unquote(name))
}

func (n *node) respelled(name string) bool {
	return slices.ContainsFunc(n.names, func(known string) bool { return strings.EqualFold(known, name) })
}

func (n *node) lookup(name []byte) (int, bool) {
	if bytes.IndexByte(name, '\\') < 0 {
		i, ok := n.index[string(name[1:len(name)-1])]
		return i, ok
	}
	i, ok := n.index[unquote(name)]
	return i, ok
}

// allows checks words and bounds.
func (n *node) allows(k kind, v []byte) bool {
	switch k {
	case kindString:
		return n.words == nil || slices.Contains(n.words, unquote(v))
	case kindInt, kindFloat:
		if n.min == nil && n.max == nil {
			return true
		}
		f, _ := strconv.ParseFloat(string(v), 64) // ±Inf beyond the range, which is right
		return (n.min == nil || f >= *n.min) && (n.max == nil || f <= *n.max)
	}
	return true
}

// An inputRepair rebuilds an input that does not fit: it makes the safe repairs and lists
// the other mistakes.
type inputRepair struct {
	repaired []string
	problems []string
}

func (m *inputRepair) problem(path, format string, args ...any) {
	if path == "" {
		path = "the input"
	}
	if len(m.problems) < maxProblems {
		m.problems = append(m.problems, path+" "+fmt.Sprintf(format, args...))
	}
}

func (m *inputRepair) repair(n *node, v []byte, path string) []byte {
	if n == nil {
		return v
	}
	k := kindOf(v)
	if n.kinds != 0 && n.kinds&k == 0 {
		fixed, ok := convert(n.kinds, k, v)
		if !ok {
			m.problem(path, "must be %s, not %s", n.kinds, shown(v))
			return v
		}
		v, k = fixed, kindOf(fixed)
		m.repaired = append(m.repaired, strings.TrimPrefix(path, "."))
	}
	if !n.allows(k, v) {
		m.problem(path, "must be %s, not %s", n.bounds(), shown(v))
		return v
	}
	switch k {
	case kindArray:
		return m.repairArray(n, v, path)
	case kindObject:
		return m.repairObject(n, v, path)
	}
	return v
}

func (m *inputRepair) repairArray(n *node, v []byte, path string) []byte {
	out := []byte{'['}
	i := 0
	for e := range elements(v) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m.repair(n.items, e, fmt.Sprintf("%s[%d]", path, i))...)
		i++
	}
	return append(out, ']')
}

func (m *inputRepair) repairObject(n *node, v []byte, path string) []byte {
	out := []byte{'{'}
	seen := map[string]bool{}
	for rawName, value := range fields(v) {
		name := unquote(rawName)
		at := name
		if path != "" {
			at = path + "." + name
		}
		i, known := n.index[name]
		member := n.others
		switch {
		case seen[name]:
			m.problem(at, "is given twice")
			continue
		case known:
			member = n.members[i]
		case n.closed || n.respelled(name):
			m.problem(at, "is unknown%s", n.suggest(name))
			continue
		}
		seen[name] = true
		if known && !n.required[i] && kindOf(value) == kindNull && !member.fits(value) {
			m.repaired = append(m.repaired, at)
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, rawName...), ':')
		out = append(out, m.repair(member, value, at)...)
	}
	for i, name := range n.names {
		if n.required[i] && !seen[name] {
			at := name
			if path != "" {
				at = path + "." + name
			}
			m.problem(at, "is required but missing")
		}
	}
	return append(out, '}')
}

// suggest names the member that was probably meant.
func (n *node) suggest(name string) string {
	if near := text.Nearest(name, n.names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// convert turns v of kind k into one of the kinds wanted where that cannot be
// mistaken. It never does where strings are wanted too.
func convert(want, k kind, v []byte) ([]byte, bool) {
	if k == kindFloat && want&kindInt != 0 {
		whole, zeros, ok := bytes.Cut(v, []byte("."))
		return whole, ok && len(bytes.Trim(zeros, "0")) == 0
	}
	if k != kindString || want&kindString != 0 {
		return nil, false
	}
	text := []byte(strings.TrimSpace(unquote(v)))
	if !json.Valid(text) {
		return nil, false
	}
	switch got := kindOf(text); got {
	case kindBool, kindInt, kindFloat, kindArray, kindObject:
		return text, want&got != 0
	}
	return nil, false
}

// kindWords are the words of kinds for people, in order.
var kindWords = [...]struct {
	kind kind
	word string
}{
	{kindObject, "an object"}, {kindArray, "an array"}, {kindString, "a string"}, {kindFloat, "a number"},
	{kindInt, "an integer"}, {kindBool, "true or false"}, {kindNull, "null"},
}

// String lists the kinds in words.
func (k kind) String() string {
	var words []string
	for _, w := range kindWords[:] {
		if k&w.kind != 0 && !(w.kind == kindInt && k&kindFloat != 0) {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " or ")
}

func (n *node) bounds() string {
	if n.words != nil {
		return "one of " + strings.Join(n.words, ", ")
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	if n.min != nil {
		lo = *n.min
	}
	if n.max != nil {
		hi = *n.max
	}
	switch {
	case n.max == nil:
		return fmt.Sprintf("at least %v", lo)
	case n.min == nil:
		return fmt.Sprintf("at most %v", hi)
	}
	return fmt.Sprintf("from %v to %v", lo, hi)
}

// shown shortens a value for an error.
func shown(v []byte) string {
	s := text.Bytes(string(v), 60)
	switch kindOf(v) {
	case kindString:
		return "the string " + s
	case kindArray:
		return "the array " + s
	case kindObject:
		return "the object " + s
	}
	return s
}

// maxForm is the length in bytes of the longest form shown.
const maxForm = 2000

// form shows the values that n takes, as in {"path": string, "limit"?: integer}.
func (n *node) form() string {
	var b strings.Builder
	n.writeForm(&b)
	return text.Bytes(b.String(), maxForm)
}

func (n *node) writeForm(b *strings.Builder) {
	switch {
	case b.Len() > maxForm:
	case n == nil || n.kinds == 0:
		b.WriteString("any")
	case n.kinds&kindObject != 0 && (len(n.names) > 0 || n.closed):
		b.WriteByte('{')
		for i, name := range n.names {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(strconv.Quote(name))
			if !n.required[i] {
				b.WriteByte('?')
			}
			b.WriteString(": ")
			n.members[i].writeForm(b)
		}
		b.WriteByte('}')
	case n.kinds&kindArray != 0:
		b.WriteByte('[')
		n.items.writeForm(b)
		b.WriteString(", …]")
	case n.words != nil:
		b.WriteString(`"` + strings.Join(n.words, `" | "`) + `"`)
	default:
		b.WriteString(n.kinds.word())
	}
}

// kindOrder are the kinds by their names in JSON Schema, in the order in which they are listed.
var kindOrder = [...]struct {
	name string
	kind kind
}{{"object", kindObject}, {"array", kindArray}, {"string", kindString}, {"number", kindInt | kindFloat}, {"integer", kindInt}, {"boolean", kindBool}, {"null", kindNull}}

// word names the kinds as JSON Schema does.
func (k kind) word() string {
	var words []string
	for i := range kindOrder {
		if o := &kindOrder[i]; k&o.kind == o.kind {
			words = append(words, o.name)
			k &^= o.kind // a number covers integers
		}
	}
	return strings.Join(words, " | ")
}
