package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A phase is how far a call has come.
type phase int

const (
	proposed  phase = iota // needs Authorize
	checking               // is the answer: needs CheckOutput
	asking                 // needs Ask
	allowed                // needs RunTool
	running                // needs RunTool still, but may have had an effect
	waiting                // needs AskPerson
	parked                 // its agent waits for a decision: goes on when the run is resumed
	digesting              // needs Digest
	done                   // needs RunHooks
	gathering              // of a batch: needs GatherResults once its calls have ended
	refused                // its result is known and has to be recorded
	settled                // has its result
)

// A call is a tool call of the last answer.
type call struct {
	id      string // ours: c<seq of the answer>.<index>, and .<number> in a batch
	batch   string // the call that made this one; "" for the model
	parts   []call // of a batch that is not permitted yet
	toolID  string // the provider's
	name    string
	spec    *event.Tool // as it was when the call was made
	attempt int
	crashes int      // how often the program died while it ran
	last    struct { // the key that was made last
		kind, key string
		attempt   int
	}
	phase    phase
	class    tool.Traits
	judged   bool   // class is known
	deferred bool   // whoever judged it leaves the question for later
	sig      uint64 // hash of name and input
	guard    string
	decision permission.Decision // the latest, without input
	verdict  *event.ToolResult   // with refused
	tokens   int                 // of what is to be digested
	started  bool                // the digest
	reserved float64             // for it
}

// key is the key of an effect of the call. It is asked for at every step while the
// effect is wanted.
func (c *call) key(kind string) string {
	if c.last.key == "" || c.last.kind != kind || c.last.attempt != c.attempt {
		c.last.kind, c.last.attempt = kind, c.attempt
		c.last.key = kind + "/" + c.id[1:] + "/" + strconv.Itoa(c.attempt)
	}
	return c.last.key
}

// refuse settles a call that does not run.
func (c *call) refuse(cause event.Cause, fault tool.Fault, format string, args ...any) {
	c.phase = refused
	c.verdict = &event.ToolResult{Call: c.id, Cause: cause, Fault: fault, Result: *tool.Errorf(format, args...)}
}

func (c *call) refusal() event.Fact {
	f := *c.verdict
	f.Key = c.key("result")
	return f
}

// callEffects lets calls run that do not wait for an earlier one.
func (s *State) callEffects(effects []Effect) []Effect {
	var facts []event.Fact
	barrier, keeping, busy := false, false, 0
	for i := range s.calls {
		if s.calls[i].phase == running {
			busy++
		}
	}
	for i := range s.calls {
		c := &s.calls[i]
		switch c.phase {
		case refused:
			facts = append(facts, c.refusal())
		case proposed:
			if !barrier {
				effects = append(effects, Authorize{c.key("authorize"), c.id, s.mode, s.dir, c.guard})
			}
		case checking:
			effects = append(effects, CheckOutput{c.key("output"), c.id})
		case asking:
			if c.id == s.asked && !c.deferred {
				effects = append(effects, Ask{c.key("ask"), c.id})
			}
		case allowed:
			switch {
			case busy >= max(s.cfg.Parallel, 1) || s.blocked(i):
			case !s.keepFirst(c):
				effects = append(effects, s.runTool(c))
				busy++
			case !keeping:
				effects = append(effects, TakeCheckpoint{s.checkpointKey(), s.run.seq, s.dir})
				keeping = true
			}
		case running:
			effects = append(effects, s.runTool(c))
		case waiting:
			if c.id == s.asked {
				effects = append(effects, AskPerson{c.key("answer"), c.id})
			}
		case digesting:
			effects = append(effects, s.digest(c))
		case done:
			effects = append(effects, RunHooks{c.key("hooks"), c.id})
		case gathering:
			if s.gathered(c) {
				effects = append(effects, GatherResults{c.key("gather"), c.id})
			}
		}
		barrier = barrier || c.phase != settled && c.spec.Barrier
	}
	if len(facts) > 0 {
		return record(facts...)
	}
	return effects
}

// pickQuestion chooses the call about which a person is asked: one at a time, in the
// order of the calls, and no question is taken back for another one. It waits for the
// calls that are being judged, so that who leaves questions for later leaves all.
func (s *State) pickQuestion() {
	if c := s.find(s.asked); c != nil && (c.phase == asking || c.phase == waiting) {
		return
	}
	s.asked = ""
	first, barrier := "", false
	for i := range s.calls {
		c := &s.calls[i]
		switch {
		case c.phase == proposed && !barrier:
			return
		case first == "" && (c.phase == asking || c.phase == waiting):
			first = c.id
		}
		barrier = barrier || c.phase != settled && c.spec.Barrier
	}
	s.asked = first
}

// suspendIdle suspends the run at a question that whoever judged the call has left for
// later, or that an agent waits for, once there is nothing else to do: other calls are
// judged and run first.
func (s *State) suspendIdle() {
	c := s.find(s.asked)
	deferred := c != nil && c.deferred && c.phase == asking
	parks := slices.ContainsFunc(s.calls, func(c call) bool { return c.phase == parked })
	if !deferred && !parks || !s.open || s.stop != nil || len(s.hookCalls) > 0 {
		return
	}
	if len(s.callEffects(nil)) == 0 && !s.atWork() {
		s.stop = suspended()
	}
}

