// Package permission decides whether a tool call may run. A [Policy] is plain data, so
// you can store, show and compare it.
//
//	p := permission.Policy{
//		Mode:  permission.AcceptEdits,
//		Allow: []permission.Rule{"Bash(go test *)"},
//		Deny:  []permission.Rule{"Bash(rm *)"},
//	}
//	d := p.Decide(request) // d.Behavior, d.Reason, d.Rule
package permission

import (
	"encoding/json"
	"time"
)

// A Mode settles calls that no rule, hook or callback has settled.
type Mode string

const (
	Default     Mode = "default"           // ask before every call that is not read-only
	Plan        Mode = "plan"              // run read-only calls; the rest waits for an approved plan
	AcceptEdits Mode = "acceptEdits"       // like Default, but file edits inside the roots run
	Auto        Mode = "auto"              // run all but the dangerous, which ask
	DontAsk     Mode = "dontAsk"           // deny what would ask
	Bypass      Mode = "bypassPermissions" // ask nothing; deny rules, hooks and callbacks still hold
)

// A Behavior is what is to happen with a call.
type Behavior string

const (
	NoOpinion Behavior = ""      // leave it to the next that decides
	Allowed   Behavior = "allow" //
	Denied    Behavior = "deny"  //
	Asked     Behavior = "ask"   // a person must decide
	Deferred  Behavior = "defer" // suspend the run until somebody decides
)

// A Source says what made a [Decision]: rule, mode, policy (a [Decider]), callback
// (CanUseTool), hook, person (the answer to a question), guard (the doom-loop guard) or
// default (nobody could be asked).
type Source string

// A Decision settles a call and explains itself.
type Decision struct {
	Behavior Behavior        `json:"behavior"`         // allowed, asked, denied or deferred
	Reason   string          `json:"reason,omitempty"` // in words, for the model and for people
	Source   Source          `json:"source,omitempty"` // what decided
	Rule     string          `json:"rule,omitempty"`   // the rule that decided, as it was written
	Origin   string          `json:"origin,omitempty"` // where the rule was written, see [Origin]
	Input    json.RawMessage `json:"input,omitempty"`  // replaces the call's input; judged again
	// By says who decided, in your words: the id of a user, or of a program. Decisions of
	// hooks have the hook's name.
	By string `json:"by,omitempty"`
	// Expires, unless zero, is when the decision ends. A call that an allowance let run
	// before is asked about again if it starts later. A question (ask or defer) that nobody
	// has answered by then is denied.
	Expires time.Time `json:"expires,omitzero"`
	// Interrupt, of a denial, ends the run as an interrupt does: the model is not asked again.
	Interrupt bool `json:"interrupt,omitempty"`
}

// Allow lets a call run.
func Allow() Decision { return Decision{Behavior: Allowed} }

// AllowWith lets a call run with another input, which is judged by the deny rules again.
func AllowWith(input json.RawMessage) Decision { return Decision{Behavior: Allowed, Input: input} }

// Deny refuses a call. The model reads the reason.
func Deny(reason string) Decision { return Decision{Behavior: Denied, Reason: reason} }

// Ask leaves a call to a person.
func Ask(reason string) Decision { return Decision{Behavior: Asked, Reason: reason} }

// Defer suspends the run until somebody decides later, perhaps from another process.
func Defer() Decision { return Decision{Behavior: Deferred} }

// An AccessKind says what is done to the target of an [Access].
type AccessKind string

const (
	ReadFile   AccessKind = "read"  // Target is an absolute path, a file or a folder
	EditFile   AccessKind = "edit"  // Target is an absolute path
	RunCommand AccessKind = "run"   // Target is a shell command line
	FetchURL   AccessKind = "fetch" // Target is a URL
	UseName    AccessKind = "name"  // Target is the plain name of what the tool uses: a skill, a kind of agent, a trigger
)

