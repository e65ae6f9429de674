package config

import (
	"fmt"
	"strings"
)

// understood is what a file says.
type understood struct {
	values   []value
	problems []Problem
}

type value struct {
	key string
	saying
}

// understand takes in the text of a file. Its errors are lineErrors.
func understand(f File, text []byte) (understood, error) {
	var u understood
	n, err := parse(text)
	if err == nil {
		err = n.once()
	}
	if err != nil {
		return u, err
	}
	if n.kind != isObject {
		return u, wrongAt(n.line, "it must be an object, not %s", n.kind)
	}
	return u, u.object(f, text, n, "")
}

// object takes in the members of an object whose name is prefix.
func (u *understood) object(f File, text []byte, n *node, prefix string) error {
	for _, m := range n.members {
		name := prefix + m.name
		source := Source{Scope: f.Scope, File: f.Path, Line: m.line}
		k, known := keyNamed(name)
		switch {
		case m.value.kind == isNull, name == schemaName: // as if it were not there
		case known:
			if err := k.accepts(text, m.value); err != nil {
				return err
			}
			v := saying{source: source, value: compact(text[m.value.start:m.value.end])}
			for _, item := range m.value.items {
				v.lines = append(v.lines, item.line)
			}
			u.values = append(u.values, value{name, v})
		case group(name):
			if m.value.kind != isObject {
				return wrongAt(m.value.line, "%s must be an object, not %s", name, m.value.kind)
			}
			if err := u.object(f, text, m.value, name+"."); err != nil {
				return err
			}
		default:
			u.problems = append(u.problems, stranger(name, source))
		}
	}
	return nil
}

func keyNamed(name string) (Key, bool) {
	for _, k := range keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// group reports whether keys are below a name.
func group(name string) bool {
	for _, k := range keys {
		if strings.HasPrefix(k.Name, name+".") {
			return true
		}
	}
	return false
}

// stranger says what is the matter with a name that is no key.
func stranger(name string, at Source) Problem {
	f, ok := foreign(name)
	if !ok {
		return Problem{at, name, fmt.Sprintf("there is no setting %.100q%s", name, nearest(name)), Unknown}
	}
	text := fmt.Sprintf("the setting %s has no effect here%s", f.name, f.instead())
	if f.guards {
		return Problem{at, name, text, Relied}
	}
	return Problem{at, name, text, Idle}
}
