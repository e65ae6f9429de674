package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

// spelled is a tool whose members may be written with any of the separators that models use
// (blockedBy, blocked_by, blocked-by), and id as taskId too.
type spelled[T any] struct {
	*tool.Typed[T]
	spec  tool.Spec         // with a schema that leaves open how members are written
	names map[string]string // members of the schema by their plain names
}

// spelledTool returns the tool of spec with an input of type T.
func spelledTool[T any](spec tool.Spec, run func(context.Context, tool.Call, T) (*tool.Result, error), classify func(tool.Call, T) tool.Traits) spelled[T] {
	schema := tool.New[T](tool.Spec{Name: spec.Name}, nil).Spec().Input
	// A pointer tells "" from nothing; the model need not know of null.
	schema = bytes.ReplaceAll(schema, []byte(`["null","string"]`), []byte(`"string"`))
	spec.Input = bytes.ReplaceAll(schema, []byte(`,"additionalProperties":true`), nil)
	t := spelled[T]{tool.New(spec, run).OnClassify(classify), spec, map[string]string{}}
	var open, members map[string]json.RawMessage
	err := json.Unmarshal(spec.Input, &open)
	if err == nil {
		err = json.Unmarshal(open["properties"], &members)
	}
	if err != nil {
		panic(err) // the schema is ours
	}
	delete(open, "additionalProperties")
	t.spec.Input = toolapi.Details(open)
	for name := range members {
		t.names[plainName(name)] = name
	}
	if _, ok := t.names["id"]; ok {
		t.names["taskid"] = "id"
	}
	return t
}

// Spec describes the tool.
func (t spelled[T]) Spec() tool.Spec { return t.spec }

// Run runs the tool with the members as its schema writes them.
func (t spelled[T]) Run(ctx context.Context, call tool.Call) (*tool.Result, error) {
	return t.Typed.Run(ctx, t.read(call))
}

// Classify classifies the call that Run would make.
func (t spelled[T]) Classify(call tool.Call) tool.Traits { return t.Typed.Classify(t.read(call)) }

// Validate judges the input that Run would get.
func (t spelled[T]) Validate(call tool.Call) error { return t.Typed.Validate(t.read(call)) }

// Repair returns the input that Run uses.
func (t spelled[T]) Repair(call tool.Call) json.RawMessage { return t.Typed.Repair(t.read(call)) }

// read spells the members of a call's input as the schema does. A member that is
// unknown or given twice stays so and is named with all else that is wrong.
func (t spelled[T]) read(call tool.Call) tool.Call {
	d := json.NewDecoder(bytes.NewReader(call.Input))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return call
	}
	out := []byte{'{'}
	changed := false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return call
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return call
		}
		written, _ := name.(string)
		known, ok := t.names[plainName(written)]
		if !ok {
			known = written
		}
		changed = changed || known != written
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, err := json.Marshal(known)
		if err != nil {
			return call
		}
		out = append(append(append(out, quoted...), ':'), value...)
	}
	if _, err := d.Token(); err == nil && changed {
		call.Input = append(out, '}')
	}
	return call
}

var separators = strings.NewReplacer("_", "", "-", "")

func plainName(name string) string { return strings.ToLower(separators.Replace(name)) }
