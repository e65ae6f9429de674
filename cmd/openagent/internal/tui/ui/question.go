package ui

// A Question waits for a person's answer. All its texts but Diff are sanitised: every character
// in them can be seen.
type Question struct {
	ID     int
	Agent  string // the sub-agent whose call it is; "": the main agent
	Tool   string
	Head   string // the call in a few words
	Body   []Line
	Diff   string  // below the body; not sanitised
	Why    []Line  // why the question is asked
	Note   string  // why, in a few words, such as "no rule allows it"
	Widths []Width // rules that would allow such calls, the narrowest first
	Usual  int     // the width that is offered
	// Grave is the reason why the call needs the word yes; "": a key suffices.
	Grave   string
	Command string  // the command that can be edited; "": none
	Ask     []Asked // questions of a tool; none: a permission question
	// Elsewhere means that the run is on a server, where the question waits without this program.
	Elsewhere bool
}

// A Line is a line of a question.
type Line struct {
	Kind LineKind
	Text string
}

// A LineKind says what a line of a question shows.
type LineKind int

// The kinds of lines.
const (
	PlainLine LineKind = iota
	DimLine
	WarnLine
	AddedLine
	RemovedLine
)

// A Width is a set of rules that would allow a call.
type Width struct {
	Name   string // exact, usual or broad
	Rules  []string
	Scopes []string // where they can be kept: session, project, user
	Wide   string   // why they need the word yes; "": they do not
}

// An Asked is a question of a tool.
type Asked struct {
	Header, Text string
	Options      []Option
	Multiple     bool
}

// An Option is a suggested answer.
type Option struct{ Label, Description string }
