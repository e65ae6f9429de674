// Package elicitform turns the form of an MCP elicitation into questions for a person,
// and the answers into the form's JSON. The schemas that it reads are those of the
// protocol's specification: flat objects of strings, numbers, booleans and choices.
package elicitform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
)

// MaxSize is how many bytes a question and its form may have together: a person is shown
// all of them, or none.
const MaxSize = 64 << 10

const (
	maxFields  = 20
	maxChoices = 50 // of a field
)

// A Field is a member of the form.
type Field struct {
	Name     string
	required bool
	schema   fieldSchema
	options  []option
}

type fieldSchema struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []titled        `json:"oneOf"`
	AnyOf       []titled        `json:"anyOf"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinLength   *int            `json:"minLength"`
	MaxLength   *int            `json:"maxLength"`
	MinItems    *int            `json:"minItems"`
	MaxItems    *int            `json:"maxItems"`
	Items       *fieldSchema    `json:"items"`
}

type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// An option is a value, and its label for the person.
type option struct{ value, label string }

// Parse returns the fields of a form in the order of its schema, nil if it has none. It
// fails if the schema is not valid, and for more than 20 fields or 50 choices.
func Parse(schema json.RawMessage) ([]Field, error) {
	var root struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	var fields []Field
	if len(root.Properties) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(root.Properties))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("reading the form: its properties are not an object")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("reading the form: %w", err)
		}
		f := Field{Name: name.(string)} // the decoder takes no other key
		f.required = slices.Contains(root.Required, f.Name)
		if err := dec.Decode(&f.schema); err != nil {
			return nil, fmt.Errorf("reading the form: its member %.100q: %w", f.Name, err)
		}
		if f.options = f.schema.choices(); len(f.options) > maxChoices {
			return nil, fmt.Errorf("reading the form: its member %.100q has more than %d values", f.Name, maxChoices)
		}
		if fields = append(fields, f); len(fields) > maxFields {
			return nil, fmt.Errorf("reading the form: it has more than %d members", maxFields)
		}
	}
	return fields, nil
}

// choices are the values that a field may have, nil where it is open.
func (s *fieldSchema) choices() []option {
	from := s
	if s.Type == "array" && s.Items != nil {
		from = s.Items
	}
	var list []option
	if from.Type == "boolean" {
		return []option{{"true", "yes"}, {"false", "no"}}
	}
	for i, v := range from.Enum {
		o := option{v, v}
		if i < len(from.EnumNames) {
			o.label = from.EnumNames[i]
		}
		list = append(list, o)
	}
	for _, t := range slices.Concat(from.OneOf, from.AnyOf) {
		list = append(list, option{t.Const, t.Title})
	}
	for i := range list {
		if list[i].label = Line(list[i].label); list[i].label == "" {
			list[i].label = Line(list[i].value)
		}
	}
	return list
}

// Line returns a server's text on one line, without control characters.
func Line(s string) string { return text.OneLine(text.Clean(s)) }

// Lines returns a server's text without control characters. It keeps the line breaks.
func Lines(s string) string {
	var lines []string
	for line := range strings.Lines(text.Clean(s)) {
		lines = append(lines, Line(line))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// Question returns the question that asks a person for the field. problem is the mistake in
// the last answer; it is empty for the first question.
func (f *Field) Question(header, problem string) tool.Question {
	text := Line(f.schema.Title)
	if text == "" {
		text = Line(f.Name)
	}
	if d := Lines(f.schema.Description); d != "" {
		text += ": " + d
	}
	switch {
	case len(f.schema.Default) > 0:
		text += fmt.Sprintf(" (without an answer: %s)", Line(string(f.schema.Default)))
	case !f.required:
		text += " (may be left out)"
	}
	if problem != "" {
		text = problem + ". " + text
	}
	q := tool.Question{Text: text, Header: header, Multiple: f.schema.Type == "array"}
	for _, o := range f.options {
		q.Options = append(q.Options, tool.Option{Label: o.label})
	}
	return q
}

// Value returns the JSON of an answer, nil if the person left the field out. problem is the
// mistake in the answer; it is empty if there is none.
func (f *Field) Value(a tool.Answer) (value json.RawMessage, problem string) {
	said := a.Options
	if text := strings.TrimSpace(a.Text); text != "" {
		said = append(slices.Clone(said), text)
	}
	if len(said) == 0 {
		switch {
		case len(f.schema.Default) > 0:
			return f.schema.Default, ""
		case f.required:
			return nil, "an answer is needed"
		}
		return nil, ""
	}
	if f.schema.Type == "array" {
		return f.list(said)
	}
	v := said[0]
	if len(f.options) > 0 {
		i := slices.IndexFunc(f.options, func(o option) bool { return strings.EqualFold(o.label, v) || o.value == v })
		if i < 0 {
			return nil, fmt.Sprintf("%q is not one of the choices", Line(v))
		}
		v = f.options[i].value
	}
	return f.scalar(v)
}

func (f *Field) list(said []string) (value json.RawMessage, problem string) {
	values := []string{}
	for _, s := range said {
		for part := range strings.SplitSeq(s, ",") {
			part = strings.TrimSpace(part)
			i := slices.IndexFunc(f.options, func(o option) bool { return strings.EqualFold(o.label, part) || o.value == part })
			switch {
			case part == "":
			case i >= 0:
				values = append(values, f.options[i].value)
			case len(f.options) > 0:
				return nil, fmt.Sprintf("%q is not one of the choices", Line(part))
			default:
				values = append(values, part)
			}
		}
	}
	if n := f.schema.MinItems; n != nil && len(values) < *n {
		return nil, fmt.Sprintf("at least %d are needed", *n)
	}
	if n := f.schema.MaxItems; n != nil && len(values) > *n {
		return nil, fmt.Sprintf("at most %d are taken", *n)
	}
	value, _ = json.Marshal(values) // strings can be encoded
	return value, ""
}

func (f *Field) scalar(v string) (value json.RawMessage, problem string) {
	s := &f.schema
	switch s.Type {
	case "boolean":
		return json.RawMessage(v), ""
	case "integer", "number":
		n, err := strconv.ParseFloat(v, 64)
		switch {
		case err != nil || math.IsInf(n, 0) || math.IsNaN(n):
			return nil, "a number is needed"
		case s.Type == "integer" && n != math.Trunc(n):
			return nil, "a whole number is needed"
		case s.Minimum != nil && n < *s.Minimum:
			return nil, fmt.Sprintf("at least %v is needed", *s.Minimum)
		case s.Maximum != nil && n > *s.Maximum:
			return nil, fmt.Sprintf("at most %v is taken", *s.Maximum)
		}
		value, _ = json.Marshal(n) // it is finite
		return value, ""
	}
	switch n := utf8.RuneCountInString(v); {
	case s.MinLength != nil && n < *s.MinLength:
		return nil, fmt.Sprintf("at least %d characters are needed", *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return nil, fmt.Sprintf("at most %d characters are taken", *s.MaxLength)
	}
	value, _ = json.Marshal(v) // strings can be encoded
	return value, ""
}
