package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/sessionhtml"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/internal/turns"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

const (
	shown    = 200 // items of a page at first, and of each older piece
	outlined = 40  // prompts of the outline
	listed   = 30  // agents and files beside the conversation
)

// A sessionView is what the page of a session shows.
type sessionView struct {
	ID, Title, State, Model, Mode, Dir, Branch, Cost string
	Version                                          uint64
	Last                                             int64
	Running, ReadOnly, Here, Lent, Shares            bool
	Since                                            time.Time // when the run began
	Viewers                                          int
	Worker                                           string // that has the session open
	Waits                                            string // what waits for a worker
	Earlier                                          int    // items before the first one that is shown
	Turns                                            []shownTurn
	Writing                                          string
	Asks                                             []ask
	Closed                                           []closedAsk
	Queue                                            []string
	Modes                                            []modeWords

	Outline     []outlineLine
	MorePrompts int
	Agents      []agentLine
	Todos       []view.Todo
	Done        int // of Todos
	Context     *bar
	Money       *money
	Files       []fileUse
	MoreFiles   int
	Chart       *chart
	MoreAgents  int
}

// A shownTurn is a turn with the id of its element.
type shownTurn struct {
	ID   string
	HTML template.HTML
}

type outlineLine struct {
	Href, Text string
	N          int
}

// An agentLine is a sub-agent in the list beside the conversation.
type agentLine struct{ Href, Name, Class, About string }

// A bar shows shares of a whole.
type bar struct {
	Label string
	Parts []barPart
}

type barPart struct {
	X, Width    float64 // in percent
	Class, Text string
}

// money says what the session took.
type money struct {
	Head   string
	Bar    *bar
	Models []moneyLine
	Cache  string
}

type moneyLine struct{ Name, USD string }

// An ask is a question, as the page shows it.
type ask struct {
	question
	About string
	Input template.HTML
	Keeps []keep
}

// A keep is a choice of rules that a person may keep for the session.
type keep struct {
	Value, Text string
	Usual       bool // it is chosen at first
}

// Path returns the id of the call as a part of a path. That of a sub-agent's call has a slash.
func (a ask) Path() string { return url.PathEscape(a.Call) }

// A closedAsk is a question that a page still shows, and that is over.
type closedAsk struct{ Call, Text string }

type modeWords struct {
	Mode     permission.Mode
	Words    string
	Selected bool
}

// modes are the permission modes that a page can set.
var modes = []modeWords{
	{permission.Default, "asks before changes", false},
	{permission.AcceptEdits, "edits files without asking", false},
	{permission.Plan, "plans, and changes nothing", false},
	{permission.Auto, "asks before dangerous calls", false},
	{permission.DontAsk, "denies where it would ask", false},
}

// folded is the view of a session, kept while the session is in use.
type folded struct {
	mu     sync.Mutex
	state  *view.State
	last   int64
	time   timeline.State
	tally  tally
	ended  map[string]bool  // agents that were read to their end
	begun  time.Time        // of the last run
	config *fact.Configured // of the last prompt
	before map[int64]int64  // the fact after which things are as they were before a prompt
	set    event.Event      // the last fact that set up a prompt
}

// fold brings the view up to date and calls use with it.
func (l *live) fold(ctx context.Context, use func(*folded)) error {
	f := &l.folded
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state == nil {
		f.state = new(view.State)
	}
	for e, err := range l.store.Read(ctx, l.at.id, f.last) {
		if errors.Is(err, session.ErrNotFound) && l.hosted.get() != nil {
			break
		}
		if err != nil {
			return err
		}
		f.apply(e)
	}
	if err := f.readAgents(ctx, l.store, l.at.id); err != nil {
		return err
	}
	use(f)
	return nil
}

func (f *folded) apply(e event.Event) {
	f.state.Apply(e)
	f.time.Apply(e)
	f.tally.apply(e)
	switch d := e.Data.(type) {
	case event.UserMessage:
		if d.Delivery == fact.AsPrompt {
			f.begun = e.Time
			if f.before == nil {
				f.before = map[int64]int64{}
			}
			f.before[e.Seq] = e.Prev
			if e.Prev == f.set.Seq && f.set.Prev > 0 {
				f.before[e.Seq] = f.set.Prev
			}
		}
	case event.Resumed:
		f.begun = e.Time
	case fact.Configured:
		f.config = &d
		f.set = event.Event{Seq: e.Seq, Prev: e.Prev}
	}
	f.last = e.Seq
}

