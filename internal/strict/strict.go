// Package strict writes JSON Schemas in the part of the language that providers compile
// into a grammar for a model's answer. Lost parts of a schema (bounds, patterns) become
// descriptions, and the host checks them.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// OpenAI returns schema as strict mode of OpenAI takes it: every object closed, every
// member required, optional ones as null. It reports false for a schema that has no
// such form. Source: https://platform.openai.com/docs/guides/structured-outputs.
func OpenAI(schema json.RawMessage) ([]byte, bool) {
	return (&writer{formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
		keeps:    []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"},
		allThere: true, recursion: true, depth: 10, words: 1000}).write(schema)
}

// Anthropic returns schema as output_config.format takes it: every object closed, no
// bounds, no recursion, at most 24 optional members and 16 unions. It reports false for
// a schema that has no such form.
// Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs.
func Anthropic(schema json.RawMessage) ([]byte, bool) {
	w := &writer{formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}, depth: 32}
	out, ok := w.write(schema)
	return out, ok && w.optional <= 24 && w.unions <= 16
}

// Fits reports whether every provider that takes schemas for answers takes this one, so
// that the model can change during a run.
func Fits(schema json.RawMessage) bool {
	_, openai := OpenAI(schema)
	_, anthropic := Anthropic(schema)
	return openai && anthropic
}

// A writer writes one schema for one provider.
type writer struct {
	formats   []string // of strings
	keeps     []string // keywords that bound values
	allThere  bool     // no member is optional
	recursion bool
	depth     int // of objects and arrays
	words     int // in all enums; 0: any number

	optional, unions, enums int
	nested                  int                 // schemas around the one that is being written
	def                     string              // that is being written
	refs                    map[string][]string // from definitions to definitions
}

// errForm means that there is no such form.
var errForm = errors.New("the schema has no strict form")

func (w *writer) write(schema json.RawMessage) ([]byte, bool) {
	if deep(schema) {
		return nil, false
	}
	w.refs = map[string][]string{}
	out, err := w.schema(schema, 0)
	if err != nil || !bytes.HasPrefix(out, []byte(`{"type":"object"`)) || w.words > 0 && w.enums > w.words || !w.recursion && w.circular() {
		return nil, false
	}
	return out, true
}

// maxNested bounds schemas in schemas, of which each is read once by all around it.
const maxNested = 40

// deep reports whether JSON is nested deeper than schemas may be, which have at most
// two levels each, without reading any of it twice.
func deep(raw []byte) bool {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if level++; level > 2*maxNested {
				return true
			}
		case c == '}', c == ']':
			level--
		}
	}
	return false
}

// schema writes one schema, its type first.
func (w *writer) schema(raw json.RawMessage, depth int) ([]byte, error) {
	w.nested++
	out, err := w.nestedSchema(raw, depth)
	w.nested--
	return out, err
}

func (w *writer) nestedSchema(raw json.RawMessage, depth int) ([]byte, error) {
	if w.nested > maxNested || depth > w.depth {
		return nil, errForm
	}
	in, err := parse(raw)
	if err != nil {
		return nil, errForm
	}
	if ref, ok := in.text("$ref"); ok {
		if !strings.HasPrefix(ref, "#") {
			return nil, errForm
		}
		w.refs[w.def] = append(w.refs[w.def], strings.TrimPrefix(strings.TrimPrefix(ref, "#/$defs/"), "#/definitions/"))
		return object{{"$ref", quote(ref)}}.bytes(), nil
	}
	if slices.ContainsFunc([]string{"allOf", "prefixItems", "patternProperties"}, in.has) {
		return nil, errForm
	}
	out := object{}
	kind, err := kindOf(in)
	if err != nil {
		return nil, err
	}
	if kind != nil {
		out.add("type", kind)
		if kind[0] == '[' {
			w.unions++
		}
	}
	lost := lost{}
	for _, m := range in {
		same := false // it stays as it is
		switch m.name {
		case "description", "title":
			same = true
		case "enum", "const":
			if err := w.constants(m); err != nil {
				return nil, err
			}
			same = true
		case "anyOf", "oneOf":
			alternatives, err := w.list(m.value, depth)
			if err != nil || in.has("anyOf") && in.has("oneOf") {
				return nil, errForm
			}
			w.unions++
			out.add("anyOf", alternatives)
		case "properties":
			if err := w.members(&out, in, depth); err != nil {
				return nil, err
			}
		case "items":
			items, err := w.schema(m.value, depth+1)
			if err != nil {
				return nil, err
			}
			out.add("items", items)
		case "format":
			if f, _ := in.text("format"); slices.Contains(w.formats, f) {
				same = true
			} else {
				lost.add(m)
			}
		case "$defs", "definitions":
			defs, err := w.definitions(m.value)
			if err != nil {
				return nil, err
			}
			out.add(m.name, defs)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems":
			if slices.Contains(w.keeps, m.name) || m.name == "minItems" && (string(m.value) == "0" || string(m.value) == "1") {
				same = true
			} else {
				lost.add(m)
			}
		case "minLength", "maxLength", "pattern", "uniqueItems", "minProperties", "maxProperties":
			lost.add(m)
		}
		if same {
			out.add(m.name, m.value)
		}
	}
	if has(kind, "array") && !in.has("items") || has(kind, "object") && !in.has("properties") && !in.closed() {
		return nil, errForm
	}
	if has(kind, "object") && !in.has("properties") {
		out = append(out, member{"properties", []byte(`{}`)}, member{"required", []byte(`[]`)}, member{"additionalProperties", []byte(`false`)})
	}
	return lost.tell(out).bytes(), nil
}

