package view

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// A fold is what a State keeps to apply the next event.
type fold struct {
	facts []event.Event     // all that were applied, also those that a rewind took away
	views map[string]*State // of agents by their session; they outlive a rewind
	notes int               // notices that are not on record

	answers map[string]*Item // that are not complete, by the key of the model call
	open    *Item            // the newest of them
	calls   map[string]*Item // by id
	writing map[string]*Item // calls that the model writes, by the provider's id
	gap     bool             // pieces of inputs are missing
	queued  map[string]*Item // messages by id
	agents  map[string]*Item // by key
	latest  map[string]*Item // the newest of an agent, by session
	jobs    map[string]*Item // calls by the id of the command
	windows map[string]int   // of models
	side    map[string]bool  // keys of model calls for a summary or a digest
	run     run
}

// Apply changes the state by the next event of the session. It ignores a fact that it has
// seen. It does not copy or change the event, and keeps parts of it. A delta takes the same
// time in a long session as in a short one.
func (s *State) Apply(e event.Event) {
	if _, ok := e.Data.(event.Fact); !ok {
		s.apply(e)
		return
	}
	n := len(s.facts)
	if n > 0 && e.Seq <= s.facts[n-1].Seq {
		return
	}
	e.Data = slim(e.Data)
	s.facts = append(s.facts, e)
	if _, ok := e.Data.(event.Rewound); ok && n > 0 && s.facts[n-1].Seq != e.Prev {
		s.rebuild()
		return
	}
	s.apply(e)
}

// slim returns a fact without what no item needs.
func slim(d event.Data) event.Data {
	switch d := d.(type) {
	case fact.Configured:
		return fact.Configured{Model: d.Model, Models: d.Models, Mode: d.Mode, Start: d.Start}
	case fact.ToolsChanged:
		return fact.ToolsChanged{}
	case fact.ToolChanged:
		return fact.ToolChanged{}
	}
	return d
}

// rebuild applies the facts that lead to the last one.
func (s *State) rebuild() {
	was := s.fold
	*s = State{Version: s.Version, fold: fold{facts: was.facts, views: was.views, notes: was.notes}}
	for _, e := range path(s.facts) {
		s.apply(e)
	}
	s.Version++
}

// path returns the facts that lead to the last one, in order. If the fact that one follows is
// missing, the one before counts.
func path(facts []event.Event) []event.Event {
	var back []event.Event
	for i := len(facts) - 1; i >= 0; {
		e := facts[i]
		back = append(back, e)
		i = sort.Search(i, func(j int) bool { return facts[j].Seq > e.Prev }) - 1
	}
	slices.Reverse(back)
	return back
}

// apply changes the state by one event. An event that the switch does not list is not known.
func (s *State) apply(e event.Event) (known bool) {
	if _, ok := e.Data.(event.Fact); ok {
		s.run.advance(e.Time)
	}
	switch d := e.Data.(type) {
	case fact.Configured:
		s.configured(e, d)
	case event.UserMessage:
		s.message(e, d)
	case fact.Delivered:
		for _, id := range d.IDs {
			s.deliver(id, true)
		}
	case fact.Stopped:
		for _, id := range d.Cleared {
			s.deliver(id, false)
		}
	case fact.Retracted:
		for _, id := range d.IDs {
			s.deliver(id, false)
		}
	case fact.CompactionRequested:
		s.begin(e)
	case event.Resumed:
		s.resumed(e, d)
	case event.RunEnd:
		s.ended(e, d)
	case event.Rewound:
		s.notice(e, "rewound: the conversation continues from here")

	case fact.ModelStart:
		s.modelStart(e, d)
	case event.TextDelta:
		s.text(e, d)
	case event.ThinkingDelta:
		it, a := s.answer(e, d.Key, "")
		a.thinking.WriteString(d.Text)
		s.touch(it)
	case event.AssistantMessage:
		s.answered(e, d)
	case event.ModelFailed:
		s.modelFailed(e, d)
	case event.Missed:
		s.gap = true

	case event.ToolInputDelta:
		s.inputDelta(e, d)
	case event.ToolProgress:
		s.toolProgress(e, d)
	case fact.Authorized:
		s.decided(e, d.Call, d.Decision, false)
	case fact.Answered:
		s.decided(e, d.Call, d.Decision, true)
	case event.PermissionRequest:
		s.permissionRequest(e, d)
	case event.UserQuestion:
		s.userQuestion(e, d)
	case event.ToolStart:
		s.toolStart(e, d)
	case fact.ToolDone:
		s.toolDone(e, d)
	case fact.ToolAmended:
		s.toolAmended(d)
	case event.ToolResult:
		s.toolResult(e, d)

	case event.AgentStart:
		s.agentStart(e, d)
	case event.AgentEvent:
		s.agentEvent(e, d)
	case event.AgentEnd:
		s.agentEnd(e, d)

	case event.SessionNamed:
		if d.Title != "" {
			s.Title = d.Title
			s.Version++
		}
	case event.ModeChanged:
		s.Mode = d.Mode
		s.notice(e, "mode: "+string(d.Mode))
	case event.ModelChanged:
		s.modelChanged(e, d)
	default:
		if text, ok := noticeText(e.Data); !ok {
			return false
		} else if text != "" {
			s.notice(e, text)
		}
	}
	if c, ok := e.Data.(event.Compacted); ok {
		s.compacted(c)
	}
	return true
}

