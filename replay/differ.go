package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
)

// passing are the members of facts that are never the same twice, or that only the world
// knows: times, durations, and what a provider has counted in an answer that broke off.
var passing = map[string][]string{
	"assistant_message": {"duration", "first"},
	"model_failed":      {"duration", "retry_at", "usage", "cost_usd", "request_id"},
	"compacted":         {"duration"},
	"tool_result":       {"duration"},
	"tool_done":         {"duration"},
	"checkpointed":      {"duration"},
	"authorized":        {"decision.expires"},
	"answered":          {"decision.expires"},
	"session_named":     {"tag"},
	"run_end":           {"duration", "api", "first", "tools.*.time"},
}

// planMode is the mode that follows an approved plan. A program remembers the mode before plan mode
// for itself alone, so another one tells another mode.
var planMode = regexp.MustCompile(`approve the plan; then the mode is \w+`)

// differences returns the members in which two facts of a kind differ.
func differences(recorded, now event.Fact) []Difference {
	a, b := members(recorded), members(now)
	name := kind(recorded)
	for _, path := range passing[name] {
		remove(a, path)
		remove(b, path)
	}
	var out []Difference
	walk("", a, b, &out)
	return out
}

// members returns a fact as its JSON has it.
func members(f event.Fact) any {
	data, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	data = planMode.ReplaceAllLiteral(data, []byte("approve the plan"))
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

func remove(v any, path string) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	name, rest, deeper := strings.Cut(path, ".")
	switch {
	case deeper && name == "*":
		for _, v := range m {
			remove(v, rest)
		}
	case deeper:
		remove(m[name], rest)
	default:
		delete(m, name)
	}
}

// walk collects the differences of two JSON values. Lists of things with names, such as tools, may
// have another order.
func walk(path string, a, b any, out *[]Difference) {
	if reflect.DeepEqual(a, b) {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			for _, name := range names(a, b) {
				walk(join(path, name), a[name], b[name], out)
			}
			return
		}
	case []any:
		b, ok := b.([]any)
		switch {
		case ok && named(a) && named(b):
			x, y := byName(a), byName(b)
			for _, name := range names(x, y) {
				walk(fmt.Sprintf("%s[%s]", path, name), x[name], y[name], out)
			}
			return
		case ok && len(a) == len(b):
			for i := range a {
				walk(fmt.Sprintf("%s[%d]", path, i), a[i], b[i], out)
			}
			return
		}
	}
	x, y := around(value(a), value(b))
	*out = append(*out, Difference{Field: path, Recorded: x, Replayed: y})
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func names(a, b map[string]any) []string {
	var all []string
	for name := range a {
		all = append(all, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// named reports whether all elements of a list are objects of different names, such as tools.
func named(list []any) bool { return len(list) > 0 && len(byName(list)) == len(list) }

func byName(list []any) map[string]any {
	out := map[string]any{}
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			if name, ok := m["name"].(string); ok {
				out[name] = v
			}
		}
	}
	return out
}

func value(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return fmt.Sprintf("%q", v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

const (
	shown  = 200 // bytes of a value that a difference has
	before = 40  // of these, those before the first that differs
)

// around shortens two values to the part in which they differ.
func around(a, b string) (string, string) {
	if len(a) <= shown && len(b) <= shown {
		return a, b
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := max(0, same-before)
	part := func(s string) string {
		if from == 0 {
			return text.Bytes(s, shown)
		}
		return "…" + text.Bytes(strings.ToValidUTF8(s[min(from, len(s)):], ""), shown)
	}
	return part(a), part(b)
}

// kind is the name of a fact's type in journals.
func kind(f event.Fact) string { return event.Type(f) }

// short is a fact in a few words.
func short(f event.Fact) string {
	if m, ok := f.(event.UserMessage); ok {
		return fmt.Sprintf("%s message %q", m.Delivery, text.Bytes(m.Message.Text(), shown))
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return text.Bytes(string(data), shown)
}

// describe says what an effect does.
func describe(e engine.Effect) string {
	switch e := e.(type) {
	case engine.Record:
		if len(e.Facts) > 0 {
			return kind(e.Facts[0]) + ": " + short(e.Facts[0])
		}
	case engine.CallModel:
		return "a call of the model " + e.Model
	case engine.CallHooks:
		return "the hooks of " + string(e.Event)
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", e), "engine.")
	return fmt.Sprintf("%s (%s)", name, e.Key())
}

// keyOf returns the key of the effect that a fact belongs to, "" for none.
func keyOf(f event.Fact) string {
	switch f := f.(type) {
	case event.AssistantMessage:
		return f.Key
	case event.ModelFailed:
		return f.Key
	case event.Compacted:
		return f.Key
	case event.ToolStart:
		return f.Key
	case event.ToolResult:
		return f.Key
	case fact.ModelStart:
		return f.Key
	case fact.Waited:
		return f.Key
	case fact.Authorized:
		return f.Key
	case fact.Answered:
		return f.Key
	case fact.Checkpointed:
		return f.Key
	case fact.ToolDone:
		return f.Key
	case fact.ToolAmended:
		return f.Key
	case fact.Hooked:
		return f.Key
	case fact.OutputChecked:
		return f.Key
	}
	return ""
}
