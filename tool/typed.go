package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/openagent-go/agent/internal/toolschema"
)

// A Typed is a Tool whose input is a Go type.
type Typed[In any] struct {
	checked
	spec  Spec
	shape *toolschema.Shape
	run   func(context.Context, Call, In) (*Result, error)
	rare  *rare[In] // nil for most tools
}

// checked marks a tool whose Spec was checked when it was made.
type checked = toolschema.Checked

// rare holds fields that few tools have.
type rare[In any] struct {
	classify func(Call, In) Traits
	preview  func(Call, In) string
	partial  func(context.Context, In)
	result   *toolschema.Shape // of Details, nil for any
}

// has returns these fields of the tool, zero if it has none.
func (t *Typed[In]) has() rare[In] {
	if t.rare == nil {
		return rare[In]{}
	}
	return *t.rare
}

// give returns the same to be changed.
func (t *Typed[In]) give() *rare[In] {
	if t.rare == nil {
		t.rare = new(rare[In])
	}
	return t.rare
}

// New returns a tool that runs fn. Its input schema is spec.Input, or is
// inferred from In, a struct with json and jsonschema tags (the latter is the
// description of the field); fields without omitempty or omitzero are required.
// A tool without input has In struct{}.
//
// An input that breaks the schema never reaches fn: [Typed.Run] returns an [*InputError].
// Where the schema demands it, an input is repaired first: "true" becomes true, "42"
// becomes 42, 42.0 becomes 42, JSON text becomes the array or object in it, and null is
// left out of optional members; repairs are listed in the "repaired" member of the result's
// Details, unless spec.Output has no room for it. Strings are never altered where strings
// are allowed.
//
// New panics if spec.Check reports an error or In has no schema of type object.
func New[In any](spec Spec, fn func(ctx context.Context, call Call, in In) (*Result, error)) *Typed[In] {
	var s *toolschema.Shape
	var err error
	if spec.Input == nil {
		s, err = toolschema.Of(reflect.TypeFor[In]())
	} else {
		s, err = toolschema.New(spec.Input)
	}
	if err != nil {
		err = fmt.Errorf("the input schema %w%s", err, takeStruct[In](spec))
	} else {
		spec.Input = s.Schema
		err = checkName(spec.Name)
	}
	t := &Typed[In]{spec: spec, shape: s, run: fn}
	if err == nil && spec.Output != nil {
		t.give().result, err = toolschema.ForOutput(spec.Output)
	}
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", spec.Name, err))
	}
	return t
}

// takeStruct is the remedy if the schema was made of In.
func takeStruct[In any](spec Spec) string {
	if typ := reflect.TypeFor[In](); spec.Input == nil && typ.Kind() != reflect.Struct {
		return fmt.Sprintf("; let the function take a struct, not a value of type %s", typ)
	}
	return ""
}

// Func returns a tool that calls an ordinary function and shows the model its
// result: a string as it is, a [*Result] as it is, anything else as JSON, which
// is also the Details if it is an object. An error becomes an error result.
func Func[In, Out any](spec Spec, fn func(ctx context.Context, in In) (Out, error)) *Typed[In] {
	name := spec.Name // the function must not keep all of spec
	return New(spec, func(ctx context.Context, _ Call, in In) (*Result, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		switch out := any(out).(type) {
		case string:
			return Text(out), nil
		case *Result:
			return out, nil
		}
		data, err := json.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("encoding the result of %s: %w", name, err)
		}
		r := Text(string(data))
		if toolschema.IsObject(data) {
			r.Details = data
		}
		return r, nil
	})
}

// Raw returns a tool that gets its input as JSON. It is checked and repaired
// against spec.Input as [New] says; a nil Input takes any object.
func Raw(spec Spec, fn func(ctx context.Context, call Call) (*Result, error)) Tool {
	if spec.Input == nil {
		spec.Input = json.RawMessage(`{"type":"object"}`)
	}
	return New(spec, func(ctx context.Context, call Call, _ json.RawMessage) (*Result, error) { return fn(ctx, call) })
}

// OnClassify sets the function that describes the effects of a call, see [Traits]. It is
// called with inputs that satisfy the schema, often before the call is permitted, and must
// not have side effects.
func (t *Typed[In]) OnClassify(fn func(call Call, in In) Traits) *Typed[In] {
	t.give().classify = fn
	return t
}

// OnPreview sets the function that shows the changes of a call, see [Previewer].
func (t *Typed[In]) OnPreview(fn func(call Call, in In) string) *Typed[In] {
	t.give().preview = fn
	return t
}

