// Package engine is the agent loop as a pure state machine.
//
// A [State] is the fold of a session's facts. [State.Effects] says what the
// state wants done next; a driver does it, records what came of it as a fact,
// and applies the fact. The engine does no I/O, starts no goroutine, reads no
// clock and draws no random number, so the same facts always lead to the same
// state and effects: a crash, a fork and a test are all just a replay of facts.
//
//	for s.Open() {
//		for _, e := range s.Effects() { start(e) } // those not yet in flight
//		s.Apply(<-facts)
//	}
package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Bounds that no configuration changes.
const (
	maxContinuations = 3  // of an answer cut off at max_tokens, in a row
	maxPauses        = 10 // pause_turn answers in a row
	doomRepeats      = 3  // answers in a row with the same call, until it is asked about
	doomFaults       = 3  // failures of a tool in a row, until it is asked about
	minOutput        = 256
	maxRepeats       = 3 // of a call that the program died in
)

// ContinueText is what the model is told after an answer cut off at max_tokens.
const ContinueText = "Please continue from where you left off."

// A State decides what a run does next. It holds ids, phases and counters; the
// conversation itself is in the [Transcript]. The zero State is a session in
// which nothing has happened.
type State struct {
	cfg    event.Configured // without the system prompt and the models
	models []knownModel
	mode   permission.Mode
	dir    string
	known  map[string]bool // ids of all user messages
	queue  []queued        // messages that wait for their delivery
	size   size

	answers int            // of the model, since the last summary
	compact *compaction    // nil: nothing is known that matters to one
	over    *overflow      // of the last request; nil: there is none
	found   map[string]int // tokens of the deferred tools that were not found yet, by name

	open  bool // a run goes on
	run   run
	stop  *event.Stopped
	need  need
	calls []call // of the last answer, until all are settled
	asked string // the call about which a person is asked

	scopes []scope                 // skills in force, the innermost last
	bound  *permission.Restriction // what they let run; nil: anything

	hookCalls []CallHooks          // moments whose hooks have not been called yet, in order
	added     []string             // folders that the last configuration has added
	loaded    []event.Instructions // that hooks were not told of yet
	rules     *permission.Policy   // what hooks have added; nil: nothing

	model struct { // the next or current model call
		cause    int64 // the fact that made it wanted
		attempt  int   // how often it was started
		tries    int   // how often it failed with the current model
		fallback int   // 0: the configured model; n: the nth fallback
		calling  bool  // started and not yet settled
		changed  bool  // and another model is wanted meanwhile
		reserved float64
		wait     *wait
	}
	agents           []event.AgentStart    // at work
	worked           map[string]assignment // pieces of work that were begun, by key
	waits            map[string]bool       // agents that wait for a decision, by the key of their work
	again            map[string]bool       // agents in the background that went on since, likewise
	lateSubagentEnds []event.AgentEnd      // came after the end of a run: they count in the next one
	repeats          map[uint64]int        // how many answers in a row have had a call, by its signature
	repeated         map[uint64]int        // repeats of the answer before
	wanted           []Effect              // what Effects returned; reused
	faults           map[string]int        // failures in a row by tool
}

// need is what the conversation waits for when no call is open.
type need struct {
	kind   needKind
	reason event.EndReason // with needEnd
	msg    string
	class  llm.Class
	status int
	id     string // the provider's, of the request that failed
}

type needKind int

const (
	needModel    needKind = iota // an answer
	needContinue                 // the request to go on with a cut answer
	needEnd                      // the end of the run
)

type queued struct {
	id       string
	delivery event.Delivery
	tokens   int
	seq      int64 // of its fact
	checked  bool  // by the hooks of UserPromptSubmit
}

type wait struct {
	key   string
	until time.Time
}

