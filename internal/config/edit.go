package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// A Change is the hash of a file before [Set] and after. Before is "" for a new file.
type Change struct{ Before, After string }

// Set changes one setting of a file, nil removes it; everything else stays as it
// is, byte for byte. The file, which is one of [Settings.File], is made if need
// be: the user's and the local one for the user alone. A value that the setting
// does not accept and a file that cannot be understood are errors, and nothing is
// changed. Several processes may change the file at once.
func Set(ctx context.Context, f File, key string, value json.RawMessage) (Change, error) {
	k, member, err := Find(key)
	if err != nil {
		return Change{}, err
	}
	steps := strings.Split(k.Name, ".")
	if member != "" {
		steps = append(steps, member)
	}
	if value != nil {
		if err := k.checkMember(member, value); err != nil {
			var at *lineError
			if errors.As(err, &at) {
				err = errors.New(at.text)
			}
			return Change{}, err
		}
	}
	change, err := f.set(ctx, steps, value, nil)
	if err != nil {
		return Change{}, fmt.Errorf("changing %s: %w", f.Path, err)
	}
	return change, nil
}

// Append adds texts to a list of a file, those that it does not have yet. It is
// like [Set] otherwise.
func Append(ctx context.Context, f File, key string, texts ...string) (Change, error) {
	k, _, err := Find(key)
	switch {
	case err != nil:
		return Change{}, err
	case k.Type != Texts && k.Type != Rules:
		return Change{}, fmt.Errorf("%s is not a list", k.Name)
	}
	if err := k.checkMember("", encode(texts)); err != nil {
		return Change{}, err
	}
	change, err := f.set(ctx, strings.Split(k.Name, "."), encode(texts), joined)
	if err != nil {
		return Change{}, fmt.Errorf("changing %s: %w", f.Path, err)
	}
	return change, nil
}

// joined appends the items of a list that another list does not have.
func joined(old, more json.RawMessage) json.RawMessage {
	var list, add []string
	if old != nil && json.Unmarshal(old, &list) != nil {
		return old // what is wrong with it is told before anything is changed
	}
	_ = json.Unmarshal(more, &add) // it was checked
	for _, t := range add {
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return encode(list)
}

// valueAt returns the value that steps lead to, nil for none.
func valueAt(text []byte, steps []string) json.RawMessage {
	n, err := parse(text)
	for _, step := range steps {
		if err != nil || n.kind != isObject {
			return nil
		}
		m := n.member(step)
		if m == nil {
			return nil
		}
		n = m.value
	}
	if err != nil || n.kind == isNull {
		return nil
	}
	return json.RawMessage(text[n.start:n.end])
}

// checkMember checks a value of the key, or of one member of its table.
func (k Key) checkMember(member string, value json.RawMessage) error {
	if member == "" {
		return k.Check(value)
	}
	name, err := json.Marshal(member)
	if err != nil {
		return err
	}
	return k.Check(fmt.Appendf(nil, "{%s:%s}", name, value))
}

// set changes a value; join, unless nil, makes the new one of the old one, nil for
// none, and value.
func (f File) set(ctx context.Context, steps []string, value json.RawMessage, join func(old, value json.RawMessage) json.RawMessage) (Change, error) {
	mode, above := os.FileMode(0o600), os.FileMode(0o700)
	switch f.Scope {
	case Project:
		mode, above = 0o644, 0o755
	case Local:
		above = 0o755
	case User:
	default:
		return Change{}, fmt.Errorf("settings of the scope %s cannot be changed; use user, project or local", f.Scope)
	}
	if value == nil {
		if data, _, err := read(f.Path); err != nil || data == nil {
			return Change{}, err // there is nothing to be removed
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), above); err != nil {
		return Change{}, err
	}
	if err := f.inside(); err != nil {
		return Change{}, err
	}
	var c Change
	err := Update(ctx, f.Path, mode, func(old []byte) ([]byte, error) {
		text := old
		if text == nil {
			text = []byte("{}\n")
		} else {
			c.Before = sum(old)
		}
		if join != nil {
			value = join(valueAt(text, steps), value)
		}
		text, err := edit(text, steps, value)
		if err != nil {
			return nil, err
		}
		if _, err := understand(f, text); err != nil {
			return nil, err
		}
		c.After = sum(text)
		return text, nil
	})
	return c, err
}

// inside refuses a file that leads out of its project: a change would be made
// somewhere else.
func (f File) inside() error {
	if f.root == "" {
		return nil
	}
	root, err := filepath.EvalSymlinks(f.root)
	if err != nil {
		return err
	}
	for _, path := range []string{filepath.Dir(f.Path), f.Path} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			if _, err := os.Lstat(path); absent(err) {
				return nil
			}
			return fmt.Errorf("the file is a symlink without a target: %w", err)
		}
		if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("the file is a symlink to %s, outside the project; change that file itself", real)
		}
	}
	return nil
}