func suspended() *event.Stopped {
	return &event.Stopped{Reason: event.Suspended, Message: "a permission question was deferred"}
}

// keepFirst reports whether the files have to be kept before a call starts.
func (s *State) keepFirst(c *call) bool {
	return s.cfg.Checkpoints && !s.run.kept && !c.class.ReadOnly && !c.class.Internal
}

func (s *State) checkpointKey() string { return key("checkpoint", s.run.seq, 0, 0) }

// left says how far a call had come that is not going on.
func (c *call) left() string {
	switch c.phase {
	case waiting:
		return "not answered"
	case parked:
		return "not finished"
	}
	return "not started"
}

func (s *State) runTool(c *call) Effect { return RunTool{c.key("tool"), c.id, s.mode, s.dir} }

// blocked reports whether call i has to wait for an earlier one that it may
// depend on.
func (s *State) blocked(i int) bool {
	c := &s.calls[i]
	for k := range i {
		if e := &s.calls[k]; e.phase != settled && e.phase != gathering && (!e.judged || conflict(e.class, c.class)) {
			return true
		}
	}
	return false
}

// conflict reports whether the order of two calls may matter.
func conflict(a, b tool.Traits) bool {
	if a.ReadOnly && b.ReadOnly || a.RunsSubagents && b.RunsSubagents {
		return false
	}
	if a.Touches == nil || b.Touches == nil {
		return true
	}
	return slices.ContainsFunc(a.Touches, func(x string) bool {
		return slices.ContainsFunc(b.Touches, func(y string) bool { return overlap(x, y) })
	})
}

