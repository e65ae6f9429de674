package main

import (
	"context"

	"github.com/openagent-go/agent/llm"
)

// A namedModel goes by another name than its provider has for it, so that journals say
// where it is reached. Requests have the provider's name.
type namedModel struct {
	llm.Model
	name string
}

// called returns m under another name.
func called(m llm.Model, name string) llm.Model {
	n := &namedModel{Model: m, name: name}
	if c, ok := m.(llm.Counter); ok {
		return &countingModel{n, c}
	}
	return n
}

// A countingModel can have its provider count tokens.
type countingModel struct {
	*namedModel
	counter llm.Counter
}

// CountTokens implements [llm.Counter].
func (m *countingModel) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	return m.counter.CountTokens(ctx, req)
}

func (m *namedModel) Name() string { return m.name }

// Info implements [llm.Informed].
func (m *namedModel) Info() llm.Info { return llm.InfoOf(m.Model) }

// Describe implements [llm.Described].
func (m *namedModel) Describe() llm.ModelInfo {
	i := llm.DescribeModel(m.Model)
	i.Value = m.name
	return i
}

// Secrets returns what the model below must not show.
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