// readAgents reads what the agents of the session did since the last time.
func (f *folded) readAgents(ctx context.Context, store session.Store, id string) error {
	if f.ended == nil {
		f.ended = map[string]bool{}
	}
	over := map[string]bool{}
	for _, it := range f.state.Agents {
		a := it.Data.(*view.Agent)
		over[a.Start.Session] = a.End != nil
	}
	return readAgents(ctx, store, id, &f.time, 1, func(agent string) bool { return over[agent] && f.ended[agent] }, func(agent string, e event.Event) {
		f.state.Apply(event.Event{Time: e.Time, Data: event.AgentEvent{Agent: agent, Event: &e}})
	}, func(agent string) { f.ended[agent] = over[agent] })
}

// maxDepth is how deep agents are read.
const maxDepth = 10

// readAgents reads the new facts of the agents of a session into its timeline, and gives them to show.
func readAgents(ctx context.Context, store session.Store, id string, t *timeline.State, depth int, skip func(string) bool, show func(string, event.Event), read func(string)) error {
	if len(t.Agents()) == 0 || depth > maxDepth {
		return nil
	}
	under := session.Under(store, id)
	for _, a := range t.Agents() {
		if session.CheckID(a.Session) != nil || depth == 1 && skip(a.Session) {
			continue
		}
		for e, err := range under.Read(ctx, a.Session, a.State.Last()) {
			if errors.Is(err, session.ErrNotFound) {
				break
			}
			if err != nil {
				return err
			}
			e.Session = a.Session
			a.State.Apply(e)
			show(a.Name, e)
		}
		inner := func(name string, e event.Event) {
			show(a.Name, event.Event{Session: a.Session, Time: e.Time, Data: event.AgentEvent{Agent: name, Event: &e}})
		}
		if err := readAgents(ctx, under, a.Session, &a.State, depth+1, skip, inner, func(string) {}); err != nil {
			return err
		}
		if depth == 1 {
			read(a.Session)
		}
	}
	return nil
}

// A window says which part of a session a page shows.
type window struct {
	since  uint64   // only turns that have changed since a version; 0: all
	before int      // only the items before this one, in a piece; 0: the newest
	all    bool     // all items
	open   []string // calls whose questions the page shows
}

func sessionPage(s *Server, c *call) (any, error) {
	v, err := s.view(c, window{all: c.r.URL.Query().Get("all") != ""})
	if err != nil {
		return nil, err
	}
	return nil, c.render(http.StatusOK, "session", v)
}

// sessionPart answers with what has changed since a version of the view, or with older turns.
func sessionPart(s *Server, c *call) (any, error) {
	since, err := c.number("since", 0)
	if err != nil {
		return nil, err
	}
	before, err := c.number("before", 0)
	if err != nil {
		return nil, err
	}
	w := window{since: uint64(since), before: int(min(before, 1<<30))}
	if given := c.r.URL.Query().Get("open"); given != "" {
		w.open = strings.Split(given, ",")
		w.open = w.open[:min(len(w.open), 100)]
	}
	v, err := s.view(c, w)
	if err != nil {
		return nil, err
	}
	if before > 0 {
		return nil, c.render(http.StatusOK, "older", v)
	}
	return nil, c.render(http.StatusOK, "part", v)
}

// drawn returns a reader that makes turns for pages.
func drawn() *turns.Reader { return &turns.Reader{Hide: redact.New(environ.Secrets()), Limit: maxText} }

