package wire

import (
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/modelinfo"
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

// Info implements the optional method of an [llm.Model].
func (m *Model) Info() llm.Info {
	i := m.Entry.Info()
	if m.Provider != "" {
		i.Provider = m.Provider
	}
	if m.Local {
		i.Window, i.Assumed = llmconst.AssumedLocalWindow, true
	}
	return i
}

// Describe describes the model, see [modelinfo.Of].
func (m *Model) Describe() modelinfo.Info {
	i := modelinfo.OfEntry(m.Entry)
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
