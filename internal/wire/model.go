package wire

import (
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// A Model is the common part of the models of all clients.
type Model struct {
	ID       string
	Provider string        // provider of the API; "": Entry's
	Entry    catalog.Entry // its known properties
	Local    bool          // it is served on this machine, and its window is unknown
	Keys     Keys          // keys that a client's KeyFunc returned
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

// Fetched returns the number of keys that a client's KeyFunc returned so far. When it
// grows, the model has new Secrets.
func (m *Model) Fetched() int { return m.Keys.Count() }