// run counts what a prompt and its consequences use up.
type run struct {
	seq           int64 // of the prompt
	began         time.Time
	last          time.Time // of the latest fact
	turns         int
	below         int // turns of agents that have ended
	modelCalls    int
	usage         llm.Usage
	cost          float64
	unknown       bool    // some cost is not known
	lost          float64 // the most that broken calls can have cost beyond what is counted
	models        map[string]event.Spending
	denials       []event.Denial
	text          string // of the last answer, with the parts that it continues
	partial       string
	continuing    bool
	continuations int
	pauses        int
	toolText      string // of the result that ended the run
	end           event.EndReason
	doom          string // why, with DoomLoop
	api           time.Duration
	first         time.Duration
	rang          bool // the time limit was reached
	alarms        int  // how often the time limit was changed
	kept          bool // the files are, as they were before this prompt
	compacts      bool // it was begun to compact the conversation
	tools         map[string]event.ToolUse
	agents        map[string]event.Spending
	stops         int     // how often Stop hooks made it go on, in a row
	ends          int     // how often it has come to an end
	told          bool    // Stop hooks were called for this end
	failureTold   bool    // StopFailure hooks were
	answer        *answer // nil: the prompt has no schema
}

// Running reports whether a run goes on.
func (s *State) Running() bool { return s.open }

// Pending reports whether the last run left calls without a result, as a
// suspended one does, or agents in the background that wait for a decision.
func (s *State) Pending() bool { return len(s.calls) > 0 || len(s.Waiting()) > 0 }

// Stopping reports whether what is in flight should be cancelled.
func (s *State) Stopping() bool {
	return s.open && s.stop != nil && s.stop.Reason != event.Suspended
}

// Mode returns the permission mode in force.
func (s *State) Mode() permission.Mode { return s.mode }

// Dir returns the working directory in force.
func (s *State) Dir() string { return s.dir }

// Model returns the name of the model that the next call goes to.
func (s *State) Model() string {
	if n := s.model.fallback; n > 0 {
		return s.cfg.Fallbacks[n-1]
	}
	for _, sc := range slices.Backward(s.scopes) {
		if sc.Model != "" {
			return sc.Model
		}
	}
	return s.cfg.Model
}

func (s *State) tools() toolset { return s.cfg.Tools }

// Config returns what the run was configured with, less the system prompt and what is
// known of models, see [State.Info].
func (s *State) Config() event.Configured { return s.cfg }

// ReadOnly reports whether an open call changes nothing.
func (s *State) ReadOnly(id string) bool {
	c := s.find(id)
	return c != nil && c.class.ReadOnly
}

// Judged returns what an open call is going to do, and what was decided about it.
func (s *State) Judged(id string) (tool.Traits, permission.Decision) {
	if c := s.find(id); c != nil {
		return c.class, c.decision
	}
	return tool.Traits{}, permission.Decision{}
}

// Asking returns the calls that wait for somebody's decision, in order.
func (s *State) Asking() []string {
	var ids []string
	for _, c := range s.calls {
		if c.phase == asking {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// Question returns the key of the question about a call, if one waits, also in a
// run that is suspended.
func (s *State) Question(id string) (key string, ok bool) {
	if c := s.find(id); c != nil && c.phase == asking {
		return c.key("ask"), true
	}
	return "", false
}

// SoFar returns what an open run has come to, for when its end cannot be recorded.
func (s *State) SoFar() (event.RunEnd, bool) {
	end := s.runEnd(event.Internal, need{})
	if s.model.calling {
		end.LostUSD = plus(end.LostUSD, s.model.reserved)
	}
	if s.compact != nil && s.compact.calling {
		end.LostUSD = plus(end.LostUSD, s.compact.reserved)
	}
	return end, s.open
}

// Turns returns how many answers the model has given in this run.
func (s *State) Turns() int { return s.run.turns }

// Queued returns the ids of the messages that wait for their delivery and are of no
// use once the run is stopped: all but notices, which the next run delivers.
func (s *State) Queued() []string {
	var ids []string
	for _, q := range s.queue {
		if q.delivery != event.AsNotice {
			ids = append(ids, q.id)
		}
	}
	return ids
}

// Known reports whether a user message with this id is on record.
func (s *State) Known(id string) bool { return s.known[id] }

// key makes an effect's key: its kind, the fact that caused it, its place among
// the effects of that fact, and the attempt. It is unique in its session.
func key(kind string, cause int64, index, attempt int) string {
	b := append(make([]byte, 0, 40), kind...)
	b = strconv.AppendInt(append(b, '/'), cause, 10)
	b = strconv.AppendInt(append(b, '.'), int64(index), 10)
	b = strconv.AppendInt(append(b, '/'), int64(attempt), 10)
	return string(b)
}
