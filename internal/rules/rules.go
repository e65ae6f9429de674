// Package rules decides whether the rules and the mode of an agent let a tool call run. It is
// the engine behind package permission, whose types have the same names and meaning. Package
// policies answers the questions about a permission.Policy that only this module asks.
package rules

// A Mode settles calls that no rule has settled.
type Mode string

const (
	Default     Mode = "default"
	Plan        Mode = "plan"
	AcceptEdits Mode = "acceptEdits"
	Auto        Mode = "auto"
	DontAsk     Mode = "dontAsk"
	Bypass      Mode = "bypassPermissions"
)

// Modes lists every mode, the strictest last but one.
var Modes = []Mode{Default, AcceptEdits, Plan, Auto, DontAsk, Bypass}

// A Behavior is what is to happen with a call.
type Behavior string

const (
	Allowed Behavior = "allow"
	Denied  Behavior = "deny"
	Asked   Behavior = "ask"
)

// A Source says what made a [Decision].
type Source string

const (
	FromRule Source = "rule"
	FromMode Source = "mode"
)

// A Decision settles a call and explains itself.
type Decision struct {
	Behavior Behavior `json:"behavior"`
	Reason   string   `json:"reason,omitempty"`
	Source   Source   `json:"source,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	Origin   string   `json:"origin,omitempty"`
}

// An AccessKind says what is done to the target of an [Access].
type AccessKind string

const (
	ReadFile   AccessKind = "read"
	EditFile   AccessKind = "edit"
	RunCommand AccessKind = "run"
	FetchURL   AccessKind = "fetch"
	UseName    AccessKind = "name"
)

// An Access is one thing that a call is going to touch.
type Access struct {
	Kind                   AccessKind
	Target, Dir            string
	Once, Later, Elsewhere bool
}

// A Request is a call to be judged.
type Request struct {
	Tool                                        string
	Aliases                                     []string
	Access                                      []Access
	ReadOnly, NonDestructive, Confined, Unbound bool
	WriteProtected                              []string
	Dir                                         string
	Roots                                       []string
}

// A Rule is "Tool" or "Tool(pattern)".
type Rule string

// A Policy is the rules of an agent and its mode.
type Policy struct {
	Mode             Mode
	Allow, Ask, Deny []Rule
	AllowConfined    bool
	Private          []string
	Origins          []Origin
	Parents          []Policy
	Restriction      *Restriction
}

// A Restriction keeps an agent to a list of calls.
type Restriction struct {
	By   string
	Only []Rule
}

// An Origin says where a rule was written.
type Origin struct {
	Behavior Behavior
	Rule     Rule
	From     string
}

// As converts a list of strings of one type to another. Nil stays nil.
//
//go:noinline // called from many places: every program stays smaller
func As[To, From ~string](list []From) []To {
	if list == nil {
		return nil
	}
	out := make([]To, len(list))
	for i, s := range list {
		out[i] = To(s)
	}
	return out
}
