package llm

import "context"

// A namedModel goes by another name than its provider has for it, so that journals say
// where it is reached. Requests have the provider's name.
type namedModel struct {
	Model
	name string
}

// Named returns m under another name. Runs tell their models apart by their names, so
// this is how the same model of two providers serves in one agent.
func Named(m Model, name string) Model {
	n := &namedModel{Model: m, name: name}
	if c, ok := m.(Counter); ok {
		return &countingModel{n, c}
	}
	return n
}

// A countingModel can have its provider count tokens.
type countingModel struct {
	*namedModel
	counter Counter
}

// CountTokens implements [Counter].
func (m *countingModel) CountTokens(ctx context.Context, req *Request) (int, error) {
	return m.counter.CountTokens(ctx, req)
}

func (m *namedModel) Name() string { return m.name }

// Info returns the Info of the model below.
func (m *namedModel) Info() Info { return InfoOf(m.Model) }

// Unwrap returns the model below.
func (m *namedModel) Unwrap() Model { return m.Model }

// Secrets returns the secrets of the model below.
func (m *namedModel) Secrets() []string {
	if s, ok := m.Model.(interface{ Secrets() []string }); ok {
		return s.Secrets()
	}
	return nil
}

// Fetched returns how many keys the model below got so far.
func (m *namedModel) Fetched() int {
	if k, ok := m.Model.(interface{ Fetched() int }); ok {
		return k.Fetched()
	}
	return 0
}
