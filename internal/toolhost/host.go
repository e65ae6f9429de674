// Package toolhost connects a server that carries out a call with the run that made it: the
// server may put questions to the person and to the run's model.
package toolhost

import (
	"context"
	"encoding/json"
)

// A RunServices is the interface of a run for a server that carries out its calls. The run
// may refuse any request.
type RunServices interface {
	// Elicit puts a server's question to the person.
	Elicit(ctx context.Context, e Elicitation) Elicited
	// Sample has the run's model answer a server. It fails with [ErrDeclined] where that
	// is not permitted.
	Sample(ctx context.Context, s Sampling) (Sampled, error)
}

// An Elicitation is a question that a server puts to the person.
type Elicitation struct {
	Server  string
	Message string
	// Schema is the JSON Schema of the form to be filled in: an object with flat
	// members. Unused where there is a URL.
	Schema json.RawMessage
	// URL is a page that the person is to visit.
	URL string
	ID  string // the server's, of a question with a URL
}

// An Elicited is the result of an [Elicitation].
type Elicited struct {
	Action  Action
	Content json.RawMessage // with Accepted and a Schema: a JSON object
}

// An Action is a person's reaction to an [Elicitation].
type Action string

const (
	Accepted  Action = "accept"
	Declined  Action = "decline"
	Dismissed Action = "cancel" // neither
)

type hostKey struct{}

// WithHost returns a context in which [Elicit] asks h.
func WithHost(ctx context.Context, h RunServices) context.Context {
	return context.WithValue(ctx, hostKey{}, h)
}

// Elicit asks the [RunServices] of ctx. Without one the answer is Declined.
func Elicit(ctx context.Context, e Elicitation) Elicited {
	if h, ok := ctx.Value(hostKey{}).(RunServices); ok {
		return h.Elicit(ctx, e)
	}
	return Elicited{Action: Declined}
}
