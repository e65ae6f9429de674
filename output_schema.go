package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/openagent-go/agent/internal/discard"
	"github.com/openagent-go/agent/internal/fact"
	schemas "github.com/openagent-go/agent/internal/strict"
	"github.com/openagent-go/agent/internal/toolschema"
	"github.com/openagent-go/agent/llm"
)

// ErrOutputInvalid is matched when, after all corrections, the answer to a prompt with a
// schema still does not satisfy it. The error is an [*EndError] with an [*OutputError].
var ErrOutputInvalid = errors.New("the answer does not satisfy the schema")

// An OutputError says why an answer is invalid.
type OutputError struct {
	Said    string // the last answer
	Problem string // what is wrong with it, in the words that the model gets for a correction
}

// Error says what is wrong with the answer.
func (e *OutputError) Error() string { return "the answer does not satisfy the schema: " + e.Problem }

// Is matches [ErrOutputInvalid].
func (e *OutputError) Is(target error) bool { return target == ErrOutputInvalid }

// PromptAs prompts an agent or a session for an answer of type T. p is an [*Agent], which
// makes a session for the prompt, or a [*Session]. T is a struct or map with
// json and jsonschema tags, like the input of a tool, or any other type that JSON can hold.
// The model uses tools as in any other prompt. The final answer must satisfy the schema of
// T, see [Input].Output.
func PromptAs[T any](ctx context.Context, p interface {
	Do(ctx context.Context, in Input) (*Result, error)
}, prompt string, more ...llm.Block) (T, *Result, error) {
	var answer struct {
		Value T `json:"value"`
	}
	target := any(&answer.Value)
	schema, err := toolschema.OfType(reflect.TypeFor[T]())
	if err != nil { // not an object: wrap it in one
		var inner error
		if schema, inner = toolschema.OfType(reflect.TypeOf(answer)); inner != nil {
			return answer.Value, nil, fmt.Errorf("agent: %w: the type of the answer: %v", ErrConfig, err)
		}
		target = &answer
	}
	res, err := p.Do(ctx, Input{Text: prompt, Blocks: more, Output: schema.JSON()})
	if err != nil {
		return answer.Value, res, err
	}
	if err := json.Unmarshal(res.Output, target); err != nil {
		return answer.Value, res, fmt.Errorf("agent: reading the answer: %w: %w", &OutputError{Said: res.Text, Problem: err.Error()}, err)
	}
	return answer.Value, res, nil
}

// Do is [Agent.Prompt] with an Input.
func (a *Agent) Do(ctx context.Context, in Input) (*Result, error) {
	s := a.Session("")
	defer s.Close()
	own := s.definition() // no other goroutine has the session yet
	own.AwaitAgents = true
	if a.Sessions == nil {
		own.Sessions = discard.Store{}
	}
	return s.Do(ctx, in)
}

const defaultCorrections = 3

// output returns the schema of the prompt's answer, nil if there is none.
func (in *Input) output() (*fact.Output, error) {
	if in.Output == nil {
		return nil, nil
	}
	schema, err := toolschema.Parse(in.Output)
	if err != nil {
		return nil, fmt.Errorf("agent: %w: the answer: %v", ErrConfig, err)
	}
	out := &fact.Output{Schema: schema.JSON(), Corrections: max(in.Corrections, 0), Tool: !schemas.Fits(schema.JSON())}
	if in.Corrections == 0 {
		out.Corrections = defaultCorrections
	}
	return out, nil
}