// overlap reports whether two resources are the same or one is a folder that
// holds the other, in the paths of any system.
func overlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if !strings.HasPrefix(b, a) {
		return false
	}
	return len(a) == len(b) || strings.HasSuffix(a, "/") || strings.HasSuffix(a, `\`) || b[len(a)] == '/' || b[len(a)] == '\\'
}

// propose makes calls of the tool uses of an answer.
func (s *State) propose(seq int64, f event.AssistantMessage) {
	content := f.Response.Message.Content
	last := len(content) - 1
	s.repeated, s.repeats = s.repeats, nil
	s.calls = s.calls[:0]
	n := 0
	for at, b := range content {
		u, isUse := b.(llm.ToolUse)
		if !isUse {
			continue
		}
		c := &call{id: callID(seq, n), toolID: u.ID}
		n++
		if s.answersBy(u) {
			c.name, c.spec, c.phase, c.judged = OutputTool, new(event.Tool), checking, true
		} else {
			s.resolveTool(c, u)
		}
		switch cut := truncated(f.Response.Stop) && at == last; {
		case f.Response.Stop == llm.Refusal:
			c.refuse(event.ByCancel, tool.NoFault, "not run: the model's answer was refused")
		case cut:
			c.refuse(event.ByTruncated, tool.NoFault, "not run: your answer was cut off inside this call at the limit of output tokens. Send it again, in smaller pieces if it is long.")
		case c.phase == proposed && c.spec.Batch:
			s.proposeBatch(c, u)
		}
		s.calls = append(s.calls, *c)
	}
}

// resolveTool finds the tool of a call, and what speaks against the call from the start.
func (s *State) resolveTool(c *call, u llm.ToolUse) {
	name, ok := s.tools().resolve(u.Name)
	c.name, c.spec = name, s.tools().find(name)
	c.sig = signature(u)
	again := s.repeated[c.sig] + 1
	put(&s.repeats, c.sig, again)
	faults := s.faults[name]
	switch {
	case again >= doomRepeats:
		c.guard = fmt.Sprintf("the same call of %s with the same input was made in %d answers in a row", u.Name, again)
	case faults >= doomFaults:
		c.guard = fmt.Sprintf("%s has failed %d times in a row", u.Name, faults)
	}
	switch {
	case !ok:
		c.refuse(event.ByAbsence, tool.NoFault, "there is no tool %q%s", u.Name, s.nearest(u.Name))
		s.stopRepeatedCall(c, "there is no such tool")
	case u.Invalid != "":
		c.refuse(event.ByTool, tool.InvalidInput, "invalid input: it is not valid JSON: %s", text.Bytes(u.Invalid, 200))
		s.stopRepeatedCall(c, "the input is not valid JSON")
	}
}

// nearest names the tool that an unknown name was probably meant to be.
func (s *State) nearest(name string) string {
	var names []string
	for _, t := range s.cfg.Tools {
		if slices.Contains(t.Replaces, name) {
			return fmt.Sprintf("; use %s", t.Name)
		}
		names = append(names, t.Name)
	}
	if best := tool.Nearest(name, names); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return ""
}

// judge applies a decision to a call that waits for one.
func (s *State) judge(c *call, d permission.Decision) {
	asked := c.decision
	c.decision = d
	c.decision.Input = nil
	switch d.Behavior {
	case permission.Allowed:
		c.phase = allowed
		if c.guard != "" { // somebody has looked at it
			delete(s.repeats, c.sig)
			delete(s.faults, c.name)
		}
		if c.spec.Batch {
			s.startBatch(c, d.Input)
		}
	case permission.Asked:
		c.phase = asking
	case permission.Deferred:
		c.phase = asking
		if d.Reason == "" && asked.Behavior == permission.Asked {
			c.decision = asked // why it is asked about still holds
		}
		s.stop = suspended()
	default:
		s.deny(c, d)
	}
}

func (s *State) deny(c *call, d permission.Decision) {
	s.deniedPoint(c, d.Reason)
	nobody := d.Source == permission.FromDefault
	s.run.denials = append(s.run.denials, event.Denial{Call: c.id, ToolID: c.toolID, Tool: c.name,
		Reason: d.Reason, Rule: d.Rule, Origin: d.Origin, Source: d.Source, Nobody: nobody})
	switch {
	case nobody && c.guard != "":
		s.run.end, s.run.doom = event.DoomLoop, d.Reason
	case d.Source != permission.FromPerson:
		s.stopRepeatedCall(c, d.Reason)
	}
	reason := d.Reason
	if reason == "" {
		reason = "not allowed"
	}
	c.refuse(event.ByDenial, tool.Refused, "Permission denied: %s", reason)
}

// stopRepeatedCall lets the run end when a call that should be asked about is refused
// without a person: the model would go on with it for ever.
func (s *State) stopRepeatedCall(c *call, why string) {
	if c.guard != "" {
		s.run.end, s.run.doom = event.DoomLoop, c.guard+": "+why
	}
}

// ran reports whether a call that gets its result now was made: also one that was
// cancelled, or given up, after its start.
func (c *call) ran(cause event.Cause) bool {
	switch cause {
	case event.ByTool, event.ByCrash:
		return true
	case event.ByCancel:
		return c.phase >= running && c.phase < gathering
	}
	return false
}

// recordResult gives a call its result, and ends the batch when it was the last one.
func (s *State) recordResult(c *call, seq int64, f event.ToolResult) {
	ran := c.ran(f.Cause)
	c.phase = settled
	if f.Fault != tool.NoFault {
		put(&s.faults, c.name, s.faults[c.name]+1)
	} else if f.Cause == event.ByTool {
		delete(s.faults, c.name)
	}
	s.settledPoints(c, seq, f)
	p := f.Result.Patch
	if p.Mode != "" {
		s.mode = p.Mode
	}
	if p.Dir != "" {
		s.dir = p.Dir
	}
	if ran {
		s.run.used(c.name, f)
	}
	for _, name := range p.Enable {
		s.size.added += s.found[name]
		delete(s.found, name)
	}
	if p.Begin != nil {
		s.beginScope(*p.Begin, false)
	} else if p.End {
		s.endScope()
	}
	if p.EndRun {
		s.run.end, s.run.toolText = event.ToolEnded, f.Result.Text()
	}
	if f.Stop != "" && s.stop == nil {
		s.stop = &event.Stopped{Reason: event.HookStopped, Message: f.Stop}
	}
	if c.batch == "" {
		tokens := contentTokens(f.Result.Content)
		s.size.add(tokens)
		s.produced(c, tokens, &f.Result)
	}
	for i := range s.calls {
		if s.calls[i].phase != settled {
			return
		}
	}
	s.calls = s.calls[:0]
	if s.run.end != "" {
		s.need = need{kind: needEnd, reason: s.run.end, msg: s.run.doom}
		return
	}
	if s.need.kind != needEnd {
		s.wantModel(seq)
		if s.fires(hook.PostToolBatch) {
			s.callHooks(CallHooks{key: key("batch", seq, 0, 0), Event: hook.PostToolBatch})
		}
	}
}

func (s *State) find(id string) *call {
	for i := range s.calls {
		if s.calls[i].id == id {
			return &s.calls[i]
		}
	}
	return nil
}

// signature tells calls apart, by the FNV-1a hash of what they say. Inputs that
// differ in space alone are the same.
func signature(u llm.ToolUse) uint64 {
	h := fnv(fnv(14695981039346656037, u.Name), "\x00")
	quoted := false
	for i := 0; i < len(u.Input); i++ {
		switch c := u.Input[i]; {
		case c == '\\' && i+1 < len(u.Input):
			h = (h ^ uint64(c)) * fnvPrime
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		h = (h ^ uint64(u.Input[i])) * fnvPrime
	}
	return fnv(h, u.Invalid)
}

const fnvPrime = 1099511628211

func fnv(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// callID makes our own id of a call: providers repeat theirs.
func callID(seq int64, index int) string {
	b := strconv.AppendInt(append(make([]byte, 0, 24), 'c'), seq, 10)
	return string(strconv.AppendInt(append(b, '.'), int64(index), 10))
}