// An Access is one thing that a call is going to touch. Rules match accesses.
type Access struct {
	Kind   AccessKind `json:"kind"`   // what is done with the target
	Target string     `json:"target"` // an absolute path, a URL or a command line, by Kind
	// Dir is where a command line runs, absolute: a shell has a directory of its
	// own. The Dir of the [Request] if empty.
	Dir string `json:"dir,omitempty"`
	// Once: no rule is suggested that would allow the call from now on, because the
	// target does not say what is allowed.
	Once bool `json:"once,omitempty"`
	// Later: the command line does not run now. The call keeps it, which changes
	// something even where the command only reads.
	Later bool `json:"later,omitempty"`
	// Elsewhere: the command line runs in another file system, such as a container's, whose
	// symlinks cannot be followed here. The line does not count as one that only reads. Read
	// and Edit rules with a pattern that deny or ask cannot be checked for it, and such
	// rules allow no file that it redirects into.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// A Request is a call to be judged.
type Request struct {
	// Session is the session of the call, and Root the one at the root of its tree of
	// agents, "" where Session is it. Agent is the name of the agent that makes the call.
	// Rules do not look at them.
	Session, Root, Agent string

	Tool           string          // its name
	Aliases        []string        // its other names, which rules may use as well
	Input          json.RawMessage // for judges of one's own; rules look at Access alone
	Access         []Access        // what the call touches; nil if the tool does not say
	ReadOnly       bool            // the call changes nothing
	NonDestructive bool            // the tool declares that it destroys nothing
	Confined       bool            // the operating system confines what the call runs
	// WriteProtected are files and folders, absolute and without links, that the operating
	// system keeps a confined call from writing, see [Decider].
	WriteProtected []string
	Unbound        bool     // a [Restriction] does not hold for the call
	Dir            string   // working directory of the call, absolute
	Roots          []string // folders that the agent works in, absolute; Dir alone if nil
}

// A Rule is "Tool" or "Tool(pattern)", as in "Read", "Bash(git *)",
// "Edit(/src/**)", "mcp__github__*" or "WebFetch(domain:example.com)".
type Rule string

// A Policy is the rules of an agent and its mode. Deny beats Ask beats Allow
// beats Mode, whatever the order of the rules. The zero Policy is mode Default
// without rules.
type Policy struct {
	Mode  Mode   `json:"mode,omitempty"`
	Allow []Rule `json:"allow,omitempty"`
	Ask   []Rule `json:"ask,omitempty"`
	Deny  []Rule `json:"deny,omitempty"`
	// AllowConfined lets confined calls run where the mode would ask; rules, and mode
	// Plan, hold for them as for others.
	AllowConfined bool `json:"allowConfined,omitempty"`
	// Private names files and folders, absolute, that belong to the program: no call
	// reads or changes them, what is in them, or files beside them whose names go
	// on with a dot. In mode Bypass, and where they are in no root, a command that
	// may touch them without saying so runs all the same, other than with a Deny rule.
	Private []string `json:"private,omitempty"`
	// Origins say where rules were written, for the decisions that they make.
	Origins []Origin `json:"origins,omitempty"`
	// KnownTools are names of tools that an agent with this policy may lack, such as those
	// of other agents that share it. "*" stands for any text. Rules may name them: other
	// names that nobody knows are an error or a warning.
	KnownTools []string `json:"knownTools,omitempty"`
	// Parents bound the policy: see [Policy.Within].
	Parents []Policy `json:"ceilings,omitempty"`
	// Restriction, unless nil, names the only calls that may run, in every mode.
	Restriction *Restriction `json:"bound,omitempty"`
}

// A Restriction keeps an agent to a list of calls while something, such as a skill, is in
// force. It allows nothing: what it lets pass is judged as ever.
type Restriction struct {
	By string `json:"by"` // what it comes from, for people: "the skill review"
	// Only are the tools that may be called. A rule without a pattern is for the calls
	// of the tool that it names and of no other; one with a pattern for those of its
	// calls that it covers in full: of a command line each simple command, those that
	// only read included, and each file that it redirects into, by an Edit rule. A
	// rule that cannot be read covers nothing.
	Only []Rule `json:"only"`
}

// An Origin says where a rule was written. Of two with one rule the first counts.
type Origin struct {
	Behavior Behavior `json:"behavior"`       // Allowed, Asked or Denied
	Rule     Rule     `json:"rule"`           // as it was written
	From     string   `json:"from,omitempty"` // such as a file with its line, or the name of a flag
}
