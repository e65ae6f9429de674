package config

import (
	"fmt"
	"strings"
)

// understood holds the values and problems of a file.
type understood struct {
	values   []value
	problems []Problem
	named    int     // strange names that are problems of their own
	rest     Problem // of the others, the first
	more     int     // how many these are
}

// maxNamed is how many strange names of a file are told of one by one.
const maxNamed = 20

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
		return u, wrongAt(n.line, "the settings must be an object, not %s", n.kind)
	}
	err = u.object(f, text, n, "")
	if u.more > 0 {
		u.rest.Text = fmt.Sprintf("there are no such settings as this one and %d more of this file", u.more-1)
		u.problems = append(u.problems, u.rest)
	}
	return u, err
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
			u.strange(name, source)
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

// strange notes a name that is no key. Beyond some they are only counted: a file may
// hold a hundred thousand, and each is compared with all that there are.
func (u *understood) strange(name string, at Source) {
	if f, ok := foreign(name); !ok || f.name != name {
		if u.named == maxNamed {
			if u.more++; u.more == 1 {
				u.rest = Problem{Source: at, Key: name, Kind: Unknown}
			}
			return
		}
		u.named++
	}
	u.problems = append(u.problems, stranger(name, at))
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