// OnPartial makes the tool see its input while the model is still writing it:
// fn gets the members that are there so far, the last one perhaps cut short, at
// most every 50 ms, the whole input last. It may report by [Progress]. It must
// not have side effects: the call is neither complete nor permitted, and may
// never run. fn is called by one goroutine at a time, and not while Run runs.
func (t *Typed[In]) OnPartial(fn func(ctx context.Context, in In)) *Typed[In] {
	t.give().partial = fn
	return t
}

// Partial calls the function of OnPartial. It passes over input that does not fit In.
func (t *Typed[In]) Partial(ctx context.Context, input json.RawMessage) {
	var in In
	if see := t.has().partial; see != nil && json.Unmarshal(input, &in) == nil {
		see(ctx, in)
	}
}

// TakesPartial reports whether OnPartial was called.
func (t *Typed[In]) TakesPartial() bool { return t.has().partial != nil }

// Spec describes the tool; its Input is never nil.
func (t *Typed[In]) Spec() Spec { return t.spec }

// Run checks the input and calls the tool's function.
func (t *Typed[In]) Run(ctx context.Context, call Call) (*Result, error) {
	var in In
	repaired, err := t.read(&call, &in)
	if err != nil {
		return nil, err
	}
	r, err := t.run(ctx, call, in)
	if r == nil || err != nil {
		return r, err
	}
	result := t.has().result
	r = promised(result, call.Name, r)
	if repaired == nil {
		return r, nil
	}
	return repairedDetails(r, result, repaired), nil
}

// repairedDetails returns a result that lists the repairs of its input, unless its schema
// has no room for them.
func repairedDetails(r *Result, result *toolschema.Shape, repaired []string) *Result {
	details := toolschema.AddMembers(r.Details, map[string]any{"repaired": repaired})
	if result != nil && !r.IsError && !result.Fits(details) {
		return r
	}
	copied := *r
	copied.Details = details
	return &copied
}

// Validate returns an [*InputError] if the tool cannot read the input.
func (t *Typed[In]) Validate(call Call) error {
	if t.has().classify == nil { // mistakes that only Run finds are not about the traits
		_, _, err := t.readInput(call.Input)
		return err
	}
	_, err := t.read(&call, new(In))
	return err
}

// Repair returns the input that the tool uses, repaired as [New] says.
func (t *Typed[In]) Repair(call Call) json.RawMessage {
	input, repaired, err := t.readInput(call.Input)
	if err != nil || repaired == nil {
		return call.Input
	}
	return input
}

// Classify implements [Classifier].
func (t *Typed[In]) Classify(call Call) Traits {
	if classify := t.has().classify; classify != nil {
		var in In
		if _, err := t.read(&call, &in); err == nil {
			return classify(call, in)
		}
	}
	return Traits{ReadOnly: t.spec.ReadOnly}
}

// Preview implements [Previewer].
func (t *Typed[In]) Preview(call Call) string {
	if preview := t.has().preview; preview != nil {
		var in In
		if _, err := t.read(&call, &in); err == nil {
			return preview(call, in)
		}
	}
	return ""
}

// read decodes the input of a call, and gives the call the repaired input.
func (t *Typed[In]) read(call *Call, in *In) (repaired []string, err error) {
	call.Input, repaired, err = t.readInput(call.Input)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(call.Input, in); err != nil {
		return nil, inputError(t.spec.Name, t.shape.Error(err.Error()))
	}
	return repaired, nil
}

// readInput checks an input, and returns it repaired with the paths of the repairs.
func (t *Typed[In]) readInput(input []byte) (json.RawMessage, []string, error) {
	input, repaired, err := t.shape.Read(input)
	return input, repaired, inputError(t.spec.Name, err)
}

// promised is r with its Details repaired where they break s, an error where that
// cannot be done. A nil s takes anything.
func promised(s *toolschema.Shape, name string, r *Result) *Result {
	if s == nil || r.IsError {
		return r
	}
	fixed, err := s.Promised(name, r.Details)
	if err != nil {
		return Errorf("%v", err)
	}
	if fixed == nil {
		return r
	}
	copied := *r
	copied.Details = fixed
	return &copied
}

// A Previewer is a Tool that can show the changes of a call before it is permitted, as a
// unified diff for edits. "" if there is nothing to show. Preview must not have side
// effects.
type Previewer interface{ Preview(call Call) string }