// members writes the keywords about an object's members.
func (w *writer) members(out *object, in object, depth int) error {
	if in.has("additionalProperties") && !in.closed() {
		return errForm
	}
	properties, err := parse(in.value("properties"))
	if err != nil {
		return errForm
	}
	var required []string
	if in.has("required") && json.Unmarshal(in.value("required"), &required) != nil {
		return errForm
	}
	there, needed, known := []string{}, map[string]bool{}, map[string]bool{}
	for _, name := range required {
		needed[name] = true
	}
	for i, p := range properties {
		must := needed[p.name]
		known[p.name] = true
		value, err := w.schema(p.value, depth+1)
		if err != nil {
			return err
		}
		switch {
		case must:
		case w.allThere:
			value = nullable(value)
		default:
			w.optional++
		}
		properties[i].value = value
		if must || w.allThere {
			there = append(there, p.name)
		}
	}
	for _, name := range required {
		if !known[name] {
			return errForm // of a member of which nothing is said
		}
	}
	names, err := json.Marshal(there)
	*out = append(*out, member{"properties", properties.bytes()}, member{"required", names}, member{"additionalProperties", []byte(`false`)})
	return err
}

// list writes a list of schemas.
func (w *writer) list(raw json.RawMessage, depth int) ([]byte, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil, errForm
	}
	for i, s := range list {
		out, err := w.schema(s, depth)
		if err != nil {
			return nil, err
		}
		list[i] = out
	}
	return json.Marshal(list)
}

// definitions writes the schemas that others refer to.
func (w *writer) definitions(raw json.RawMessage) ([]byte, error) {
	defs, err := parse(raw)
	if err != nil {
		return nil, errForm
	}
	outer := w.def
	defer func() { w.def = outer }()
	for i, d := range defs {
		w.def = d.name
		if defs[i].value, err = w.schema(d.value, 1); err != nil {
			return nil, err
		}
	}
	return defs.bytes(), nil
}

// circular reports whether a definition refers to itself, or to the whole schema.
func (w *writer) circular() bool {
	state := map[string]int{} // 1: being looked at, 2: done
	var visit func(def string) bool
	visit = func(def string) bool {
		switch {
		case def == "#" || state[def] == 1:
			return true
		case state[def] == 2:
			return false
		}
		state[def] = 1
		circle := slices.ContainsFunc(w.refs[def], visit)
		state[def] = 2
		return circle
	}
	for def := range w.refs {
		if visit(def) {
			return true
		}
	}
	return false
}

// constants checks an enum or const: of plain values alone.
func (w *writer) constants(m member) error {
	var list []json.RawMessage
	if m.name == "const" {
		list = append(list, m.value)
	} else if json.Unmarshal(m.value, &list) != nil {
		return errForm
	}
	w.enums += len(list)
	for _, v := range list {
		if v = bytes.TrimSpace(v); len(v) == 0 || v[0] == '{' || v[0] == '[' {
			return errForm
		}
	}
	return nil
}

