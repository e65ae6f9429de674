// Package tool defines the interface of tools and makes tools of Go functions.
//
// A tool gets the things it works on (files, a shell, a client) from its
// constructor, asks the run for changes by returning them in its [Result], and
// reports progress with [Progress].
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// A Tool is something that a model may call. A failure that the model should see is an
// error [Result]; an error returned by Run becomes one. Run must return soon after ctx
// ends. A Tool is safe for concurrent use.
//
// A Tool may also be a [Classifier] and a [Previewer], and have the methods below. They are
// called before the call is permitted and must not have side effects. The tools of [New] have
// all of them but Make.
//
//   - Make() tool.Tool returns a new tool for a call, with the same Spec. It sees the partial
//     inputs and runs once.
//   - Validate(call tool.Call) error fails if the tool cannot read the input of a call. The
//     error, such as an [*InputError], is for the model. The call is neither judged nor run.
//   - Repair(call tool.Call) json.RawMessage returns the input that the tool uses, such as a
//     number in place of "42", or the call's own. Hooks, policies and callbacks judge it.
//   - Partial(ctx context.Context, input json.RawMessage) gets the input while the model is
//     writing it, if TakesPartial() bool returns true. input is valid JSON: the part written
//     so far, with everything open closed.
type Tool interface {
	Spec() Spec // describes the tool; it is always the same
	Run(ctx context.Context, call Call) (*Result, error)
}

// A Set is a group of tools that may change over time. It is asked at the
// start of each prompt.
//
// A Set may also have these methods:
//
//   - Instructions() string returns a text for the model about the tools, "" for none. It is
//     called after Tools. The text comes after the agent's System.
//   - Version() uint64 returns another number once Tools or Instructions would return
//     something else. It is called before each request of a run, which then uses the new
//     values.
type Set interface {
	Tools(ctx context.Context) ([]Tool, error) // returns the tools of the next prompt
}

// A Classifier is a Tool that knows more of a call than its Spec says.
// Classify must not have side effects; the input may break the schema.
type Classifier interface{ Classify(call Call) Traits }

// A Traits describes the effects of a single call.
type Traits struct {
	ReadOnly bool `json:"read_only,omitempty"` // changes nothing: may run beside others and be repeated
	// Touches are the resources (paths, keys) that the call depends on or
	// changes. Calls whose resources do not overlap may run together. Nil: unknown,
	// overlaps with everything.
	Touches []string            `json:"touches,omitempty"`
	Access  []permission.Access `json:"access,omitempty"` // the texts that permission rules are matched against
	// Internal: the call changes nothing but the session's own records, such as its
	// list of tasks, and needs no more permission than one that only reads.
	Internal bool `json:"internal,omitempty"`
	// RunsSubagents: the call makes its changes through agents, whose own calls are judged.
	// It needs no more permission than a call that only reads, and runs beside others like
	// it.
	RunsSubagents bool `json:"delegated,omitempty"`
	// Confined: the operating system confines the programs that the call runs.
	Confined bool `json:"confined,omitempty"`
	// IgnoresSkillLimits: a skill's list of tools does not hold for the call.
	IgnoresSkillLimits bool `json:"unbound,omitempty"`
	// ConfirmReason, if not empty, is the reason why a person must agree to the call even
	// if the mode allows it. If no person can be asked it is denied.
	ConfirmReason string `json:"asks,omitempty"`
}

// A Spec describes a tool. Only Name is required. It must not change during a prompt.
type Spec struct {
	Name        string   // ^[a-zA-Z0-9_-]{1,64}$
	Aliases     []string // other names that a model may call it by, unless another tool has them
	Title       string   // for people
	Description string   // for the model
	// Input is a JSON Schema of type object. [New] and [Func] infer it when nil;
	// a nil Input of any other tool means an object without known members.
	Input json.RawMessage
	// Output is a JSON Schema of type object for the Details of results that are not
	// errors. Details that break it are repaired like inputs, see [New]; if that fails the
	// result becomes an error. Nil: any.
	Output         json.RawMessage
	ReadOnly       bool // changes nothing: runs beside other calls, in plan mode, and again after a crash
	NonDestructive bool // may change things but destroys nothing
	Idempotent     bool // repeating a call changes nothing more
	OpenWorld      bool // reaches things outside this machine
	// Barrier: no later call of the same answer is judged before a call of this tool has
	// ended, because it may change the mode, the directory or the rules.
	Barrier bool
	// Batch: the tool's input is a list of calls. These are made in its place, each judged
	// and recorded like a call of the model; their results become its result, and Run is
	// never called. The input is {"tool_calls":[{"tool":NAME,"parameters":{…}}]}.
	Batch       bool
	Deferred    bool // kept from the model until a tool search finds it
	AlwaysLoad  bool // not deferred for the size of its Set
	NeedsPerson bool // asks a person: offered only where the agent has an AskUser callback
	// NeedsApproval, unless nil, returns why a person must approve a call before it runs,
	// "" if nobody needs to; see [AskAlways] and [AskIf]. The call is asked about in every
	// mode, also in bypassPermissions, unless a rule of the user or of the session allows
	// it. Mode dontAsk denies it. The function gets the input that the tool will use, again
	// if the input changes. It must not have side effects.
	NeedsApproval func(Call) string `json:"-"`
	// Replaces names the tools in whose place this one is offered to models that
	// write patches ([llm.Info].Patches); all other models are offered those instead.
	Replaces []string
	Timeout  time.Duration // 0: 10 minutes; negative: none
	// State names the slot of the session's state that the tool keeps its own
	// data in: read from [Call].State, written by [Patch].State. "" for none.
	State string
}

