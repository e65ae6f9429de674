package tool

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// decode decodes input, a valid JSON object, into what in points to. It is
// json.Unmarshal, with a shorter way for most inputs of most tools: objects whose members
// are strings, numbers and truths.
func decode[In any](input []byte, in *In) error {
	v := reflect.ValueOf(in).Elem()
	if v.Kind() == reflect.Struct && plansOf(v.Type()).fill(input, v) {
		return nil
	}
	var whole In // fill may have got half way
	if err := json.Unmarshal(input, &whole); err != nil {
		return err
	}
	*in = whole
	return nil
}

// A plan says which field of a struct takes a member; -1: one that must be decoded
// by encoding/json.
type plan map[string]int

var plans sync.Map // reflect.Type → plan

func plansOf(t reflect.Type) plan {
	if p, ok := plans.Load(t); ok {
		return p.(plan)
	}
	p, _ := plans.LoadOrStore(t, newPlan(t))
	return p.(plan)
}

func newPlan(t reflect.Type) plan {
	p := plan{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous: // its fields compete for names
			return nil
		case !f.IsExported() || f.Tag.Get("json") == "-":
			continue
		case name == "":
			name = f.Name
		}
		if _, twice := p[name]; twice {
			return nil
		}
		p[name] = i
		if !plain(f.Type) || strings.Contains(options, "string") {
			p[name] = -1
		}
	}
	return p
}

// plain reports whether values of t are JSON's own strings, numbers and truths.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64, reflect.Int, reflect.Int64, reflect.Int32:
		return t.PkgPath() == "" || reflect.PointerTo(t).NumMethod() == 0 // json.Number is neither
	}
	return false
}

// fill reports false where the input is not as simple as that.
func (p plan) fill(input []byte, v reflect.Value) bool {
	if p == nil || bytes.IndexByte(input, '\\') >= 0 || !utf8.Valid(input) {
		return false
	}
	for name, value := range fields(input) {
		i, known := p[string(name[1:len(name)-1])]
		if !known || i < 0 || !set(v.Field(i), value) {
			return false
		}
	}
	return true
}

func set(f reflect.Value, value []byte) bool {
	switch k := kindOf(value); {
	case k == kindString && f.Kind() == reflect.String:
		f.SetString(string(value[1 : len(value)-1]))
	case k == kindBool && f.Kind() == reflect.Bool:
		f.SetBool(value[0] == 't')
	case k == kindInt && f.CanInt():
		n, err := strconv.ParseInt(string(value), 10, f.Type().Bits())
		if err != nil {
			return false
		}
		f.SetInt(n)
	case k&(kindInt|kindFloat) != 0 && f.CanFloat():
		n, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return false
		}
		f.SetFloat(n)
	default:
		return false
	}
	return true
}
