package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Limits of schemas. A schema may come from anybody, and the validator neither ends early nor
// survives a schema that has no end.
const (
	maxDeep    = 200       // levels of schemas in one another
	maxInPlace = 100       // schemas that check a value one below the other
	maxWays    = 10_000    // ways through the schemas that check one value
	maxChecks  = 1_000_000 // checks of a value, with all that is in it
	maxLevels  = 1_000     // checks of a value one below the other
)

// ErrUnchecked is matched by the errors of values that would take too many checks.
var ErrUnchecked = errors.New("it cannot be checked")

// A Resolved is a schema that checks every value in bounded time and space. It has few types of
// maps and no generic helpers, because every program contains it.
type Resolved struct {
	full  *jsonschema.Resolved
	parts map[uintptr]*part // by the address of their schema
	refs  bool              // some schema refers to another one
}

// A part is one of the schemas of a Resolved.
type part struct {
	schema *jsonschema.Schema
	number uint64               // from 0
	path   string               // for errors
	refs   []*jsonschema.Schema // what $ref and $dynamicRef may refer to
	state  int                  // see counting and counted
	ways   int                  // ways through the schemas that check the same value
	chain  int                  // the longest of them
}

// What is known of the ways of a part.
const (
	counting = 1
	counted  = 2
)

func address(s *jsonschema.Schema) uintptr { return reflect.ValueOf(s).Pointer() }

// ResolveJSON is [Resolve] of a schema of any kind of value.
func ResolveJSON(schema []byte) (*Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("is not a JSON Schema: %w", err)
	}
	return Resolve(&s)
}

// Description returns the description of the schema.
func (r *Resolved) Description() string { return r.full.Schema().Description }

// versions are those of JSON Schema that the validator knows. It takes no value for right by another
// one.
var versions = [...]string{draft2020, "", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#"}

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

// Resolve prepares a schema for checks. It refuses a schema that checks a value without end,
// or in too many ways. The error is written to follow the name of the schema.
func Resolve(s *jsonschema.Schema) (*Resolved, error) {
	if !slices.Contains(versions[:], s.Schema) {
		return nil, fmt.Errorf("has the $schema %.100q, which is not known; leave it out or use %q", s.Schema, draft2020)
	}
	r := &Resolved{parts: map[uintptr]*part{}}
	var all []*part
	if !r.collect(s, 0, &all) {
		return nil, fmt.Errorf("has more than %d levels of schemas; name the inner ones in $defs and refer to them", maxDeep)
	}
	var err error
	if r.full, err = s.Resolve(nil); err != nil {
		return nil, fmt.Errorf("cannot be resolved: %w", err)
	}
	if err := r.link(all); err != nil {
		return nil, err
	}
	at := ""
	for _, n := range all {
		if failed := r.count(n, 1); failed != nil && (err == nil || n.path < at) {
			err, at = failed, n.path
		}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Validate checks a value that was decoded from JSON.
func (r *Resolved) Validate(v any) error {
	if r.refs { // else every schema checks every value at most once
		m := meter{r: r, known: map[uint64]int{}}
		if _, err := m.measure(r.full.Schema(), m.placeOf(v), 1); err != nil {
			return err
		}
	}
	return r.full.Validate(v)
}

// each calls do for the schemas of a list that are there.
//
//go:noinline // called from many places: every program stays smaller
func each(list []*jsonschema.Schema, do func(*jsonschema.Schema)) {
	for _, s := range list {
		if s != nil {
			do(s)
		}
	}
}

// eachMember calls do for the schemas of a map.
//
//go:noinline // as each
func eachMember(members map[string]*jsonschema.Schema, do func(*jsonschema.Schema)) {
	for _, s := range members {
		if s != nil {
			do(s)
		}
	}
}

// children calls do for each schema directly in s.
func children(s *jsonschema.Schema, do func(*jsonschema.Schema)) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			each([]*jsonschema.Schema{f}, do)
		case []*jsonschema.Schema:
			each(f, do)
		case map[string]*jsonschema.Schema:
			eachMember(f, do)
		}
	}
}

// collect makes parts of s and of all schemas in it. It reports false if they are nested too
// deep.
func (r *Resolved) collect(s *jsonschema.Schema, level int, all *[]*part) bool {
	if level > maxDeep {
		return false
	}
	if r.parts[address(s)] == nil {
		n := &part{schema: s, number: uint64(len(*all))}
		r.parts[address(s)] = n
		*all = append(*all, n)
	}
	ok := true
	children(s, func(c *jsonschema.Schema) { ok = ok && r.collect(c, level+1, all) })
	return ok
}

// link finds what the references refer to, and the places of schemas for errors. It takes
// them from the validator itself, which does not publish them: a second reading of URIs,
// anchors and pointers could differ from its own, and what it follows must be known.
func (r *Resolved) link(all []*part) (err error) {
	defer func() {
		if v := recover(); v != nil { // the validator has changed
			err = fmt.Errorf("cannot be checked for endless references: %v", v)
		}
	}()
	linked := 0
	infos := reflect.ValueOf(r.full).Elem().FieldByName("resolvedInfos")
	for i := infos.MapRange(); i.Next(); {
		n, info := r.parts[i.Key().Pointer()], i.Value().Elem()
		n.path = info.FieldByName("path").String()
		linked++
		target := func(field string) error {
			to := r.parts[info.FieldByName(field).Pointer()]
			if to == nil {
				return fmt.Errorf("refers at %s to a schema that is not there; correct the reference", n.path)
			}
			n.refs = append(n.refs, to.schema)
			return nil
		}
		if n.schema.Ref != "" {
			if err := target("resolvedRef"); err != nil {
				return err
			}
		}
		if n.schema.DynamicRef != "" {
			if anchor := info.FieldByName("dynamicRefAnchor").String(); anchor == "" {
				if err := target("resolvedDynamicRef"); err != nil {
					return err
				}
			} else {
				for _, to := range all {
					if to.schema.DynamicAnchor == anchor {
						n.refs = append(n.refs, to.schema)
					}
				}
			}
		}
		r.refs = r.refs || len(n.refs) > 0
	}
	if linked != len(all) {
		return errors.New("cannot be checked for endless references: the validator knows other schemas")
	}
	return nil
}

