package wire

import (
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// A Model is the common part of the models of all clients.
type Model struct {
	ID       string
	Provider string        // of the API; "": Entry's
	Entry    catalog.Entry // its known properties
	Local    bool          // it is served on this machine, and its window is not known
	Keys     Keys          // those that a client's KeyFunc gave
}

// Name implements [llm.Model].
func (m *Model) Name() string { return m.ID }

// Info implements [llm.Informed].
func (m *Model) Info() llm.Info {
	i := m.Entry.Info()
	if m.Provider != "" {
		i.Provider = m.Provider
	}
	if m.Local {
		i.Window, i.Assumed = llm.AssumedLocalWindow, true
	}
	return i
}

// Describe implements [llm.Described].
func (m *Model) Describe() llm.ModelInfo {
	i := m.Entry.ModelInfo()
	i.Value = m.ID
	if m.Provider != "" {
		i.Provider = m.Provider
	}
	i.Window, i.Assumed = m.Info().Room()
	return i
}

// Fetched returns how many keys a client's KeyFunc gave so far: once it has grown, the
// model's Secrets hold more.
func (m *Model) Fetched() int { return m.Keys.Count() }