// view returns what the page of a session shows.
func (s *Server) view(c *call, w window) (*sessionView, error) {
	l := s.live(c.place())
	defer l.leave()
	info, err := l.stat(c.ctx())
	if errors.Is(err, session.ErrNotFound) && l.lent() { // nothing is on record yet
		info.Session, info.State, err = l.at.id, session.StateIdle, nil
	}
	if err != nil {
		return nil, err
	}
	r := drawn()
	v := &sessionView{ID: l.at.id, Title: r.Line(cmp.Or(info.Title, info.Prompt, info.Session)), State: string(info.State), ReadOnly: s.ReadOnly, Shares: s.Shares != nil && !s.ReadOnly,
		Dir: r.Line(homely(info.Dir)), Branch: r.Line(info.Branch)}
	v.Running = info.State == session.StateRunning || info.State == session.StateWaiting
	var failed error
	err = l.fold(c.ctx(), func(f *folded) {
		v.Version, v.Last, v.Model, v.Mode, v.Since = f.state.Version, f.last, r.Line(f.state.Model), string(f.state.Mode), f.begun
		if failed = v.turns(r, f.state, w); failed != nil || w.before > 0 {
			return
		}
		for _, it := range f.state.Queue {
			if p, ok := it.Data.(*view.Prompt); ok {
				v.Queue = append(v.Queue, text.Runes(r.Line(p.Message.Message.Text()), 80))
			}
		}
		v.side(r, f, info)
		v.closed(r, f.state, l, w.open)
	})
	if err = errors.Join(err, failed); err != nil || w.before > 0 {
		return v, err
	}
	for _, m := range modes {
		m.Selected = string(m.Mode) == cmp.Or(v.Mode, string(permission.Default))
		v.Modes = append(v.Modes, m)
	}
	l.mu.Lock()
	v.Viewers = len(l.viewers)
	for _, a := range l.inflight.answers {
		v.Writing += string(a.text)
	}
	l.mu.Unlock()
	v.Writing = r.Text(v.Writing)
	if v.Worker, err = worker(c.ctx(), l.store, l.at.id); err != nil {
		return nil, err
	}
	if v.Waits, err = l.waits(c.ctx(), v.Worker); err != nil {
		return nil, err
	}
	open := l.hosted.get()
	v.Here, v.Lent = open != nil || s.Workers != nil, l.lent()
	if open != nil && v.Money != nil {
		v.budget(open.Agent().Budget.USD)
	}
	list, err := l.pending(c.ctx())
	if err != nil {
		return nil, err
	}
	for _, q := range list {
		v.Asks = append(v.Asks, showAsk(r, q))
	}
	slices.SortFunc(v.Closed, func(a, b closedAsk) int { return cmp.Compare(a.Call, b.Call) })
	v.Closed = slices.DeleteFunc(v.Closed, func(a closedAsk) bool {
		return slices.ContainsFunc(v.Asks, func(q ask) bool { return q.Call == a.Call })
	})
	return v, nil
}

// firstShown returns the place of the first item that a page shows. A call does not come without its
// answer.
func firstShown(items []*view.Item) int {
	first := max(0, len(items)-shown)
	for first > 0 && first < len(items) {
		if _, ok := items[first].Data.(*view.Call); !ok {
			break
		}
		first--
	}
	return first
}

// turns draws the turns of a window.
func (v *sessionView) turns(r *turns.Reader, state *view.State, w window) error {
	items, first := state.Items, 0
	if w.before > 0 {
		items = items[:min(w.before, len(items))]
	}
	if !w.all {
		first = firstShown(items)
	}
	v.Earlier = first
	for t := range r.Turns(v.ID, items[first:]) {
		from := t.From()
		if from.Version <= w.since {
			continue
		}
		html, err := sessionhtml.HTML(t)
		if err != nil {
			return err
		}
		v.Turns = append(v.Turns, shownTurn{from.Item, html})
	}
	return nil
}

// side fills in what is beside the conversation.
func (v *sessionView) side(r *turns.Reader, f *folded, info session.Info) {
	state := f.state
	v.outline(r, state)
	for i := len(state.Agents) - 1; i >= 0; i-- {
		if len(v.Agents) == listed {
			v.MoreAgents = i + 1
			break
		}
		v.Agents = append(v.Agents, showAgent(r, state.Agents[i]))
	}
	slices.Reverse(v.Agents)
	v.Todos = r.Todos(state)
	for i := range v.Todos {
		if v.Todos[i].Status == "completed" {
			v.Done++
		}
	}
	if state.Context > 0 && state.Window > 0 {
		v.Context = &bar{Label: fmt.Sprintf("%d %% of %s", 100*state.Context/state.Window, turns.Short(state.Window)),
			Parts: []barPart{{Width: min(100, 100*float64(state.Context)/float64(state.Window)), Class: "model"}}}
	}
	v.money(r, f)
	for _, u := range f.tally.fileList() {
		if len(v.Files) == listed {
			v.MoreFiles++
			continue
		}
		u.Path = r.Line(inDir(info.Dir, u.Path))
		v.Files = append(v.Files, u)
	}
	v.Chart = lastRun(r, &f.time, now())
}

func (v *sessionView) outline(r *turns.Reader, state *view.State) {
	latest, before := r.Outline(state.Items, outlined)
	v.MorePrompts = before
	firstShown := int64(0)
	if v.Earlier < len(state.Items) {
		firstShown = state.Items[v.Earlier].Seq
	}
	for i, e := range latest {
		href := fmt.Sprintf("#f%d", e.Seq)
		if e.Seq < firstShown {
			href = "?all=1" + href
		}
		v.Outline = append(v.Outline, outlineLine{href, e.Text, v.MorePrompts + i + 1})
	}
}

