// Package toolschema compiles the JSON Schemas of tools and answers, and checks and repairs
// values by them.
package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Errors of schemas go on after the name of the schema: "the input schema has …".

// CheckRoot returns an error if providers would refuse the schema.
func CheckRoot(schema json.RawMessage) error {
	root, err := parseSchema(schema)
	if err != nil {
		return err
	}
	if root.Type != "object" {
		return notObject(root)
	}
	if root.Schema != "" {
		return errors.New("has $schema at its root")
	}
	return nil
}

func notObject(s *jsonschema.Schema) error {
	but := ""
	if types := append(slices.Clone(s.Types), s.Type); types[0] != "" {
		but = fmt.Sprintf(", but %.40q", types[0])
	}
	return fmt.Errorf(`is not of type "object"%s`, but)
}

// parseSchema reads a schema and refuses a root that no provider accepts.
func parseSchema(data []byte) (*jsonschema.Schema, error) {
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] != '{' && json.Valid(text) {
		return nil, errors.New("the input schema is not a JSON object")
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("is not a JSON Schema: %w", err)
	}
	if s.OneOf != nil || s.AnyOf != nil || s.AllOf != nil {
		return nil, errors.New("has oneOf, anyOf or allOf at its root, which no provider accepts")
	}
	return &s, nil
}

// A Shape is a compiled schema of type object.
type Shape struct {
	Schema json.RawMessage // as the model gets it
	root   *node
	full   *Resolved // set if the nodes do not cover the whole schema
}

// shapes holds a *Shape or an error for each Go type met, because inferring is
// slow and programs make agents often.
var shapes sync.Map // reflect.Type → func() (*Shape, error)

// Of returns the shape of a Go type: a struct or a map.
func Of(t reflect.Type) (*Shape, error) {
	if f, ok := shapes.Load(t); ok {
		return f.(func() (*Shape, error))()
	}
	f, _ := shapes.LoadOrStore(t, sync.OnceValues(func() (*Shape, error) { return inferShape(t) }))
	return f.(func() (*Shape, error))()
}

func inferShape(t reflect.Type) (*Shape, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[json.Number]():     {Type: "number"},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
	if err != nil {
		return nil, fmt.Errorf("cannot be inferred: %w", err)
	}
	if slices.Equal(s.Types, []string{"null", "object"}) { // In is a pointer
		s.Type, s.Types = "object", nil
	}
	plainArrays(s)
	return compile(s)
}

// plainArrays makes slices arrays alone: "array or null" says nothing to the
// model, and several hosts refuse lists of types.
func plainArrays(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	for _, p := range s.Properties {
		plainArrays(p)
	}
	plainArrays(s.Items)
	plainArrays(s.AdditionalProperties)
}

// written holds the shapes of schemas that were written by hand, like shapes, for
// the first maxWritten of them: servers may make new ones for ever.
var written struct {
	sync.RWMutex
	shapes map[string]*Shape
}

const maxWritten = 1000

// New returns the shape of a schema that was written by hand.
func New(data json.RawMessage) (*Shape, error) {
	written.RLock()
	known := written.shapes[string(data)]
	written.RUnlock()
	if known != nil {
		return known, nil
	}
	s, err := readShape(data)
	if err != nil {
		return nil, err
	}
	written.Lock()
	defer written.Unlock()
	if written.shapes == nil {
		written.shapes = map[string]*Shape{}
	}
	if len(written.shapes) < maxWritten {
		written.shapes[string(data)] = s
	}
	return s, nil
}

// readShape compiles a schema that was written by hand. A missing type at the
// root becomes object, and $schema, which providers refuse, is left out; else its
// members stay in their order.
func readShape(data json.RawMessage) (*Shape, error) {
	s, err := parseSchema(data)
	if err != nil {
		return nil, err
	}
	changed := s.Schema != "" || s.Type == "" && s.Types == nil
	if changed {
		s.Schema = ""
		if s.Types == nil {
			s.Type = "object"
		}
	}
	sh, err := compile(s)
	if err == nil && !changed {
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			return nil, fmt.Errorf("is not a JSON Schema: %w", err)
		}
		sh.Schema = slices.Clip(compact.Bytes())
	}
	return sh, err
}

