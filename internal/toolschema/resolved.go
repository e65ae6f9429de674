package toolschema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// A Resolved is a schema that checks every value in bounded time and space.
type Resolved struct {
	full *jsonschema.Resolved
	refs map[*jsonschema.Schema][]*jsonschema.Schema // what $ref and $dynamicRef may refer to
}

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

// versions are those that the validator knows. It takes no value for right by another one.
var versions = []string{"", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#"}

// Resolve prepares a schema for checks. It refuses a schema that checks a value without end,
// or in too many ways. The error goes on after the name of the schema.
func Resolve(s *jsonschema.Schema) (*Resolved, error) {
	if !slices.Contains(versions, s.Schema) {
		return nil, fmt.Errorf("has the $schema %.100q, which is not known; leave it out or use %q", s.Schema, versions[1])
	}
	if tooDeep(s, 0) {
		return nil, fmt.Errorf("has more than %d levels of schemas; name the inner ones in $defs and refer to them", maxDeep)
	}
	full, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("cannot be resolved: %w", err)
	}
	r := &Resolved{full: full}
	all := slices.Collect(maps.Keys(family(s, map[*jsonschema.Schema]bool{})))
	paths, err := r.link(all)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *jsonschema.Schema) int { return cmp.Compare(paths[a], paths[b]) })
	c := counter{r: r, paths: paths, known: map[*jsonschema.Schema]count{}}
	for _, s := range all {
		if _, err := c.count(s, 1); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Validate checks a value that was decoded from JSON.
func (r *Resolved) Validate(v any) error {
	if len(r.refs) > 0 { // else every schema checks every value at most once
		m := meter{r: r, known: map[check]int{}}
		if _, err := m.measure(check{r.full.Schema(), placeOf(v)}, 1); err != nil {
			return err
		}
	}
	return r.full.Validate(v)
}

// children calls do for each schema directly in s.
func children(s *jsonschema.Schema, do func(*jsonschema.Schema)) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			if f != nil {
				do(f)
			}
		case []*jsonschema.Schema:
			for _, c := range f {
				if c != nil {
					do(c)
				}
			}
		case map[string]*jsonschema.Schema:
			for _, c := range f {
				if c != nil {
					do(c)
				}
			}
		}
	}
}

func tooDeep(s *jsonschema.Schema, level int) (deep bool) {
	if level > maxDeep {
		return true
	}
	children(s, func(c *jsonschema.Schema) { deep = deep || tooDeep(c, level+1) })
	return deep
}

// family adds s and all schemas in it.
func family(s *jsonschema.Schema, all map[*jsonschema.Schema]bool) map[*jsonschema.Schema]bool {
	all[s] = true
	children(s, func(c *jsonschema.Schema) { family(c, all) })
	return all
}

// link finds what the references refer to, and the places of schemas for errors. It takes
// them from the validator itself, which does not publish them: a second reading of URIs,
// anchors and pointers could differ from its own, and what it follows must be known.
func (r *Resolved) link(all []*jsonschema.Schema) (paths map[*jsonschema.Schema]string, err error) {
	defer func() {
		if v := recover(); v != nil { // the validator has changed
			err = fmt.Errorf("cannot be checked for endless references: %v", v)
		}
	}()
	byAddress, anchors := map[uintptr]*jsonschema.Schema{}, map[string][]*jsonschema.Schema{}
	for _, s := range all {
		byAddress[reflect.ValueOf(s).Pointer()] = s
		if s.DynamicAnchor != "" {
			anchors[s.DynamicAnchor] = append(anchors[s.DynamicAnchor], s)
		}
	}
	paths = map[*jsonschema.Schema]string{}
	r.refs = map[*jsonschema.Schema][]*jsonschema.Schema{}
	infos := reflect.ValueOf(r.full).Elem().FieldByName("resolvedInfos")
	for i := infos.MapRange(); i.Next(); {
		s, info := byAddress[i.Key().Pointer()], i.Value().Elem()
		paths[s] = info.FieldByName("path").String()
		target := func(field string) error {
			to := byAddress[info.FieldByName(field).Pointer()]
			if to == nil {
				return fmt.Errorf("refers at %s to a schema that is not there; correct the reference", paths[s])
			}
			r.refs[s] = append(r.refs[s], to)
			return nil
		}
		if s.Ref != "" {
			if err := target("resolvedRef"); err != nil {
				return nil, err
			}
		}
		if s.DynamicRef == "" {
			continue
		}
		if anchor := info.FieldByName("dynamicRefAnchor").String(); anchor != "" {
			r.refs[s] = append(r.refs[s], anchors[anchor]...)
		} else if err := target("resolvedDynamicRef"); err != nil {
			return nil, err
		}
	}
	if len(paths) != len(all) {
		return nil, errors.New("cannot be checked for endless references: the validator knows other schemas")
	}
	return paths, nil
}

