package llm

import "slices"

// The windows assumed for unknown models. One that is too small costs a summary too early.
// One that is too large costs a request that the provider refuses, after which the
// conversation is summarised anyway.
const (
	// AssumedWindow is that of most families of hosted models that are offered today
	// and do not have more.
	AssumedWindow = 128_000
	// AssumedLocalWindow is for servers on this machine: they cut off longer prompts, some
	// silently, and are often started with a smaller window than the model has.
	AssumedLocalWindow = 32_768
)

// Room returns the context window that is to be reckoned with, and whether it is
// assumed because none is known.
func (i Info) Room() (window int, assumed bool) {
	if i.Window > 0 {
		return i.Window, i.Assumed
	}
	return AssumedWindow, true
}

// A ModelInfo describes a model for people: its choices and its properties. Zero fields are
// unknown.
type ModelInfo struct {
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
	Window    int    `json:"window"`
	Assumed   bool   `json:"window_assumed,omitempty"`
	MaxOutput int    `json:"max_output,omitempty"` // most tokens of an answer
	Price     *Price `json:"price"`                // nil: unknown, and so is the cost
	Source    string `json:"source,omitempty"`     // where that was read,
	Date      string `json:"date,omitempty"`       // and when: YYYY-MM-DD
}

// A Described model knows its [ModelInfo].
type Described interface{ Describe() ModelInfo }

// DescribeModel returns the known properties of m, at least its name.
func DescribeModel(m Model) ModelInfo {
	d := ModelInfo{}
	if s, ok := m.(Described); ok {
		d = s.Describe()
		d.Efforts = slices.Clone(d.Efforts)
	} else {
		i := InfoOf(m)
		d.Provider, d.Window, d.Assumed, d.MaxOutput, d.Price = i.Provider, i.Window, i.Assumed, i.MaxOutput, i.Price
	}
	if d.Value == "" {
		d.Value = m.Name()
	}
	if d.DisplayName == "" {
		d.DisplayName = d.Value
	}
	if d.Window == 0 {
		d.Window, d.Assumed = Info{}.Room()
	}
	if d.Price != nil {
		p := *d.Price
		d.Price = &p
	}
	return d
}