// kindOf returns the type of a schema in JSON, nil where alternatives say it.
func kindOf(in object) (json.RawMessage, error) {
	switch {
	case in.has("type"):
		kind := bytes.TrimSpace(in.value("type"))
		var names []string
		if kind[0] == '"' {
			return kind, nil
		}
		if json.Unmarshal(kind, &names) != nil || len(names) == 0 {
			return nil, errForm
		}
		if len(names) == 1 {
			return quote(names[0]), nil
		}
		return json.Marshal(names)
	case in.has("anyOf"), in.has("oneOf"):
		return nil, nil
	case in.has("properties"):
		return quote("object"), nil
	case in.has("items"):
		return quote("array"), nil
	case in.has("const"):
		return quote(constantKind(in.value("const"))), nil
	case in.has("enum"):
		var list []json.RawMessage
		var names []string
		if json.Unmarshal(in.value("enum"), &list) != nil {
			return nil, errForm
		}
		for _, v := range list {
			if k := constantKind(v); !slices.Contains(names, k) {
				names = append(names, k)
			}
		}
		if len(names) == 1 {
			return quote(names[0]), nil
		}
		return json.Marshal(names)
	}
	return nil, errForm // anything at all
}

func constantKind(v json.RawMessage) string {
	switch v = bytes.TrimSpace(v); {
	case len(v) == 0 || v[0] == 'n':
		return "null"
	case v[0] == '"':
		return "string"
	case v[0] == 't' || v[0] == 'f':
		return "boolean"
	}
	return "number"
}

func has(kind json.RawMessage, name string) bool { return bytes.Contains(kind, []byte(`"`+name+`"`)) }

// nullable adds null to the values that a written schema allows.
func nullable(raw []byte) []byte {
	s, err := parse(raw)
	if err != nil {
		return raw
	}
	if s.has("$ref") {
		return object{{"anyOf", around("[", raw, `,{"type":"null"}]`)}}.bytes()
	}
	for i, m := range s {
		switch m.name {
		case "type":
			switch {
			case has(m.value, "null"):
			case m.value[0] == '[':
				s[i].value = around("", m.value[:len(m.value)-1], `,"null"]`)
			default:
				s[i].value = around("[", m.value, `,"null"]`)
			}
		case "anyOf":
			s[i].value = around("", m.value[:len(m.value)-1], `,{"type":"null"}]`)
		case "enum":
			var list []json.RawMessage
			if json.Unmarshal(m.value, &list) == nil && !slices.ContainsFunc(list, func(v json.RawMessage) bool { return string(v) == "null" }) {
				s[i].value = around("", m.value[:len(m.value)-1], `,null]`)
			}
		case "const":
			s[i] = member{"enum", around("[", m.value, `,null]`)}
		}
	}
	return s.bytes()
}

// around returns a copy of b with texts before and after it.
//
//go:noinline // called from many places: every program stays smaller
func around(before string, b []byte, after string) []byte {
	return append(append([]byte(before), b...), after...)
}

// lost are the members of a schema that its strict form cannot say.
type lost []string

//go:noinline // called from many places: every program stays smaller
func (l *lost) add(m member) {
	*l = append(*l, m.name+": "+string(bytes.Trim(m.value, `"`)))
}

// tell says them in the description.
func (l lost) tell(out object) object {
	if len(l) == 0 {
		return out
	}
	text := "(" + strings.Join(l, ", ") + ")"
	for i, m := range out {
		if m.name == "description" {
			said, _ := out.text("description")
			out[i].value = quote(strings.TrimSpace(said + " " + text))
			return out
		}
	}
	return append(out, member{"description", quote(text)})
}

// An object is a JSON object whose members keep their order, in which models write the
// described values.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// add appends a member.
//
//go:noinline // called from many places: every program stays smaller
func (o *object) add(name string, value json.RawMessage) { *o = append(*o, member{name, value}) }

func parse(raw json.RawMessage) (object, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errForm
	}
	var o object
	there := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		var m member
		if err != nil || d.Decode(&m.value) != nil {
			return nil, errForm
		}
		if m.name, _ = name.(string); there[m.name] {
			return nil, errForm // said twice
		}
		there[m.name] = true
		o = append(o, m)
	}
	return o, nil
}

//go:noinline // called from many places: every program stays smaller
func (o object) value(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o object) has(name string) bool { return o.value(name) != nil }

func (o object) text(name string) (s string, ok bool) {
	v := o.value(name)
	return s, v != nil && json.Unmarshal(v, &s) == nil
}

// closed reports whether the object that o describes has no members but those named.
func (o object) closed() bool {
	switch v := bytes.Join(bytes.Fields(o.value("additionalProperties")), nil); string(v) {
	case `false`, `{"not":{}}`:
		return true
	}
	return false
}

func (o object) bytes() []byte {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quote(m.name)...), ':'), m.value...)
	}
	b = append(b, '}')
	var c bytes.Buffer
	if json.Compact(&c, b) != nil {
		return b
	}
	return c.Bytes()
}

func quote(s string) []byte {
	return []byte(text.QuoteJSON(s))
}