// inPlace calls do for each schema that checks the same value as s does.
func (r *Resolved) inPlace(s *jsonschema.Schema, do func(*jsonschema.Schema) error) error {
	next := slices.Concat(r.refs[s], s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else},
		slices.Collect(maps.Values(s.DependentSchemas)), slices.Collect(maps.Values(s.DependencySchemas)))
	for _, n := range next {
		if n == nil {
			continue
		}
		if err := do(n); err != nil {
			return err
		}
	}
	return nil
}

// A count is of the schemas that check the same value from a schema on.
type count struct{ ways, longest int }

type counter struct {
	r     *Resolved
	paths map[*jsonschema.Schema]string
	known map[*jsonschema.Schema]count // the zero count while it is under way
}

func (c *counter) count(s *jsonschema.Schema, level int) (count, error) {
	n, ok := c.known[s]
	switch {
	case ok && n.ways == 0:
		return n, fmt.Errorf("refers to itself at %s for the same value, so that a check would never end; "+
			"refer to it only from properties, items or the like", c.paths[s])
	case ok:
		return n, nil
	case level > maxInPlace:
		return n, fmt.Errorf("has more than %d schemas for the same value, each below the other, at %s; make the chain shorter", maxInPlace, c.paths[s])
	}
	c.known[s] = count{}
	n = count{1, 1}
	err := c.r.inPlace(s, func(next *jsonschema.Schema) error {
		m, err := c.count(next, level+1)
		n.ways, n.longest = n.ways+m.ways, max(n.longest, m.longest+1)
		switch {
		case err != nil:
			return err
		case n.ways > maxWays:
			return fmt.Errorf("checks the same value in more than %d ways at %s; refer to each schema fewer times", maxWays, c.paths[s])
		case n.longest > maxInPlace:
			return fmt.Errorf("has more than %d schemas for the same value, each below the other, at %s; make the chain shorter", maxInPlace, c.paths[s])
		}
		return nil
	})
	c.known[s] = n
	return n, err
}

// A place is a value in another one.
type place struct {
	members  map[string]*place
	elements []*place
}

func placeOf(v any) *place {
	p := &place{}
	switch v := v.(type) {
	case map[string]any:
		p.members = make(map[string]*place, len(v))
		for name, member := range v {
			p.members[name] = placeOf(member)
		}
	case []any:
		for _, e := range v {
			p.elements = append(p.elements, placeOf(e))
		}
	}
	return p
}

// inner calls do for each check of a value in p that s may make.
func (p *place) inner(s *jsonschema.Schema, do func(*jsonschema.Schema, *place)) {
	may := func(s *jsonschema.Schema, p *place) {
		if s != nil {
			do(s, p)
		}
	}
	for name, member := range p.members {
		own := s.Properties[name]
		may(own, member)
		for _, of := range s.PatternProperties {
			may(of, member)
		}
		if own == nil {
			may(s.AdditionalProperties, member)
			may(s.UnevaluatedProperties, member)
		}
		may(s.PropertyNames, &place{})
	}
	for i, element := range p.elements {
		for _, tuple := range [][]*jsonschema.Schema{s.PrefixItems, s.ItemsArray} {
			if i < len(tuple) {
				may(tuple[i], element)
			}
		}
		if i >= len(s.PrefixItems) {
			may(s.Items, element)
		}
		if i >= len(s.ItemsArray) {
			may(s.AdditionalItems, element)
		}
		may(s.Contains, element)
		may(s.UnevaluatedItems, element)
	}
}

// A check is of a value against a schema.
type check struct {
	schema *jsonschema.Schema
	at     *place
}

// A meter bounds the checks that a value takes, before it is checked.
type meter struct {
	r     *Resolved
	known map[check]int // how many checks it takes
}

func (m *meter) measure(c check, level int) (int, error) {
	if n, ok := m.known[c]; ok {
		return n, nil
	}
	if level > maxLevels {
		return 0, fmt.Errorf("%w: it is nested too deep for its schema, more than %d checks below each other; nest it less", ErrUnchecked, maxLevels)
	}
	n := 1
	var failed error
	add := func(s *jsonschema.Schema, at *place) {
		if failed != nil {
			return
		}
		var more int
		if more, failed = m.measure(check{s, at}, level+1); failed == nil {
			if n += more; n > maxChecks {
				failed = fmt.Errorf("%w: that takes more than %d checks, because its schema refers to the same schemas in several ways; give less of it", ErrUnchecked, maxChecks)
			}
		}
	}
	_ = m.r.inPlace(c.schema, func(s *jsonschema.Schema) error { add(s, c.at); return failed })
	c.at.inner(c.schema, add)
	m.known[c] = n
	return n, failed
}
