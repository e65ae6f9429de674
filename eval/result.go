package eval

import (
	"time"

	"github.com/openagent-go/agent/llm"
)

// A Report is what an evaluation found: a trial for each case, variant and repetition that
// was run. Its JSON is the report that other programs read.
type Report struct {
	Suite    string    `json:"suite"`    // name of the suite
	Started  time.Time `json:"started"`  // in UTC
	Ended    time.Time `json:"ended"`    // in UTC
	Variants []string  `json:"variants"` // names, in the order in which they were given
	Cases    []string  `json:"cases"`    // names, in the order of the suite
	Trials   []Trial   `json:"trials"`   // in the order of cases, variants and repetitions
	// Stopped says why trials are missing, such as "the budget of 5 USD is used up". It is
	// empty if every trial was run.
	Stopped string `json:"stopped,omitempty"`
}

// A Trial is one run of a case with one variant.
type Trial struct {
	Case       string   `json:"case"`           // name of the case
	Variant    string   `json:"variant"`        // name of the variant
	Repetition int      `json:"repetition"`     // from 1
	Tags       []string `json:"tags,omitempty"` // of the case
	// Passed is whether the agent ran and every grade passed.
	Passed bool `json:"passed"`
	// Error says why there are no grades: a setup that failed, a provider that could not be
	// reached. Such a trial counts as failed, and reports list it apart.
	Error  string  `json:"error,omitempty"`
	Grades []Grade `json:"grades,omitempty"` // of the case's graders, in their order

	Answer    string        `json:"answer,omitempty"`    // the text of the last answer
	End       string        `json:"end,omitempty"`       // how the last run ended, as the Reason of an agent.Result
	Started   time.Time     `json:"started"`             // in UTC
	Duration  time.Duration `json:"duration"`            // of the agent, in nanoseconds, without setup and graders
	Prompts   int           `json:"prompts"`             // prompts that the agent got
	Turns     int           `json:"turns"`               // answers of the model
	ToolCalls int           `json:"tool_calls"`          // calls of tools, also failed ones
	Tools     []string      `json:"tools,omitempty"`     // names of the calls' tools, in order
	Usage     llm.Usage     `json:"usage"`               // of all model calls
	CostUSD   float64       `json:"cost_usd"`            // of the agent and of graders that ask a model
	CostKnown bool          `json:"cost_known"`          // whether all prices were known
	Session   string        `json:"session,omitempty"`   // id of the session, if it was kept
	Workspace string        `json:"workspace,omitempty"` // folder that was kept; empty if it was removed
}

// A Grade is what one grader said about a trial.
type Grade struct {
	Grader string  `json:"grader"`           // its name in the case, such as "go test"
	Kind   string  `json:"kind"`             // such as "command", see the list of graders
	Passed bool    `json:"passed"`           // whether the trial has what the grader looks for
	Score  float64 `json:"score"`            // from 0 to 1; 0 or 1 for graders that only pass or fail
	Detail string  `json:"detail,omitempty"` // why it failed, or what a judge said
}