func compile(s *jsonschema.Schema) (*Shape, error) {
	if s.Type != "object" {
		return nil, notObject(s)
	}
	resolved, err := Resolve(s)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("cannot be encoded: %w", err)
	}
	c := compiler{}
	sh := &Shape{Schema: slices.Clip(data), root: c.node(s)}
	if c.partial {
		sh.full = resolved
	}
	return sh, nil
}

// A node checks the parts of a tool's input: types, members, elements, enumerations and
// bounds. A nil node accepts everything.
type node struct {
	kinds    kind // 0: any
	names    []string
	index    map[string]int // name → place in the slices
	members  []*node
	required []bool
	closed   bool  // no other members
	others   *node // the other members
	items    *node
	words    []string // the strings allowed; nil: any
	min, max *float64
}

// compiler turns schemas into nodes. partial is set when a schema says more
// than the nodes can check.
type compiler struct{ partial bool }

// kindNamed returns the kinds that a name in JSON Schema stands for, 0 for another name.
func kindNamed(name string) (k kind) {
	for i := range kindOrder {
		if kindOrder[i].name == name {
			k = kindOrder[i].kind
		}
	}
	return k
}

func (c *compiler) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	n := &node{min: s.Minimum, max: s.Maximum, items: c.node(s.Items)}
	for _, t := range append(slices.Clone(s.Types), s.Type) {
		n.kinds |= kindNamed(t)
	}
	n.names = slices.Clone(s.PropertyOrder)
	for name := range s.Properties {
		if !slices.Contains(n.names, name) {
			n.names = append(n.names, name)
		}
	}
	slices.Sort(n.names[len(s.PropertyOrder):])
	for _, name := range s.Required {
		if !slices.Contains(n.names, name) {
			n.names = append(n.names, name)
		}
	}
	n.index = make(map[string]int, len(n.names))
	for i, name := range n.names {
		n.index[name] = i
		n.members = append(n.members, c.node(s.Properties[name]))
		n.required = append(n.required, slices.Contains(s.Required, name))
	}
	if a := s.AdditionalProperties; a != nil {
		n.closed = a.Not != nil && reflect.DeepEqual(*a.Not, jsonschema.Schema{})
		if !n.closed {
			n.others = c.node(a)
		}
	}
	for _, e := range s.Enum {
		w, ok := e.(string)
		if !ok {
			n.words, c.partial = nil, true
			break
		}
		n.words = append(n.words, w)
	}
	c.partial = c.partial || !covered(s)
	return n
}

// covered reports whether node checks every keyword of s itself. Keywords that do not
// validate (titles, descriptions, defaults) count as checked.
func covered(s *jsonschema.Schema) bool {
	rest := *s
	rest.Type, rest.Types, rest.Minimum, rest.Maximum, rest.Enum = "", nil, nil, nil, nil
	rest.Properties, rest.PropertyOrder, rest.Required, rest.Items, rest.AdditionalProperties = nil, nil, nil, nil, nil
	rest.Title, rest.Description, rest.Default, rest.Examples, rest.Comment = "", "", nil, nil, ""
	rest.Deprecated, rest.ReadOnly, rest.WriteOnly, rest.Schema, rest.ID = false, false, false, "", ""
	rest.Format, rest.ContentEncoding, rest.ContentMediaType = "", "", ""
	rest.Defs, rest.Definitions, rest.Extra = nil, nil, nil
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		return reflect.DeepEqual(*s.AdditionalProperties.Not, jsonschema.Schema{}) && reflect.DeepEqual(rest, jsonschema.Schema{})
	}
	return reflect.DeepEqual(rest, jsonschema.Schema{})
}
