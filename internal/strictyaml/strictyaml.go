// Package strictyaml reads YAML files into Go values and reports every mistake with its line: keys
// that nobody knows, values of a wrong type, keys that are missing.
package strictyaml

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/openagent-go/agent/internal/text"
)

// A Fault is a mistake in a line of a file.
type Fault struct {
	File string
	Line int // from 1
	Text string
}

// Error names file and line.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
}

// Decode reads YAML into the struct that to points to, and returns all mistakes in the order of
// their lines. Keys are those of the tags "yaml", also in embedded structs. A field with the tag ",line" gets the line of
// its struct. Types are structs, pointers to them, lists, maps of texts, texts, numbers, bools,
// [time.Duration] as "1m30s", and [json.RawMessage] for a value of any form.
func Decode(file string, data []byte, to any) (faults []*Fault) {
	d := &decoder{file: file}
	defer func() { // the parser is someone else's, and so is the file
		if r := recover(); r != nil {
			faults = append(d.faults, &Fault{file, 0, "it cannot be read as YAML"})
		}
	}()
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		return []*Fault{d.syntax(err)}
	}
	if len(f.Docs) > 1 {
		d.fault(line(f.Docs[1]), "the file has more than one YAML document; keep one")
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil || f.Docs[0].Body.Type() == ast.CommentType {
		return append(d.faults, &Fault{file, 1, "the file is empty"})
	}
	body := f.Docs[0].Body
	var refers referrer
	ast.Walk(&refers, body)
	if refers > 0 {
		d.fault(int(refers), "anchors and aliases of YAML are not understood here; write the value out")
		return d.faults
	}
	d.value("", body, reflect.ValueOf(to).Elem())
	slices.SortStableFunc(d.faults, func(a, b *Fault) int { return cmp.Compare(a.Line, b.Line) })
	return d.faults
}

// A referrer notes the line of the first anchor or alias: a few of them can stand for very much.
type referrer int

// Visit implements [ast.Visitor].
func (r *referrer) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		if *r == 0 {
			*r = referrer(line(n))
		}
	}
	return r
}

type decoder struct {
	file   string
	faults []*Fault
}

func (d *decoder) fault(line int, format string, args ...any) {
	d.faults = append(d.faults, &Fault{d.file, line, fmt.Sprintf(format, args...)})
}

var place = regexp.MustCompile(`^\[(\d+):\d+\] `)

func (d *decoder) syntax(err error) *Fault {
	words, _, _ := strings.Cut(err.Error(), "\n")
	at := 0
	if m := place.FindStringSubmatch(words); m != nil {
		words = words[len(m[0]):]
		at, _ = strconv.Atoi(m[1])
	}
	return &Fault{d.file, at, text.Bytes(words, 200)}
}