// inPlace calls do for each schema that checks the same value as that of n does.
func inPlace(n *part, do func(*jsonschema.Schema)) {
	s := n.schema
	each(n.refs, do)
	each(s.AllOf, do)
	each(s.AnyOf, do)
	each(s.OneOf, do)
	each([]*jsonschema.Schema{s.Not, s.If, s.Then, s.Else}, do)
	eachMember(s.DependentSchemas, do)
	eachMember(s.DependencySchemas, do)
}

// count counts the ways through the schemas that check the same value from n on.
func (r *Resolved) count(n *part, level int) error {
	switch {
	case n.state == counting:
		return fmt.Errorf("refers to itself at %s for the same value, so that a check would never end; "+
			"refer to it only from properties, items or the like", n.path)
	case n.state == counted:
		return nil
	case level > maxInPlace:
		return tooLong(n)
	}
	n.state, n.ways, n.chain = counting, 1, 1
	var err error
	inPlace(n, func(s *jsonschema.Schema) {
		if err != nil {
			return
		}
		next := r.parts[address(s)]
		if err = r.count(next, level+1); err != nil {
			return
		}
		n.ways, n.chain = n.ways+next.ways, max(n.chain, next.chain+1)
		switch {
		case n.ways > maxWays:
			err = fmt.Errorf("checks the same value in more than %d ways at %s; refer to each schema fewer times", maxWays, n.path)
		case n.chain > maxInPlace:
			err = tooLong(n)
		}
	})
	n.state = counted
	return err
}

func tooLong(n *part) error {
	return fmt.Errorf("has more than %d schemas for the same value, each below the other, at %s; make the chain shorter", maxInPlace, n.path)
}

// A place is a value in another one.
type place struct {
	number uint64   // from 0
	names  []string // of the members of an object
	inside []*place // members by their names, or elements
}

// A meter bounds the checks that a value takes, before it is checked.
type meter struct {
	r      *Resolved
	places uint64
	known  map[uint64]int // how many checks a place takes from a schema on, by both numbers
}

func (m *meter) placeOf(v any) *place {
	p := &place{number: m.places}
	m.places++
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			p.names = append(p.names, name)
			m.put(p, member)
		}
	case []any:
		for _, e := range v {
			m.put(p, e)
		}
	}
	return p
}

func (m *meter) put(p *place, v any) { p.inside = append(p.inside, m.placeOf(v)) }

// inner calls do for each check of a value in p that s may make, also with nil for a schema
// that is not there.
func (p *place) inner(s *jsonschema.Schema, do func(*jsonschema.Schema, *place)) {
	for i, at := range p.inside {
		if p.names == nil {
			do(itemOf(s.PrefixItems, i, s.Items), at)
			do(itemOf(s.ItemsArray, i, s.AdditionalItems), at)
			do(s.Contains, at)
			do(s.UnevaluatedItems, at)
			continue
		}
		own := s.Properties[p.names[i]]
		do(own, at)
		eachMember(s.PatternProperties, func(of *jsonschema.Schema) { do(of, at) })
		if own == nil {
			do(s.AdditionalProperties, at)
			do(s.UnevaluatedProperties, at)
		}
		do(s.PropertyNames, &place{number: nameOfMember})
	}
}

// itemOf returns the schema of element i: that of the tuple, or else the one of the rest.
func itemOf(tuple []*jsonschema.Schema, i int, rest *jsonschema.Schema) *jsonschema.Schema {
	if i < len(tuple) {
		return tuple[i]
	}
	return rest
}

// nameOfMember is the number of the name of any member: nothing is in it.
const nameOfMember = 1<<32 - 1

func (m *meter) measure(s *jsonschema.Schema, at *place, level int) (int, error) {
	of := m.r.parts[address(s)]
	key := at.number<<32 | of.number
	if n, ok := m.known[key]; ok {
		return n, nil
	}
	if level > maxLevels {
		return 0, fmt.Errorf("%w: it is nested too deep for its schema, more than %d checks below each other; nest it less", ErrUnchecked, maxLevels)
	}
	n := 1
	var failed error
	add := func(s *jsonschema.Schema, at *place) {
		if failed != nil || s == nil {
			return
		}
		var more int
		if more, failed = m.measure(s, at, level+1); failed == nil {
			if n += more; n > maxChecks {
				failed = fmt.Errorf("%w: that takes more than %d checks, because its schema refers to the same schemas in several ways; give less of it", ErrUnchecked, maxChecks)
			}
		}
	}
	inPlace(of, func(s *jsonschema.Schema) { add(s, at) })
	at.inner(s, add)
	m.known[key] = n
	return n, failed
}