// add makes an item. Put it into a list.
func (s *State) add(e event.Event, id string, d Data) *Item {
	it := &Item{ID: id, Seq: e.Seq, Time: e.Time, Data: d}
	s.touch(it)
	return it
}

// touch gives an item that has changed another version.
func (s *State) touch(it *Item) {
	s.Version++
	it.Version = s.Version
}

func (s *State) show(it *Item) { s.Items = append(s.Items, it) }

func (s *State) notice(e event.Event, text string) {
	id := factID(e)
	if e.Seq == 0 {
		s.notes++
		id = "n" + strconv.Itoa(s.notes)
	}
	it := s.add(e, id, &Notice{Text: text, Event: e.Data})
	it.Final = true
	s.show(it)
}

func factID(e event.Event) string { return strconv.FormatInt(e.Seq, 10) }

// put sets a key of a map that may be nil.
func put(m *map[string]*Item, key string, it *Item) {
	if *m == nil {
		*m = map[string]*Item{}
	}
	(*m)[key] = it
}

// without returns a list without an item.
func without(list []*Item, it *Item) []*Item {
	if i := slices.Index(list, it); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// Runs and messages.

func (s *State) configured(e event.Event, d fact.Configured) {
	if s.Running {
		return
	}
	if d.Start != "" {
		s.endJobs()
	}
	s.Mode, s.Model = d.Mode, d.Model
	s.learn(d.Models)
	s.Window = s.windows[d.Model]
	s.run = run{last: e.Time}
	s.Version++
}

// learn notes the windows of models.
func (s *State) learn(models map[string]llm.Info) {
	if s.windows == nil {
		s.windows = map[string]int{}
	}
	for name, info := range models {
		s.windows[name] = info.Window
	}
}

// begin opens a run that begins with a fact.
func (s *State) begin(e event.Event) {
	if s.Running {
		return
	}
	s.Running = true
	s.Version++
	s.run = run{last: e.Time, open: true}
}

func (s *State) resumed(e event.Event, d event.Resumed) {
	if d.Start != "" {
		s.endJobs()
	}
	s.dropAnswers()
	s.Running = true
	s.run.reopen(e.Time)
	s.notice(e, "resumed")
}

func (s *State) endJobs() {
	s.Jobs, s.jobs = nil, nil
}

func (s *State) message(e event.Event, d event.UserMessage) {
	p := &Prompt{Message: d}
	it := s.add(e, factID(e), p)
	switch d.Delivery {
	case fact.AsPrompt:
		s.begin(e)
		fallthrough
	case fact.AsContinue:
		p.Delivered, it.Final = true, true
		s.show(it)
	default:
		if d.Delivery == fact.AsNotice {
			s.jobEnded(d.Message.Text())
		}
		put(&s.queued, d.ID, it)
		s.Queue = append(s.Queue, it)
	}
}

// deliver takes a message out of the queue.
func (s *State) deliver(id string, seen bool) {
	it := s.queued[id]
	if it == nil {
		return
	}
	delete(s.queued, id)
	s.Queue = without(s.Queue, it)
	p := it.Data.(*Prompt)
	p.Delivered, p.Dropped, it.Final = seen, !seen, true
	s.touch(it)
	s.show(it)
}

func (s *State) ended(e event.Event, d event.RunEnd) {
	s.dropAnswers()
	if d.Reason != event.Suspended {
		for len(s.Questions) > 0 {
			s.settle(s.Questions[0])
		}
	}
	s.run.close(d.Reason == event.Suspended)
	s.Running = false
	it := s.add(e, factID(e), &End{Fact: d, Calls: s.run.calls, Denied: s.run.denied, Time: s.run.split})
	it.Final = true
	s.show(it)
}

// Split says where the time of the run in progress went so far, or that of the last run.
func (s *State) Split(now time.Time) Split {
	r := s.run
	if s.Running {
		r.advance(now)
	}
	return r.split
}

// Model calls.

func (s *State) modelStart(e event.Event, d fact.ModelStart) {
	s.run.model(d.Key, true)
	if d.Call != "" || d.Compacts != "" {
		set(&s.side, d.Key, true)
		return
	}
	s.answer(e, d.Key, d.Model)
}

// answer returns the answer that a call of the model is writing.
func (s *State) answer(e event.Event, key, model string) (*Item, *Answer) {
	if it := s.open; it != nil {
		if a := it.Data.(*Answer); a.key == key {
			return it, a
		}
	}
	it := s.answers[key]
	if it == nil {
		if model == "" {
			model = s.Model
		}
		it = s.add(e, key, &Answer{key: key, Model: model})
		put(&s.answers, key, it)
		s.show(it)
	}
	s.open = it
	return it, it.Data.(*Answer)
}

func (s *State) text(e event.Event, d event.TextDelta) {
	it, a := s.answer(e, d.Key, "")
	if d.Restart {
		a.text.Reset()
	}
	a.text.WriteString(d.Text)
	s.touch(it)
}

func (s *State) answered(e event.Event, d event.AssistantMessage) {
	s.run.model(d.Key, false)
	it, a := s.answer(e, d.Key, d.Model)
	s.closeAnswer(it)
	a.Fact, a.Model = &d, d.Model
	a.shown, a.thought = d.Response.Message.Text(), thinking(d.Response.Message.Content)
	it.Seq, it.Time, it.Final = e.Seq, e.Time, true
	s.touch(it)
	s.spend(d.Response.Usage, d.CostUSD)
	s.Context = d.Response.Usage.Context() + d.Response.Usage.Output
	if w := s.windows[d.Model]; w > 0 {
		s.Window = w
	}
	s.propose(e, &d)
}

func thinking(content llm.Blocks) string {
	text := ""
	for _, b := range content {
		if t, ok := b.(llm.Thinking); ok && t.Text != "" {
			if text != "" {
				text += "\n\n"
			}
			text += t.Text
		}
	}
	return text
}

func (s *State) modelFailed(e event.Event, d event.ModelFailed) {
	s.run.model(d.Key, false)
	s.run.retrying = d.Retry
	s.spend(d.Usage, d.CostUSD)
	if s.side[d.Key] {
		delete(s.side, d.Key)
		return
	}
	it, a := s.answer(e, d.Key, d.Model)
	s.closeAnswer(it)
	s.writing, s.gap = nil, false
	a.Failed, a.Model = &d, d.Model
	a.shown = d.Partial
	it.Seq, it.Time, it.Final = e.Seq, e.Time, true
	s.touch(it)
}

// closeAnswer takes an answer, and the calls in it, out of those that are being written.
func (s *State) closeAnswer(it *Item) {
	a := it.Data.(*Answer)
	delete(s.answers, a.key)
	a.text, a.thinking = strings.Builder{}, strings.Builder{}
	if s.open == it {
		s.open = nil
	}
	s.dropWriting()
}

// dropWriting takes the calls away that the model was writing.
func (s *State) dropWriting() {
	for i, left := len(s.Items)-1, len(s.writing); i >= 0 && left > 0; i-- {
		if c, ok := s.Items[i].Data.(*Call); ok && c.ID == "" {
			s.Items = slices.Delete(s.Items, i, i+1)
			left--
		}
	}
}

// dropAnswers takes the answers away that were not completed.
func (s *State) dropAnswers() {
	if len(s.answers) == 0 {
		return
	}
	s.dropWriting()
	s.writing = nil
	for key, it := range s.answers {
		s.Items = without(s.Items, it)
		delete(s.answers, key)
	}
	s.open = nil
	s.Version++
}

func (s *State) modelChanged(e event.Event, d event.ModelChanged) {
	if d.Model != "" {
		s.Model = d.Model
		s.learn(map[string]llm.Info{d.Model: d.Info})
		s.Window = d.Info.Window
	}
	s.notice(e, "model: "+s.Model)
}

func (s *State) compacted(d event.Compacted) {
	s.run.model(d.Key, false)
	s.spend(d.Usage, d.CostUSD)
	if d.Failed == "" {
		s.Context = d.After
	}
}

// spend adds to the totals.
func (s *State) spend(u llm.Usage, usd *float64) {
	if u == (llm.Usage{}) && usd == nil {
		return
	}
	s.Usage = s.Usage.Add(u)
	if usd != nil {
		s.CostUSD += *usd
	} else {
		s.Unpriced = true
	}
	s.Version++
}
