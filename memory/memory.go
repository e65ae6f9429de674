// Package memory keeps what an agent has learned for later sessions: preferences, decisions,
// conventions, pitfalls and procedures. Each is a Markdown file that you can read, edit and
// commit. A project has a folder of them, and so has a user:
//
//	project := memory.Open(dir, memory.ProjectFolder)
//	user := memory.Open(home, memory.ProjectFolder)
//	m := &memory.Memory{Stores: []memory.Named{{"project", project}, {"user", user}}}
//	a := &agent.Agent{Model: model, Context: m.Context, Tools: append(list, m.Tool())}
//
// An entry is a candidate until a person accepts it. Only active entries reach a prompt.
package memory

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/front"
)

// ProjectFolder is the folder of the entries in a project, or in the user's home.
const ProjectFolder = ".openagent/memory"

// A Kind says what an entry is about.
type Kind string

// The kinds of entries.
const (
	Preference Kind = "preference" // what a person likes
	Decision   Kind = "decision"   // what was chosen, and why
	Convention Kind = "convention" // how things are done here
	Pitfall    Kind = "pitfall"    // what went wrong, and how to avoid it
	Procedure  Kind = "procedure"  // the steps of a task
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Preference, Decision, Convention, Pitfall, Procedure} }

// A State says whether an entry counts.
type State string

// The states of entries.
const (
	Candidate State = "candidate" // waits for a person, who accepts or rejects it
	Active    State = "active"    // reaches prompts
	Retired   State = "retired"   // counts no more; it is kept so that nobody proposes it again
)

// An Entry is something that was learned. Its file is the ID with ".md".
type Entry struct {
	// ID is made of kind and title when the entry is added, so that the same thing is not
	// added twice. It stays when the title changes.
	ID    string
	Title string // one line, of 120 bytes at most
	Kind  Kind   // what it is about
	State State  // whether it counts
	Text  string // Markdown, of 4,000 bytes at most

	// Evidence says where the entry was learned.
	Evidence []Evidence
	// Confirmed is the day on which a person or the work last confirmed the entry, in UTC.
	// Zero: never.
	Confirmed time.Time
	// Confirmations and Contradictions count how often the work agreed with the entry, and
	// how often not.
	Confirmations, Contradictions int
	// Replaces and Retires name an entry that is retired once this one is accepted. An entry
	// with Retires is a request to retire: when it is accepted, it is retired as well.
	Replaces, Retires string

	more []front.Value // what people have added to the front matter
}

// Confidence is a share from 0 to 1: how well the work agrees with the entry. It is a half
// without any evidence. An active entry that falls below it becomes a candidate again.
func (e *Entry) Confidence() float64 {
	return float64(1+e.Confirmations) / float64(2+e.Confirmations+e.Contradictions)
}

// Evidence names facts of a session.
type Evidence struct {
	Session     string // its id
	First, Last int64  // numbers of facts; 0: the session as a whole
}

// String returns a text such as "4f2a#12-15", as files have it.
func (e Evidence) String() string {
	switch {
	case e.First == 0:
		return e.Session
	case e.Last <= e.First:
		return fmt.Sprintf("%s#%d", e.Session, e.First)
	}
	return fmt.Sprintf("%s#%d-%d", e.Session, e.First, e.Last)
}

// validSession keeps texts that are no ids out of what models read.
var validSession = regexp.MustCompile(`^[A-Za-z0-9._:/@+~-]{1,200}$`)

// parseEvidence is the inverse of String.
func parseEvidence(s string) (e Evidence, err error) {
	session, facts, some := strings.Cut(strings.TrimSpace(s), "#")
	e.Session = session
	if !validSession.MatchString(session) {
		return e, fmt.Errorf("evidence %q names no session; write SESSION#FIRST-LAST", s)
	}
	if !some {
		return e, nil
	}
	first, last, more := strings.Cut(facts, "-")
	if e.First, err = strconv.ParseInt(first, 10, 64); err == nil {
		e.Last = e.First
		if more {
			e.Last, err = strconv.ParseInt(last, 10, 64)
		}
	}
	if err != nil || e.First < 1 || e.Last < e.First {
		return e, fmt.Errorf("evidence %q: the facts are no numbers; write SESSION#FIRST-LAST", s)
	}
	return e, nil
}