// A Call is one request to run a tool. It is plain data and crosses process
// boundaries. ID is ours, unique in its session and the same across retries and
// resumes, so it can serve as an idempotency key.
type Call struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`  // of the tool
	Input   json.RawMessage `json:"input"` // a JSON object
	Session string          `json:"session,omitempty"`
	// Root is the session at the root of the tree of agents, "" where Session is it.
	Root  string          `json:"root,omitempty"`
	Agent string          `json:"agent,omitempty"` // the name of the sub-agent that calls; "": the main agent
	Dir   string          `json:"dir,omitempty"`   // working directory, absolute; "" where the run has none
	Mode  permission.Mode `json:"mode,omitempty"`  // the permission mode in force
	// State is the content of the tool's state slot: a JSON object, or nil.
	State json.RawMessage `json:"-"`
	// Scopes are the skills in force, the innermost last.
	Scopes []skillscope.Scope `json:"-"`
	// Unreadable says which files must not be shown. A tool that shows many files
	// leaves out those for which [Call.Hides] is true. Nil: it may show all.
	Unreadable interface{ Hides(path, dir string) bool } `json:"-"`
}

// Hides reports whether rules, policies or the sandbox forbid showing the file at
// path (absolute), as it is written or where it leads.
func (c Call) Hides(path string) bool {
	return c.Unreadable != nil && c.Unreadable.Hides(path, c.Dir)
}

// A Result is a tool's answer.
type Result struct {
	Content llm.Blocks      `json:"content,omitempty"`  // for the model: text, images, documents
	Details json.RawMessage `json:"details,omitempty"`  // for programs and people: a JSON object
	Title   string          `json:"title,omitempty"`    // a line for people
	IsError bool            `json:"is_error,omitempty"` // the call failed; the model is told why
	Patch   Patch           `json:"patch,omitzero"`     // changes to the run, made when the result is recorded
	// Digest, unless empty, is a question about the content. Where the agent has a
	// small model it answers the question, and its answer takes the content's place.
	Digest string `json:"digest,omitempty"`
	// Questions, if not empty, are put to a person; the answers replace the content. If no
	// person can answer, the content stays.
	Questions []Question `json:"questions,omitempty"`
	// Truncated: the tool itself has cut its content, so it is not cut again.
	Truncated bool `json:"truncated,omitempty"`
}

// A Question is put to a person.
type Question struct {
	Text     string   `json:"text"`               // the question itself
	Header   string   `json:"header,omitempty"`   // a word or two
	Options  []Option `json:"options,omitempty"`  // to choose from; none: the answer is a text
	Multiple bool     `json:"multiple,omitempty"` // several options may be chosen
}

// An Option is a suggested answer.
type Option struct {
	Label       string `json:"label"`                 // the short text that the person sees
	Description string `json:"description,omitempty"` // what choosing it means
}

// An Answer is a person's answer to a [Question]: labels of options, their own words, or
// both.
type Answer struct {
	Options []string `json:"options,omitempty"` // labels of the chosen options
	Text    string   `json:"text,omitempty"`    // an answer in the person's own words
}

// Text returns the text blocks of the content joined together.
func (r *Result) Text() string { return r.Content.Text() }

// A Patch is a change that a tool asks its run to make. Zero fields change nothing.
type Patch struct {
	Mode   permission.Mode `json:"mode,omitempty"`    // the new permission mode; "": the same as before
	Dir    string          `json:"dir,omitempty"`     // absolute
	EndRun bool            `json:"end_run,omitempty"` // the run ends; its text is this result's
	// Enable names deferred tools that the model sees from the next request on.
	Enable []string `json:"enable,omitempty"`
	// State is merged into the tool's state slot: a JSON object whose members
	// replace those of the same name; null deletes.
	State json.RawMessage `json:"state,omitempty"`
	// Begin puts a skill in force, within the others.
	Begin *skillscope.Scope `json:"begin,omitempty"`
	// End ends the innermost skill, unless the user began it.
	End bool `json:"end,omitempty"`
	// Happened lists side effects of the call for hooks.
	Happened []SideEvent `json:"happened,omitempty"`
}

// A SideEvent is something that a call has brought about: a hook event, such as
// TaskCreated, with the texts of its input by their names in JSON.
type SideEvent struct {
	Event  string            `json:"event"`            // what happened; its words are the tool's
	Fields map[string]string `json:"fields,omitempty"` // what the program is told, by name
}

// Text returns a Result holding s.
func Text(s string) *Result {
	r := &struct {
		Result
		block [1]llm.Block
	}{block: [1]llm.Block{llm.Text{Text: s}}}
	r.Content = r.block[:]
	return &r.Result
}

// Errorf returns a Result that reports a failure to the model.
func Errorf(format string, args ...any) *Result {
	r := Text(fmt.Sprintf(format, args...))
	r.IsError = true
	return r
}
