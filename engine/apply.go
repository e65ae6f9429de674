package engine

import (
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Apply takes a fact into the state. It reports whether the fact counted: those
// that the state does not wait for, such as a second result of one effect, are
// ignored.
func (s *State) Apply(e event.Event) bool {
	if s.known == nil {
		s.known, s.repeats, s.seen, s.faults = map[string]bool{}, map[uint64]int{}, map[uint64]int{}, map[string]int{}
	}
	waiting := s.model.wait
	counted := s.apply(e)
	if counted && s.open {
		s.turnedBack(e.Time, waiting)
		s.run.last = e.Time
		s.pickQuestion()
		s.suspendIdle()
	}
	return counted
}

// turnedBack moves what the run has of times when a fact is older than the one
// before: the clock was set back, as can be between a crash and the resumption.
// Without this a run would wait, and last, longer by as much. waiting is the wait
// from before the fact.
func (s *State) turnedBack(now time.Time, waiting *wait) {
	back := s.run.last.Sub(now)
	if back <= 0 {
		return
	}
	s.run.began = s.run.began.Add(-back)
	if waiting != nil && waiting == s.model.wait {
		s.model.wait = &wait{waiting.key, waiting.until.Add(-back)}
	}
}

func (s *State) apply(e event.Event) bool {
	switch f := e.Data.(type) {
	case event.Configured:
		return s.configure(f)
	case event.UserMessage:
		return s.message(e, f)
	case event.Delivered:
		return s.deliver(e.Seq, f)
	case event.ModelStart:
		return s.modelStart(f)
	case event.AssistantMessage:
		return s.answered(e.Seq, f)
	case event.ModelFailed:
		return s.modelFailed(e.Seq, f)
	case event.CompactionRequested:
		return s.compactionRequested(e, f)
	case event.Compacted:
		return s.compacted(e.Seq, f)
	case event.Waited:
		return s.waited(f)
	case event.Authorized:
		return s.authorized(f)
	case event.Answered:
		return s.personAnswered(f)
	case event.Checkpointed:
		return s.checkpointed(f)
	case event.ToolStart:
		return s.toolStart(f)
	case event.ToolDone:
		return s.toolDone(f)
	case event.ToolAmended:
		return s.toolAmended(f)
	case event.ToolResult:
		return s.toolResult(e.Seq, f)
	case event.ModeChanged:
		s.mode = f.Mode
		return true
	case event.ModelChanged:
		return s.modelChanged(f)
	case event.FallbacksChanged:
		return s.fallbacksChanged(f)
	case event.BudgetChanged:
		return s.budgetChanged(f)
	case event.CallbackChanged:
		return true
	case event.ToolChanged:
		return s.toolChanged(f)
	case event.ToolsChanged:
		return s.toolsChanged(f)
	case event.Stopped:
		return s.stopped(f)
	case event.Resumed:
		return s.resumed(e.Seq, f)
	case event.Hooked:
		return s.hooked(f)
	case event.OutputChecked:
		return s.outputChecked(f)
	case event.PermissionsChanged:
		return s.permissionsChanged(f)
	case event.AgentStart:
		return s.agentStart(f)
	case event.AgentEnd:
		return s.agentEnd(f)
	case event.RunEnd:
		return s.runEnded(f)
	case event.Rewound:
		return true
	}
	return false
}

func (s *State) configure(f event.Configured) bool {
	if s.open {
		return false
	}
	s.added = nil
	for _, dir := range f.Roots {
		if len(s.cfg.Roots) > 0 && !slices.Contains(s.cfg.Roots, dir) {
			s.added = append(s.added, dir)
		}
	}
	if f.Start != "" { // what was allowed was allowed to another program
		s.rules.Allow = nil
	}
	fixed := textTokens(f.System)
	if f.Output != nil {
		fixed += textTokens(f.Output.Schema)
	}
	s.found = nil
	for i := range f.Tools {
		t := &f.Tools[i]
		tokens := specTokens(t)
		if !t.Deferred {
			fixed += tokens
			continue
		}
		if s.found == nil {
			s.found = map[string]int{}
		}
		s.found[t.Name] = tokens
	}
	s.size.configured(fixed)
	f.System = ""
	s.cfg, s.mode, s.dir = f, f.Mode, f.Dir
	return true
}

func (s *State) message(e event.Event, f event.UserMessage) bool {
	if s.known[f.ID] {
		return false
	}
	tokens := contentTokens(f.Message.Content)
	switch f.Delivery {
	case event.AsPrompt:
		if s.open || len(s.calls) > 0 {
			return false
		}
		s.begin(e)
		s.wantModel(e.Seq)
		s.beginPoints(e.Seq, &f)
		s.loaded = nil
		if x := f.Expansion; x != nil && x.Scope != nil {
			s.beginScope(*x.Scope, true)
		}
	case event.AsContinue:
		if !s.open || s.need.kind != needContinue {
			return false
		}
		s.run.continuing = s.need.msg == ""
		s.wantModel(e.Seq)
	default:
		s.known[f.ID] = true
		s.loaded = append(s.loaded, f.Instructions...)
		if s.open {
			s.loadedPoints(e.Seq, 0)
		}
		s.queue = append(s.queue, queued{id: f.ID, delivery: f.Delivery, tokens: tokens, seq: e.Seq})
		return true
	}
	s.known[f.ID] = true
	s.size.add(tokens)
	return true
}

// begin opens a run.
func (s *State) begin(e event.Event) {
	s.open, s.stop, s.need = true, nil, need{}
	s.run = run{seq: e.Seq, began: e.Time, last: e.Time, models: map[string]event.Spending{}, tools: map[string]event.ToolUse{}}
	if s.cfg.Output != nil {
		s.run.answer = &answer{want: *s.cfg.Output}
	}
	s.settleOwed()
	s.model.fallback = 0
	clear(s.repeats)
	clear(s.faults)
	s.points = s.points[:0]
	s.endScopes()
	if c := s.compact; c != nil {
		c.misses, c.skip, c.overflow, c.recovered = 0, 0, false, false
	}
}

func (s *State) deliver(seq int64, f event.Delivered) bool {
	delivered := false
	s.queue = slices.DeleteFunc(s.queue, func(q queued) bool {
		if !slices.Contains(f.IDs, q.id) {
			return false
		}
		s.size.add(q.tokens)
		if q.delivery == event.AsFollowUp {
			s.endScopes() // what the user asked for before is done
		}
		delivered = true
		return true
	})
	if delivered {
		s.run.continuing, s.run.compacts = false, false
		s.wantModel(seq)
	}
	return delivered
}

// wantModel makes a new model call wanted.
func (s *State) wantModel(cause int64) {
	s.anew()
	if a := s.run.answer; a != nil {
		a.output, a.judged = nil, false
		if s.run.end == event.Completed { // by an answer that is not the last
			s.run.end = ""
		}
	}
	s.need = need{kind: needModel}
	s.model.cause, s.model.attempt, s.model.tries = cause, 0, 0
	s.model.calling, s.model.wait, s.model.changed = false, nil, false
}

func (s *State) modelKey() string {
	return s.model.keys.get("model", s.model.cause, 0, s.model.attempt)
}

func (s *State) modelStart(f event.ModelStart) bool {
	switch {
	case f.Call != "":
		return s.digestStart(f)
	case f.Compacts != "":
		return s.compactionStarted(f)
	}
	if !s.open || s.model.calling || s.compact != nil && s.compact.doing != "" || f.Key != s.modelKey() || s.need.kind != needModel || len(s.calls) > 0 {
		return false
	}
	s.model.calling, s.model.wait, s.model.reserved = true, nil, f.ReservedUSD
	s.run.modelCalls++
	return true
}

func (s *State) answered(seq int64, f event.AssistantMessage) bool {
	if !s.open || !s.model.calling || f.Key != s.modelKey() {
		return false
	}
	r := f.Response
	s.model.calling = false
	s.answers++
	if s.compact != nil && r.Stop != llm.Overflow {
		s.compact.recovered = false
		if r.Usage.Context() > s.compact.windows[f.Model] {
			delete(s.compact.windows, f.Model)
		}
	}
	s.run.turns++
	s.run.api += f.Duration
	if s.run.first == 0 {
		s.run.first = s.run.last.Sub(s.run.began) + f.First
	}
	s.spend(f.Model, r.Usage, f.CostUSD)
	s.size.answered(f.Model, r)
	text := r.Message.Text()
	if a := s.run.answer; a != nil {
		a.part = text
	}
	if s.run.continuing {
		text = s.run.text + text
	}
	s.run.text, s.run.partial, s.run.continuing = text, "", r.Stop == llm.PauseTurn

	s.need = s.after(r)
	s.propose(seq, f)
	if len(s.calls) == 0 && s.need.kind == needModel {
		s.wantModel(seq)
	}
	s.model.cause, s.model.attempt = seq, 0
	return true
}

// after says what an answer without open calls leads to.
func (s *State) after(r llm.Response) need {
	if !truncated(r.Stop) {
		s.run.continuations = 0
	}
	if r.Stop != llm.PauseTurn {
		s.run.pauses = 0
	}
	switch {
	case r.Stop == llm.Refusal:
		return need{kind: needEnd, reason: event.Refused, msg: "the model refused to answer"}
	case r.Stop == llm.Overflow && s.overflowed(true):
		if s.run.continuations++; s.run.continuations > maxContinuations {
			return need{kind: needEnd, reason: event.MaxTokens}
		}
		return need{kind: needContinue}
	case r.Stop == llm.Overflow:
		return need{kind: needEnd, reason: event.ContextOverflow, msg: "the context window is full", class: llm.TooLong}
	case r.Stop == llm.MaxTokens:
		if s.run.continuations++; s.run.continuations > maxContinuations {
			return need{kind: needEnd, reason: event.MaxTokens}
		}
		return need{kind: needContinue}
	case r.Stop == llm.PauseTurn:
		if s.run.pauses++; s.run.pauses > maxPauses {
			return need{kind: needEnd, reason: event.ModelError, class: llm.Protocol,
				msg: "the provider paused the turn too often in a row"}
		}
		return need{kind: needModel}
	case slices.ContainsFunc(r.Message.Content, isToolUse):
		return need{kind: needModel}
	}
	return need{kind: needEnd, reason: event.Completed}
}

func isToolUse(b llm.Block) bool {
	_, ok := b.(llm.ToolUse)
	return ok
}

// truncated reports whether an answer may have ended inside a block.
func truncated(stop llm.StopReason) bool { return stop == llm.MaxTokens || stop == llm.Overflow }

func (s *State) modelFailed(seq int64, f event.ModelFailed) bool {
	if c := s.compact; s.open && c != nil && c.calling && f.Key == s.compactionKey(c.cause) {
		return s.summaryFailed(seq, f)
	}
	if !s.open || !s.model.calling || f.Key != s.modelKey() {
		return false
	}
	s.model.calling = false
	s.model.attempt++
	s.model.tries++
	s.run.api += f.Duration
	s.run.partial = f.Partial
	if f.Usage != (llm.Usage{}) {
		s.spend(f.Model, f.Usage, f.CostUSD)
		if f.CostUSD != nil { // the usage is an estimate, the budget a bound
			s.run.lost += max(0, s.model.reserved-*f.CostUSD)
		}
	}
	switch {
	case s.stop != nil:
	case s.model.changed: // another one is wanted meanwhile
		s.model.changed, s.model.tries = false, 0
	case f.Retry && s.model.tries <= s.cfg.Retries:
		s.model.wait = &wait{key("wait", seq, 0, 0), f.RetryAt}
	case s.fallBack(f):
	case (f.Class == llm.TooLong || f.Class == llm.TooLarge) && s.overflowed(f.Class == llm.TooLong):
	case f.Class == llm.TooLong, f.Class == llm.TooLarge && s.compact != nil && s.compact.recovered:
		s.need = need{needEnd, event.ContextOverflow, f.Message, f.Class, f.Status, f.RequestID}
	default:
		s.need = need{needEnd, event.ModelError, f.Message, f.Class, f.Status, f.RequestID}
	}
	return true
}

// fallBack moves on to the next fallback model, if another model can help.
func (s *State) fallBack(f event.ModelFailed) bool {
	switch f.Class {
	case llm.TooLong, llm.TooLarge, llm.Invalid, llm.Auth, llm.Forbidden, llm.TLS:
		return false
	}
	for s.model.fallback < len(s.cfg.Fallbacks) {
		s.model.fallback++
		if s.Model() != f.Model {
			s.model.tries = 0
			return true
		}
	}
	return false
}

func (s *State) waited(f event.Waited) bool {
	switch {
	case !s.open:
		return false
	case s.model.wait != nil && f.Key == s.model.wait.key:
		s.model.wait = nil
		return true
	case s.cfg.Limits.Time > 0 && !s.run.rang && f.Key == s.alarmKey():
		s.run.rang = true
		if s.stop == nil || s.stop.Reason == event.Suspended {
			s.stop = &event.Stopped{Reason: event.TimedOut, Message: "the time limit of " + s.cfg.Limits.Time.String() + " is over"}
		}
		return true
	}
	return false
}

func (s *State) authorized(f event.Authorized) bool {
	c := s.find(f.Call)
	if !s.open || s.stop != nil || c == nil || c.phase != proposed || f.Key != c.key("authorize") {
		return false
	}
	c.class, c.judged = f.Class, true
	if f.Invalid != "" {
		c.refuse(event.ByTool, tool.InvalidInput, "%s", f.Invalid)
		s.doom(c, "the input is invalid")
	} else if f.Decision.Behavior == permission.Deferred {
		c.decision, c.phase, c.deferred = f.Decision, asking, true
		c.decision.Input = nil
	} else {
		s.judge(c, f.Decision)
	}
	if f.Stop != "" && s.stop == nil {
		s.stop = &event.Stopped{Reason: event.HookStopped, Message: f.Stop}
	}
	return true
}

func (s *State) personAnswered(f event.Answered) bool {
	c := s.find(f.Call)
	if s.stop != nil || c == nil || c.phase != asking || f.Key != c.key("ask") {
		return false
	}
	if !s.open && f.Decision.Behavior == permission.Deferred {
		return false // it waits already
	}
	if f.Decision.Behavior == permission.Asked { // asking is not an answer
		f.Decision = permission.Decision{Behavior: permission.Denied, Reason: "nobody decided", Source: permission.FromDefault}
	}
	if f.Class != nil {
		c.class = *f.Class
	}
	s.judge(c, f.Decision)
	return true
}

func (s *State) checkpointed(f event.Checkpointed) bool {
	if !s.open || s.stop != nil || s.run.kept || f.Key != s.checkpointKey() {
		return false
	}
	s.run.kept = true
	return true
}

func (s *State) toolStart(f event.ToolStart) bool {
	c := s.find(f.Call)
	if !s.open || s.stop != nil || c == nil || c.phase != allowed || f.Key != c.key("tool") {
		return false
	}
	c.phase = running
	return true
}

func (s *State) toolDone(f event.ToolDone) bool {
	c := s.find(f.Call)
	switch {
	case !s.open || c == nil:
		return false
	case c.phase == running && f.Key == c.key("tool"):
	case c.phase == gathering && s.gathered(c) && f.Key == c.key("gather"):
	default:
		return false
	}
	switch {
	case len(f.Result.Questions) > 0:
		c.phase = waiting
	case f.Digest != "" && s.cfg.Small != "" && s.stop == nil:
		c.phase, c.tokens = digesting, textTokens(f.Digest)+contentTokens(f.Result.Content)
		if _, _, ok := s.reserveDigest(c); !ok {
			c.phase = done
		}
	default:
		c.phase = done
	}
	return true
}

func (s *State) digestStart(f event.ModelStart) bool {
	c := s.find(f.Call)
	if !s.open || c == nil || c.phase != digesting || c.started || f.Key != c.key("digest") {
		return false
	}
	c.started, c.reserved = true, f.ReservedUSD
	s.run.modelCalls++
	return true
}

// toolAmended takes a person's answers or the small model's digest.
func (s *State) toolAmended(f event.ToolAmended) bool {
	c := s.find(f.Call)
	switch {
	case !s.open || c == nil:
		return false
	case c.phase == waiting && f.Key == c.key("answer"):
	case c.phase == digesting && f.Key == c.key("digest"):
		switch {
		case f.Model != "" && f.Usage != (llm.Usage{}):
			s.spend(f.Model, f.Usage, f.CostUSD)
		case c.started: // it failed: what it can have cost counts
			s.run.lost += c.reserved
		}
		c.started = false
	default:
		return false
	}
	c.phase = done
	return true
}

func (s *State) toolResult(seq int64, f event.ToolResult) bool {
	c := s.find(f.Call)
	if !s.open || c == nil {
		return false
	}
	kind := "result"
	switch {
	case c.phase == running, c.phase == allowed && s.stop == nil && f.Cause == event.ByDenial:
		kind = "tool"
	case c.phase == done:
		kind = "hooks"
	case c.phase == gathering && s.gathered(c):
		kind = "gather"
	case c.phase != refused && (s.stop == nil || c.phase > running && c.phase != waiting):
		return false
	}
	if f.Key != c.key(kind) {
		return false
	}
	if kind == "tool" && f.Cause == event.ByDenial { // denied when judged again
		s.deniedPoint(c, f.Result.Text())
		s.run.denials = append(s.run.denials, event.Denial{Call: c.id, ToolID: c.toolID, Tool: c.name, Reason: f.Result.Text(), Source: permission.FromRule})
	}
	s.settle(c, seq, f)
	return true
}

func (s *State) modelChanged(f event.ModelChanged) bool {
	s.cfg.Model, s.cfg.Thinking = f.Model, f.Thinking
	s.know(f.Model, f.Info)
	if f.MaxTokens > 0 {
		s.cfg.MaxTokens = f.MaxTokens
	}
	for i := range s.scopes {
		s.scopes[i].Model = "" // the host's word counts
	}
	s.model.fallback, s.model.tries = 0, 0
	s.model.changed = s.model.calling // what is under way is the other one's
	return true
}

// fallbacksChanged takes other fallback models. One that is in use stays in use as
// long as it is one of them.
func (s *State) fallbacksChanged(f event.FallbacksChanged) bool {
	moved := func(n int) int {
		if n == 0 || n > len(s.cfg.Fallbacks) {
			return 0
		}
		return slices.Index(f.Fallbacks, s.cfg.Fallbacks[n-1]) + 1
	}
	was := s.model.fallback
	s.model.fallback = moved(was)
	if was > 0 && s.model.fallback == 0 {
		s.model.tries, s.model.changed = 0, s.model.calling
	}
	s.scopes = slices.Clone(s.scopes)
	for i := range s.scopes {
		s.scopes[i].fallback = moved(s.scopes[i].fallback)
	}
	s.cfg.Fallbacks = f.Fallbacks
	for _, name := range f.Fallbacks {
		s.know(name, f.Models[name])
	}
	return true
}

// budgetChanged takes another budget. Agents at work share what it leaves: those that
// were not bounded get a part, and parts that are more than what is left shrink.
func (s *State) budgetChanged(f event.BudgetChanged) bool {
	if !s.open {
		return false
	}
	if f.Limits.Time != s.cfg.Limits.Time {
		s.run.alarms++
	}
	s.cfg.Limits = f.Limits
	s.agents = slices.Clone(s.agents)
	if l := f.Limits.USD; l > 0 {
		left, sum := max(0, l-s.run.cost-s.run.lost), 0.0
		for i := range s.agents {
			a := &s.agents[i]
			if a.ReservedUSD == 0 {
				a.ReservedUSD = left / float64(len(s.agents)+1)
			}
			sum += a.ReservedUSD
		}
		for i := range s.agents {
			if a := &s.agents[i]; sum > left {
				a.ReservedUSD *= left / sum
			}
		}
	}
	if l := f.Limits.ModelCalls; l > 0 {
		left, sum := max(0, l-s.run.modelCalls), 0
		for i := range s.agents {
			a := &s.agents[i]
			if a.ModelCalls == 0 {
				a.ModelCalls = left / (len(s.agents) + 1)
			}
			sum += a.ModelCalls
		}
		for i := range s.agents {
			if a := &s.agents[i]; sum > left {
				a.ModelCalls = a.ModelCalls * left / sum
			}
		}
	}
	return true
}

// toolChanged puts a tool in the place of the one of its name. Calls that were
// proposed before go on with what the old one said of itself.
func (s *State) toolChanged(f event.ToolChanged) bool {
	tools, old, ok := s.tools().replace(f.Tool)
	if !ok {
		return false
	}
	s.cfg.Tools = tools
	if _, hidden := s.found[f.Tool.Name]; hidden {
		s.found[f.Tool.Name] = specTokens(&f.Tool)
	} else {
		s.size.configured(s.size.fixed - specTokens(&old) + specTokens(&f.Tool))
	}
	return true
}

// toolsChanged takes another list of tools. Those that were found stay found.
func (s *State) toolsChanged(f event.ToolsChanged) bool {
	if !s.open {
		return false
	}
	old, hidden := s.tools(), s.found
	fixed := textTokens(f.System)
	s.found = map[string]int{}
	for i := range f.Tools {
		t := &f.Tools[i]
		_, unfound := hidden[t.Name]
		if t.Deferred && (unfound || old.find(t.Name).Name == "") {
			s.found[t.Name] = specTokens(t)
			continue
		}
		fixed += specTokens(t)
	}
	s.size.configured(fixed)
	s.cfg.Tools = f.Tools
	return true
}

func specTokens(t *event.Tool) int {
	return textTokens(t.Name) + textTokens(t.Description) + textTokens(t.Input)
}

func (s *State) stopped(f event.Stopped) bool {
	if !s.open && len(s.calls) == 0 {
		return false
	}
	waiting := len(s.queue)
	s.queue = slices.DeleteFunc(s.queue, func(q queued) bool { return slices.Contains(f.Cleared, q.id) })
	if s.stop != nil && s.stop.Reason != event.Suspended {
		return len(s.queue) < waiting
	}
	if !s.open {
		s.anew()
	}
	s.open, s.stop = true, &f
	return true
}

// resumed goes on after a crash or a suspension. What was under way when the
// program died is settled: a model call is made again, a call that only reads
// or is idempotent is repeated, any other is reported to the model as unknown.
func (s *State) resumed(seq int64, f event.Resumed) bool {
	if !s.open && len(s.calls) == 0 {
		return false
	}
	if !s.open {
		s.open, s.stop = true, nil
		s.anew()
	}
	s.cfg.Hooks = f.Hooks
	s.points = slices.DeleteFunc(s.points, func(p Fire) bool { return !s.fires(p.Event) })
	s.startPoint(key("hook", seq, 0, 0), f.Start)
	if s.stop != nil && s.stop.Reason == event.Suspended {
		s.stop = nil
	}
	if s.model.calling {
		s.model.calling = false
		s.model.attempt++
		s.run.lost += s.model.reserved
	}
	if c := s.compact; c != nil && c.calling {
		c.calling = false
		c.attempt++
		s.run.lost += c.reserved
	}
	for i := range s.calls {
		c := &s.calls[i]
		switch {
		case c.phase == running && !(c.class.ReadOnly || c.spec.Idempotent):
			c.refuse(event.ByCrash, tool.NoFault, "The program was cut short while this call ran. Whether it took effect is not known: check before you do it again.")
		case c.phase == running:
			c.phase = allowed
			c.attempt++
		case c.phase == asking, c.phase == waiting:
			c.attempt++
			c.deferred = false
		case c.phase == digesting && c.started:
			s.run.lost += c.reserved
			c.started = false
			c.attempt++
		}
	}
	return true
}

func (s *State) runEnded(f event.RunEnd) bool {
	if !s.open {
		return false
	}
	if f.Reason != event.Suspended && (s.stop == nil || s.stop.Reason != event.Suspended) {
		s.calls = s.calls[:0]
	}
	s.open, s.stop, s.points = false, nil, s.points[:0]
	s.model.calling, s.model.wait = false, nil
	if c := s.compact; c != nil {
		c.wish.seq, c.doing, c.calling, c.overflow = 0, "", false, false
		c.less, c.tries = 0, 0
		c.attempt++
	}
	return true
}
