package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// A result is the effective value of a key, and why it counts.
type result struct {
	value  json.RawMessage // nil: nothing is set
	source Source          // of the highest layer that counts
	layers []Layer         // the highest first
}

// Why layers do not count.
const (
	untrusted  = "ignored: the project is not trusted"
	noLoosener = "ignored: managed settings only restrict"
	ofMachine  = "ignored: only managed settings can set it"
	unlisted   = "ignored, except what managed settings list too"
	confined   = "ignored: managed settings switch the sandbox on and do not set this"
)

// settle returns the effective value of the layers, which are ordered from the highest.
func (k Key) settle(said []saying) result {
	r := result{layers: make([]Layer, len(said))}
	for i, v := range said {
		r.layers[i] = Layer{Source: v.source, Value: v.value, lines: v.lines}
	}
	if k.Joined {
		k.join(said, &r)
	} else {
		k.choose(said, &r)
	}
	return r
}

// ignored returns why the layer does not count, "" if it does.
func (k Key) ignored(v saying) string {
	switch {
	case k.OfMachine && v.source.Scope != Managed && v.source.Scope != Default:
		return ofMachine
	case !v.trusted && !k.Restricts && k.tighter == nil:
		return untrusted
	case v.source.Scope == Managed && k.Joined && !k.Restricts && k.Type != Table && k.Type != Hooks && k.Type != Models:
		return noLoosener
	case k.fixed && v.source.Scope != Managed && v.source.Scope != Default && k.loosens(v.value):
		return confined
	}
	return ""
}

// join puts lists and tables together, the lowest layer first.
func (k Key) join(said []saying, r *result) {
	var texts []string
	table := map[string]string{}
	for i, v := range slices.Backward(said) {
		l := &r.layers[i]
		if l.Why = k.ignored(v); l.Why != "" {
			continue
		}
		l.Counts, l.Why, r.source = true, "counts, together with other layers", v.source
		if k.Type == Hooks {
			r.value = joinHooks(r.value, v.value)
			continue
		}
		if k.Type == Models {
			r.value = joinModels(r.value, v.value)
			continue
		}
		if k.Type == Table {
			_ = json.Unmarshal(v.value, &table) // it was checked
			continue
		}
		var more []string
		_ = json.Unmarshal(v.value, &more)
		if k.only != nil {
			l.Why = unlisted
		}
		for _, t := range more {
			if k.only != nil && !slices.Contains(k.only, t) {
				continue
			}
			if !slices.Contains(texts, t) {
				texts = append(texts, t)
			}
		}
	}
	switch {
	case r.source == Source{}, k.Type == Hooks, k.Type == Models:
	case k.Type == Table:
		r.value = encode(table)
	default:
		r.value = encode(append([]string{}, texts...))
	}
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts can be encoded
	return bytes.TrimSpace(b.Bytes())
}

// choose finds the one value that counts: from the lowest layer up each takes the
// place of the one before.
func (k Key) choose(said []saying, r *result) {
	best, bound := -1, -1
	for i, v := range slices.Backward(said) {
		l := &r.layers[i]
		if l.Why = k.ignored(v); l.Why != "" {
			continue
		}
		if best >= 0 && k.tighter != nil && !k.tighter(v.value, said[best].value) {
			if v.source.Scope == Managed {
				l.Why = fmt.Sprintf("not needed: %s allows no more", said[best].source)
				continue
			}
			if !v.trusted {
				if l.Why = untrusted; bytes.Equal(v.value, said[best].value) {
					l.Why = fmt.Sprintf("the same as %s", said[best].source)
				}
				continue
			}
		}
		if best < 0 && !v.trusted && k.absentIsLess {
			l.Why = untrusted
			continue
		}
		if v.source.Scope == Managed {
			bound = best
		}
		best = i
	}
	if best < 0 {
		return
	}
	for i := range r.layers {
		l := &r.layers[i]
		switch {
		case i == best:
			l.Counts, l.Why = true, "counts"
		case l.Why == "" && i == bound && k.tighter != nil:
			l.Why = "bounded by " + said[best].source.String()
		case l.Why == "":
			l.Why = "overridden by " + said[best].source.String()
		}
	}
	r.value, r.source = r.layers[best].Value, r.layers[best].Source
}