func (v *sessionView) money(r *turns.Reader, f *folded) {
	state := f.state
	if len(f.tally.models) == 0 {
		return
	}
	v.Cost = usd(state.CostUSD, state.Unpriced)
	m := &money{Head: v.Cost}
	var input, read int
	for _, line := range f.tally.byModel() {
		name := cmp.Or(r.Line(line.name), "summaries and digests")
		m.Models = append(m.Models, moneyLine{name, usd(line.USD, line.Unpriced)})
		input, read = input+line.Usage.Context(), read+line.Usage.CacheRead
	}
	if read > 0 && input > 0 {
		m.Cache = fmt.Sprintf("%d %% of the input", 100*read/input)
	}
	v.Money = m
}

// budget shows the limit of a prompt.
func (v *sessionView) budget(limit float64) {
	if limit <= 0 {
		return
	}
	v.Money.Head += fmt.Sprintf(" · at most $%.2f a prompt", limit)
}

// closed says what became of questions that a page still shows.
func (v *sessionView) closed(r *turns.Reader, state *view.State, l *live, open []string) {
	for _, call := range open {
		if call == "" || len(call) > 200 {
			continue
		}
		l.mu.Lock()
		said := l.decided[call]
		l.mu.Unlock()
		v.Closed = append(v.Closed, closedAsk{call, cmp.Or(r.Line(said), decidedIn(r, state, call), "not asked any more")})
	}
}

// decidedIn returns the recorded decision about a call, "" for none.
func decidedIn(r *turns.Reader, state *view.State, call string) string {
	for i := len(state.Items) - 1; i >= 0; i-- {
		d, ok := state.Items[i].Data.(*view.Call)
		if !ok || d.ID != call || len(d.Decisions) == 0 {
			continue
		}
		last := d.Decisions[len(d.Decisions)-1].Decision
		return r.Line(string(last.Behavior) + " by " + cmp.Or(last.By, string(last.Source)))
	}
	return ""
}

func showAgent(r *turns.Reader, it *view.Item) agentLine {
	a := it.Data.(*view.Agent)
	line := agentLine{Href: "#" + turns.AgentAnchor(it), Name: r.Line(a.Start.Agent), Class: "run"}
	usage := a.View.Usage
	if e := a.End; e != nil {
		usage, line.Class = e.Usage, ""
		if e.Reason != event.Completed {
			line.Class = "bad"
		}
		line.About = turns.Short(usage.Context()+usage.Output) + " · " + turns.Span(e.Duration)
		return line
	}
	if len(a.View.Questions) > 0 {
		line.Class = "waits"
	}
	line.About = turns.Short(usage.Context() + usage.Output)
	return line
}

func showAsk(r *turns.Reader, q question) ask {
	for _, t := range []*string{&q.Agent, &q.Tool, &q.Text} {
		*t = r.Line(*t)
	}
	a := ask{question: q, About: about(q.Input)}
	if q.Kind == "question" && len(q.Questions) == 0 {
		a.Questions = []tool.Question{{Text: q.Text}}
	}
	if q.Preview != "" {
		a.Input = sessionhtml.Code(clip(r.Text(q.Preview)))
	} else {
		a.Input = sessionhtml.Code(r.Input(q.Input))
	}
	for _, w := range q.Widths {
		rules := joinRules(w.Rules)
		words := map[string]string{"exact": "only this: ", "broad": "all of them: "}[w.Width]
		a.Keeps = append(a.Keeps, keep{rules, words + terminal.Visible(strings.ReplaceAll(rules, "\n", " and ")), w.Width == "usual"})
	}
	return a
}

func joinRules(rules []permission.Rule) string {
	list := make([]string, len(rules))
	for i, r := range rules {
		list[i] = string(r)
	}
	return strings.Join(list, "\n")
}

func usd(n float64, unpriced bool) string {
	switch {
	case unpriced && n == 0:
		return "cost not known"
	case unpriced:
		return fmt.Sprintf("≥ $%.4f", n)
	}
	return fmt.Sprintf("$%.4f", n)
}

// homely returns a folder as people write it.
func homely(dir string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(dir, home); ok && err == nil && home != "" && (rest == "" || rest[0] == os.PathSeparator) {
		return "~" + rest
	}
	return dir
}