// line returns the line of a node; that of a mapping is the one of its first key.
func line(n ast.Node) int {
	switch n := n.(type) {
	case *ast.DocumentNode:
		if n.Body != nil {
			return line(n.Body)
		}
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return line(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken().Position.Line
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// members returns the keys and values of a mapping.
func members(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func key(n *ast.MappingValueNode) string { return n.Key.GetToken().Value }

var (
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
)

// value decodes a node. name is the key that has it.
func (d *decoder) value(name string, n ast.Node, to reflect.Value) {
	if n == nil || n.Type() == ast.NullType {
		d.fault(nodeLine(n), "%s has no value; add one, or remove the key", name)
		return
	}
	switch {
	case to.Type() == durationType:
		if s, ok := d.scalar(n).(string); ok {
			if v, err := time.ParseDuration(s); err == nil && v > 0 {
				to.SetInt(int64(v))
				return
			}
		}
		d.fault(line(n), "%s must be a time, such as 90s or 10m", name)
	case to.Type() == rawType:
		d.raw(name, n, to)
	case to.Kind() == reflect.Pointer:
		v := reflect.New(to.Type().Elem())
		d.value(name, n, v.Elem())
		to.Set(v)
	case to.Kind() == reflect.Struct:
		d.object(name, n, to)
	case to.Kind() == reflect.Slice:
		d.list(name, n, to)
	case to.Kind() == reflect.Map:
		d.texts(name, n, to)
	default:
		d.simple(name, n, to)
	}
}

func nodeLine(n ast.Node) int {
	if n == nil {
		return 0
	}
	return line(n)
}

// scalar returns the value of a node that is a text, a number or a bool, else nil.
func (d *decoder) scalar(n ast.Node) any {
	if _, ok := n.(ast.ScalarNode); !ok {
		return nil
	}
	var v any
	if yaml.NodeToValue(n, &v) != nil {
		return nil
	}
	return v
}

func (d *decoder) simple(name string, n ast.Node, to reflect.Value) {
	v := d.scalar(n)
	switch to.Kind() {
	case reflect.String:
		switch v := v.(type) {
		case string:
			to.SetString(v)
		case uint64, int64, int, float64, bool:
			to.SetString(n.GetToken().Value)
		default:
			d.fault(line(n), "%s must be a text", name)
		}
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			to.SetBool(b)
		} else {
			d.fault(line(n), "%s must be true or false", name)
		}
	case reflect.Int:
		if u, ok := v.(uint64); ok && u >= 1 && u <= math.MaxInt32 {
			to.SetInt(int64(u))
		} else {
			d.fault(line(n), "%s must be a whole number of at least 1", name)
		}
	case reflect.Float64:
		f, ok := v.(float64)
		if u, whole := v.(uint64); whole {
			f, ok = float64(u), true
		}
		if ok && f >= 0 && !math.IsInf(f, 0) {
			to.SetFloat(f)
		} else {
			d.fault(line(n), "%s must be a number of at least 0", name)
		}
	default:
		panic("strictyaml: a field of type " + to.Type().String())
	}
}

func (d *decoder) raw(name string, n ast.Node, to reflect.Value) {
	var v any
	err := yaml.NodeToValue(n, &v)
	if err == nil {
		var data []byte
		if data, err = json.Marshal(v); err == nil {
			to.SetBytes(data)
			return
		}
	}
	d.fault(line(n), "%s cannot be written as JSON", name)
}

func (d *decoder) list(name string, n ast.Node, to reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fault(line(n), "%s must be a list, such as [a, b]", name)
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), len(seq.Values), len(seq.Values)))
	for i, item := range seq.Values {
		d.value("a member of "+name, item, to.Index(i))
	}
}

func (d *decoder) texts(name string, n ast.Node, to reflect.Value) {
	list, ok := members(n)
	if !ok {
		d.fault(line(n), "%s must have keys with values", name)
		return
	}
	to.Set(reflect.MakeMap(to.Type()))
	for _, m := range list {
		v := reflect.New(to.Type().Elem()).Elem()
		d.value(key(m), m.Value, v)
		to.SetMapIndex(reflect.ValueOf(key(m)), v)
	}
}

func (d *decoder) object(name string, n ast.Node, to reflect.Value) {
	list, ok := members(n)
	if !ok {
		whole := name
		if whole == "" {
			whole = "the file"
		}
		d.fault(line(n), "%s must have keys with values", whole)
		return
	}
	fields := map[string]reflect.Value{}
	keys(to, line(n), fields)
	for _, m := range list {
		k := key(m)
		field, known := fields[k]
		if !known {
			d.unknown(name, k, line(m), slices.Sorted(maps.Keys(fields)))
			continue
		}
		if m.Value == nil || m.Value.Type() == ast.NullType {
			d.fault(line(m), "%s has no value; add one, or remove the key", k)
			continue
		}
		d.value(k, m.Value, field)
	}
}

// keys notes the fields of a struct by their keys, those of embedded structs too, and sets the line.
func keys(to reflect.Value, line int, fields map[string]reflect.Value) {
	for i := range to.NumField() {
		f := to.Type().Field(i)
		switch tag := f.Tag.Get("yaml"); {
		case f.Anonymous:
			keys(to.Field(i), line, fields)
		case tag == ",line":
			to.Field(i).SetInt(int64(line))
		case tag != "":
			fields[tag] = to.Field(i)
		}
	}
}

func (d *decoder) unknown(where, k string, line int, names []string) {
	k = text.Bytes(k, 80)
	in := ""
	if where != "" {
		in = " in " + where
	}
	if near := text.Nearest(k, names); near != "" {
		d.fault(line, "there is no key %q%s; did you mean %q?", k, in, near)
		return
	}
	d.fault(line, "there is no key %q%s; the keys are %s", k, in, strings.Join(names, ", "))
}