// edit sets, or with nil removes, what steps lead to.
func edit(text []byte, steps []string, value json.RawMessage) ([]byte, error) {
	n, err := parse(text)
	if err == nil {
		err = n.once()
	}
	if err != nil {
		return nil, err
	}
	if n.kind != isObject {
		return nil, wrongAt(n.line, "the settings must be an object, not %s", n.kind)
	}
	return (&editor{text: text, unit: unitOf(text, n)}).at(n, steps, value, 1)
}

// An editor changes a text. It indents new lines by unit, "" for no new lines.
type editor struct {
	text []byte
	unit string
}

// unitOf returns the indentation of the members of an object.
func unitOf(text []byte, n *node) string {
	if len(n.members) == 0 {
		return "  "
	}
	before := text[n.start+1 : n.members[0].start]
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return ""
	}
	return string(before[i+1:])
}

// at follows the steps from the object n, which is depth objects deep.
func (e *editor) at(n *node, steps []string, value json.RawMessage, depth int) ([]byte, error) {
	m := n.member(steps[0])
	switch {
	case m == nil && value == nil:
		return e.text, nil
	case m == nil:
		return e.insert(n, steps, value, depth)
	case len(steps) == 1 && value == nil:
		return e.remove(n, m), nil
	case len(steps) == 1:
		return e.splice(m.value.start, m.value.end, e.pretty(value, depth)), nil
	case m.value.kind == isObject:
		return e.at(m.value, steps[1:], value, depth+1)
	case m.value.kind == isNull && value == nil:
		return e.text, nil
	case m.value.kind == isNull:
		whole := e.wrap(steps[1:], value)
		return e.splice(m.value.start, m.value.end, e.pretty(whole, depth)), nil
	}
	return nil, wrongAt(m.value.line, "%s must be an object, not %s", steps[0], m.value.kind)
}

func (e *editor) splice(from, to int, with []byte) []byte {
	return bytes.Join([][]byte{e.text[:from], with, e.text[to:]}, nil)
}

// wrap puts a value into objects, one for each step.
func (e *editor) wrap(steps []string, value json.RawMessage) json.RawMessage {
	for i := len(steps) - 1; i >= 0; i-- {
		value = fmt.Appendf(nil, "{%s:%s}", text.QuoteJSON(steps[i]), value)
	}
	return value
}

// pretty lays out a value that stands depth objects deep.
func (e *editor) pretty(value json.RawMessage, depth int) []byte {
	var b bytes.Buffer
	var err error
	if e.unit == "" {
		err = json.Compact(&b, value)
	} else {
		err = json.Indent(&b, bytes.TrimSpace(value), strings.Repeat(e.unit, depth), e.unit)
	}
	if err != nil {
		return value
	}
	return b.Bytes()
}

// insert adds a member at the end of an object.
func (e *editor) insert(n *node, steps []string, value json.RawMessage, depth int) ([]byte, error) {
	name := text.QuoteJSON(steps[0])
	whole := e.wrap(steps[1:], value)
	if len(n.members) == 0 {
		text := fmt.Appendf(nil, "{%s:%s}", name, whole)
		return e.splice(n.start, n.end, e.pretty(text, depth-1)), nil
	}
	last := n.members[len(n.members)-1]
	space := string(e.text[n.start+1 : n.members[0].start])
	if i := strings.LastIndexByte(space, '\n'); i >= 0 {
		end := "\n"
		if strings.HasSuffix(space[:i+1], "\r\n") {
			end = "\r\n"
		}
		space = end + space[i+1:]
	} else if space == "" {
		space = " "
	}
	return e.splice(last.value.end, last.value.end, fmt.Appendf(nil, ",%s%s: %s", space, name, e.pretty(whole, depth))), nil
}

// remove takes a member out, with its comma.
func (e *editor) remove(n *node, m *member) []byte {
	for i := range n.members {
		if &n.members[i] != m {
			continue
		}
		switch {
		case i > 0:
			return e.splice(n.members[i-1].value.end, m.value.end, nil)
		case len(n.members) > 1:
			return e.splice(m.start, n.members[1].start, nil)
		}
	}
	return e.splice(n.start+1, n.end-1, nil)
}
