// Package modelinfo describes models for people.
package modelinfo

import (
	"slices"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// An Info describes a model for people: its choices and its properties. Zero fields are
// unknown.
type Info struct {
	Value       string `json:"value"` // its name, as its provider knows it
	Provider    string `json:"provider,omitempty"`
	DisplayName string `json:"display_name"`
	Description string `json:"description,omitempty"` // a line
	// Efforts are the words that change how much it thinks, the least first. None:
	// it cannot be told, or that is not known.
	Efforts  []string `json:"efforts,omitempty"`
	Adaptive bool     `json:"adaptive_thinking,omitempty"` // it decides by itself how much to think
	Fast     bool     `json:"fast_mode,omitempty"`         // its provider offers it faster, at a higher price
	NoTools  bool     `json:"no_tools,omitempty"`          // it calls no tools by itself
	// PlainTools: while it has tools it does not think, as its provider refuses both
	// together.
	PlainTools bool `json:"plain_tools,omitempty"`
	// Window is the context window in tokens; Assumed: it is not known, and Window is the
	// assumed value.
	Window    int        `json:"window"`
	Assumed   bool       `json:"window_assumed,omitempty"`
	MaxOutput int        `json:"max_output,omitempty"` // most tokens of an answer
	Price     *llm.Price `json:"price"`                // nil: unknown, and so is the cost
	Source    string     `json:"source,omitempty"`     // where that was read,
	Date      string     `json:"date,omitempty"`       // and when: YYYY-MM-DD
}

// Of returns the known properties of m, at least its name.
func Of(m llm.Model) Info {
	if n, ok := m.(interface{ Unwrap() llm.Model }); ok { // see llm.Named
		d := Of(n.Unwrap())
		d.Value = m.Name()
		return d
	}
	d := Info{}
	if s, ok := m.(interface{ Describe() Info }); ok {
		d = s.Describe()
		d.Efforts = slices.Clone(d.Efforts)
	} else {
		i := llm.InfoOf(m)
		d.Provider, d.Window, d.Assumed, d.MaxOutput, d.Price = i.Provider, i.Window, i.Assumed, i.MaxOutput, i.Price
	}
	if d.Value == "" {
		d.Value = m.Name()
	}
	if d.DisplayName == "" {
		d.DisplayName = d.Value
	}
	if d.Window == 0 {
		d.Window, d.Assumed = (llm.Info{}).Room()
	}
	if d.Price != nil {
		p := *d.Price
		d.Price = &p
	}
	return d
}

// OfEntry returns the description of a model of the catalog.
func OfEntry(e catalog.Entry) Info {
	i := Info{Value: e.Name, Provider: e.Provider, DisplayName: e.DisplayName, Description: e.Description, Efforts: efforts(e), Adaptive: e.Thinking == llmconst.ThinkingAdaptive,
		Fast: e.Fast, NoTools: e.NoTools, MaxOutput: e.MaxOutput, Price: e.Price, Source: e.Source, Date: e.Date}
	if i.DisplayName == "" {
		i.DisplayName = e.Name
	}
	i.Window, i.Assumed = e.Info().Room()
	return i
}

func efforts(e catalog.Entry) []string {
	switch {
	case e.Efforts != nil:
		return slices.Clone(e.Efforts)
	case e.Thinking == llmconst.ThinkingNone || e.Thinking == "":
		return nil
	}
	return []string{"low", "medium", "high", "max"}
}
