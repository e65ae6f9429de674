package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/sessionhtml"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/internal/turns"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// maxFolders is how many sessions are asked for their folders: those changed last.
const maxFolders = 1000

// sessionsPage shows the sessions of the user.
func sessionsPage(s *Server, c *call) (any, error) {
	if s.Session != nil {
		c.back(s.Session.ID)
		return nil, nil
	}
	out, err := listSessions(s, c)
	if err != nil {
		return nil, err
	}
	list, r, q := out.(sessionList), drawn(), c.r.URL.Query()
	type line struct {
		ID, Title, State, Folder, Branch, Model, Age string
		Messages                                     int64
	}
	page := struct {
		Lines             []line
		Folders           []string
		States            []session.State
		Query, Dir, State string
		Before            string
		ReadOnly          bool
		Modes             []modeWords
		Models            []string
	}{States: []session.State{session.StateRunning, session.StateWaiting, session.StateUnfinished, session.StateIdle}, Query: r.Line(q.Get("q")), Dir: q.Get("dir"), State: q.Get("state"), ReadOnly: s.ReadOnly, Modes: modes}
	for _, info := range list.Sessions {
		page.Lines = append(page.Lines, line{info.Session, headline(r, cmp.Or(info.Title, info.Prompt, info.Session)), string(info.State), r.Line(homely(info.Dir)), r.Line(info.Branch), r.Line(info.Model), age(now(), info.Updated), info.Messages})
		if info.Model != "" && !slices.Contains(page.Models, info.Model) {
			page.Models = append(page.Models, info.Model)
		}
	}
	infos, err := session.Query{Limit: maxFolders}.List(c.ctx(), s.store(c.user))
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.Dir != "" && !slices.Contains(page.Folders, info.Dir) && len(page.Folders) < 200 {
			page.Folders = append(page.Folders, info.Dir)
		}
	}
	slices.Sort(page.Folders)
	if n := len(list.Sessions); list.More && n > 0 {
		q.Set("before", list.Sessions[n-1].Updated.Format(time.RFC3339Nano))
		page.Before = "?" + q.Encode()
	}
	return nil, c.render(http.StatusOK, "sessions", page)
}

// headline returns a text as one short line.
func headline(r *turns.Reader, s string) string { return text.Runes(r.Line(s), 100) }

// age says how long ago something was.
func age(now, then time.Time) string {
	switch d := now.Sub(then); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return then.Local().Format(time.DateOnly)
}

// A tablePage is the frame of a page about a session.
type tablePage struct {
	ID, Title, Tab string
	ReadOnly       bool
}

// frame returns the frame of a page about the session of a call.
func (s *Server) frame(c *call, r *turns.Reader, tab string) (tablePage, session.Info, error) {
	info, err := session.Stat(c.ctx(), s.store(c.user), c.place().id)
	return tablePage{c.place().id, headline(r, cmp.Or(info.Title, info.Prompt, info.Session)), tab, s.ReadOnly}, info, err
}

// runsShown is how many runs the page of the timeline shows at first, spansShown how many rows.
const (
	runsShown  = 20
	spansShown = 400
)

func timelinePage(s *Server, c *call) (any, error) {
	r := drawn()
	frame, _, err := s.frame(c, r, "Timeline")
	if err != nil {
		return nil, err
	}
	count, err := c.number("runs", runsShown)
	if err != nil {
		return nil, err
	}
	type row struct {
		Lane, Kind, What, Href, At, Took, Tokens, USD string
		Failed                                        bool
	}
	page := struct {
		tablePage
		Chart      *chart
		Rows       []row
		Left, Runs int // rows that are left out; runs
		Shown      int
	}{tablePage: frame}
	err = s.folding(c, func(f *folded) {
		end := now()
		t := f.time.Timeline(end)
		if len(t.Lanes) == 0 || len(t.Lanes[0].Work) == 0 {
			return
		}
		work := t.Lanes[0].Work
		page.Runs = len(work)
		page.Shown = int(min(max(count, 1), int64(len(work))))
		since := work[len(work)-page.Shown].Start
		page.Chart = draw(r, t, since, large)
		page.Chart.link("/s/" + url.PathEscape(page.ID))
		type placed struct {
			timeline.Span
			lane string
			own  bool
		}
		var spans []placed
		for _, lane := range t.Lanes {
			for _, sp := range lane.Spans {
				if !sp.End.Before(since) {
					spans = append(spans, placed{sp, lane.Name, lane.Depth == 0})
				}
			}
		}
		slices.SortStableFunc(spans, func(a, b placed) int { return a.Start.Compare(b.Start) })
		page.Left = max(0, len(spans)-spansShown)
		for _, sp := range spans[page.Left:] {
			out := row{Lane: r.Line(sp.lane), Kind: string(sp.Kind), What: strings.TrimSpace(r.Line(sp.Name) + " " + r.Line(sp.What)), At: sp.Start.Local().Format(time.TimeOnly), Took: turns.Span(sp.Took()), Failed: sp.Failed}
			if sp.own {
				if place := place0(sp.Span); place != "" {
					out.Href = "/s/" + url.PathEscape(page.ID) + place
				}
			}
			if sp.Kind == timeline.Model {
				out.Tokens = turns.Short(sp.Usage.Context()) + " + " + turns.Short(sp.Usage.Output)
				if sp.CostUSD != nil {
					out.USD = usd(*sp.CostUSD, false)
				}
			}
			page.Rows = append(page.Rows, out)
		}
	})
	if err != nil {
		return nil, err
	}
	return nil, c.render(http.StatusOK, "timeline", page)
}

// link makes the places of a chart those of another page.
func (c *chart) link(page string) {
	for i := range c.Lanes {
		for j := range c.Lanes[i].Rects {
			if box := &c.Lanes[i].Rects[j]; box.Href != "" {
				box.Href = page + box.Href
			}
		}
	}
}

// maxDiffs is how many bytes of diffs a page shows.
const maxDiffs = 400 << 10

func filesPage(s *Server, c *call) (any, error) {
	r := drawn()
	frame, info, err := s.frame(c, r, "Files")
	if err != nil {
		return nil, err
	}
	since, err := c.number("since", 0)
	if err != nil {
		return nil, err
	}
	to, err := c.number("to", 0)
	if err != nil {
		return nil, err
	}
	type file struct {
		fileUse
		ID    string
		Open  bool
		Diffs []template.HTML
	}
	type point struct {
		After    int64
		Text, At string
		N        int
		Selected bool
	}
	page := struct {
		tablePage
		Files    []file
		Reads    []string
		Points   []point
		Since    int64
		Cut      bool
		CanFiles bool
		To       *point
		Changes  []rewindChange
		Problem  string
	}{tablePage: frame, Since: since, CanFiles: s.Restore != nil}
	chosen := c.r.URL.Query().Get("file")
	err = s.folding(c, func(f *folded) {
		size := 0
		for _, it := range filesSince(f.state, since, true) {
			shown := r.Line(inDir(info.Dir, it.Path))
			if it.Changes == 0 {
				page.Reads = append(page.Reads, shown)
				continue
			}
			out := file{fileUse: it.fileUse, ID: "file" + strconv.Itoa(len(page.Files)), Open: chosen == shown}
			out.Path = shown
			for _, diff := range it.Diffs {
				if size += len(diff); size > maxDiffs {
					page.Cut = true
					break
				}
				out.Diffs = append(out.Diffs, sessionhtml.Code(clip(r.Text(diff))))
			}
			page.Files = append(page.Files, out)
		}
		n := 0
		for _, it := range f.state.Items {
			p, ok := it.Data.(*view.Prompt)
			if !ok || !p.Delivered || !p.FromUser() {
				continue
			}
			n++
			after, known := f.before[it.Seq]
			if !known {
				continue
			}
			pt := point{after, headline(r, p.Message.Message.Text()), it.Time.Local().Format(time.DateTime), n, after == since}
			page.Points = append(page.Points, pt)
			if after == to && c.r.URL.Query().Has("to") {
				page.To = &pt
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(page.Points)
	if page.To != nil && page.CanFiles && !s.ReadOnly {
		got, err := s.rewind(c, rewinding{Fact: to, What: "files", Dry: true})
		if err != nil {
			page.Problem = errorOf(err).Message
		} else {
			for _, ch := range got.Changes {
				page.Changes = append(page.Changes, rewindChange{r.Line(inDir(info.Dir, ch.Path)), ch.Kind, sessionhtml.Code(clip(r.Text(ch.Diff)))})
			}
		}
	}
	return nil, c.render(http.StatusOK, "files", page)
}

// rewindChange is a change that a rewind makes, as a page shows it.
type rewindChange struct {
	Path, Kind string
	Diff       template.HTML
}

func rewindByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	fact, err := strconv.ParseInt(c.r.PostFormValue("fact"), 10, 64)
	if err != nil || c.r.PostFormValue("sure") == "" {
		return nil, bad("choose a prompt, and confirm that you want to rewind")
	}
	if _, err := s.rewind(c, rewinding{Fact: fact, What: c.r.PostFormValue("what")}); err != nil {
		return nil, err
	}
	c.back(c.place().id)
	return nil, nil
}

// factsShown is how many facts a page shows.
const factsShown = 100

func eventsPage(s *Server, c *call) (any, error) {
	r := drawn()
	frame, info, err := s.frame(c, r, "Events")
	if err != nil {
		return nil, err
	}
	q := c.r.URL.Query()
	after, err := c.number("after", 0)
	if err != nil {
		return nil, err
	}
	var types []string
	if given := strings.TrimSpace(q.Get("types")); given != "" {
		types = strings.FieldsFunc(given, func(c rune) bool { return c == ',' || c == ' ' })
	}
	if !q.Has("after") && types == nil {
		after = max(0, info.Facts-factsShown)
	}
	got, err := s.page(c, after, factsShown, types)
	if err != nil {
		return nil, err
	}
	facts := got.(eventPage)
	type line struct {
		Seq      int64
		At, Type string
		JSON     string
	}
	page := struct {
		tablePage
		Lines         []line
		Types         string
		Next, Earlier string
	}{tablePage: frame, Types: r.Line(q.Get("types"))}
	for _, e := range facts.Events {
		b, err := json.MarshalIndent(e, "", "  ")
		if err != nil {
			return nil, err
		}
		page.Lines = append(page.Lines, line{e.Seq, e.Time.Local().Format("15:04:05.000"), event.Type(e.Data), clip(r.Text(string(b)))})
	}
	at := func(after int64) string {
		return "?" + url.Values{"after": {strconv.FormatInt(after, 10)}, "types": {q.Get("types")}}.Encode()
	}
	if facts.More {
		page.Next = at(facts.Last)
	}
	if after > 0 {
		page.Earlier = at(max(0, after-factsShown))
	}
	return nil, c.render(http.StatusOK, "events", page)
}

func statsPage(s *Server, c *call) (any, error) {
	r := drawn()
	out, err := s.figures(c.ctx(), c.user)
	if err != nil {
		return nil, err
	}
	type row struct{ Name, Calls, Input, Cached, Output, USD string }
	rows := func(list []portion, other string) (out []row) {
		for _, p := range list[:min(len(list), 60)] {
			cached := ""
			if input := p.Usage.Context(); input > 0 {
				cached = fmt.Sprintf("%d %%", 100*p.Usage.CacheRead/input)
			}
			out = append(out, row{cmp.Or(r.Line(homely(p.Name)), other), strconv.Itoa(p.Calls), turns.Short(p.Usage.Context()), cached, turns.Short(p.Usage.Output), usd(p.USD, p.Unpriced)})
		}
		return out
	}
	type tool struct {
		Name                  string
		Calls, Errors, Denied int
		P50, P95              string
	}
	page := struct {
		Sessions              int
		More                  bool
		Total                 string
		Cached                int
		Days, Models, Folders []row
		Tools                 []tool
		Chart                 *bar
	}{Sessions: out.Sessions, More: out.More, Total: usd(out.Total.USD, out.Total.Unpriced), Cached: int(100 * out.Cached),
		Days: rows(out.Days, ""), Models: rows(out.Models, "summaries and digests"), Folders: rows(out.Folders, "no folder")}
	for _, t := range out.Tools[:min(len(out.Tools), 100)] {
		page.Tools = append(page.Tools, tool{r.Line(t.Name), t.Calls, t.Errors, t.Denied, turns.Span(t.P50), turns.Span(t.P95)})
	}
	return nil, c.render(http.StatusOK, "stats", page)
}

func doctorPage(s *Server, c *call) (any, error) {
	r := drawn()
	type check struct {
		OK         bool
		Name, Hint string
	}
	var checks []check
	add := func(name string, err error) {
		out := check{OK: err == nil, Name: r.Line(name)}
		if err != nil {
			out.Hint = r.Line(err.Error())
		}
		checks = append(checks, out)
	}
	add(fmt.Sprintf("server: %s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH), nil)
	infos, err := s.store(c.user).List(c.ctx())
	add(fmt.Sprintf("sessions: %d", len(infos)), err)
	damaged := 0
	for _, info := range infos {
		if info.State == "" {
			damaged++
		}
	}
	if damaged > 0 {
		add("journals", fmt.Errorf("the state of %d sessions is not known: they may be damaged", damaged))
	}
	if waits, oldest, known, err := s.overdue(c.ctx()); err != nil || known {
		if waits > 0 {
			err = fmt.Errorf("%s without a worker, for up to %v: start one with openagent worker, or look why yours take no sessions", text.Count(waits, "session"), oldest.Round(time.Second))
		}
		add("workers", err)
	}
	s.mu.Lock()
	opened, streams := s.opened, s.streams
	s.mu.Unlock()
	var full error
	if opened >= s.limit() {
		full = errors.New("as many sessions are open as this server allows: raise MaxSessions, or wait for the end of a run")
	}
	add(fmt.Sprintf("open sessions: %d of %d", opened, s.limit()), full)
	full = nil
	if streams >= s.streamLimit() {
		full = errors.New("as many streams are open as this server allows: raise MaxStreams, or close pages")
	}
	add(fmt.Sprintf("streams: %d of %d", streams, s.streamLimit()), full)
	add(fmt.Sprintf("runs: %d, of which %d did not complete", s.counts.runs.Load(), s.counts.failed.Load()), nil)
	if s.Checks != nil {
		for name, err := range s.Checks(c.ctx()) {
			add(name, err)
		}
	}
	return nil, c.render(http.StatusOK, "doctor", checks)
}

func beginByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	m := message{Text: c.r.PostFormValue("text"), Model: c.r.PostFormValue("model")}
	input, err := m.input()
	if err != nil {
		return nil, err
	}
	mode := c.r.PostFormValue("mode")
	if mode != "" && mode != string(permission.Default) {
		if err := checkMode(mode); err != nil {
			return nil, err
		}
	}
	id := session.NewID()
	l := s.live(place{c.user, id})
	defer l.leave()
	if mode != "" && s.Workers != nil {
		if _, err := l.post(c.ctx(), "", durable.SetMode{Mode: permission.Mode(mode)}); err != nil {
			return nil, err
		}
	} else if mode != "" {
		open, err := l.open(c.ctx(), c.r.PostFormValue("dir"))
		if err != nil {
			return nil, err
		}
		if err := open.SetMode(c.ctx(), permission.Mode(mode)); err != nil {
			return nil, err
		}
	}
	if _, err := l.prompt(c.ctx(), c.r.PostFormValue("dir"), input); err != nil {
		return nil, err
	}
	s.log().Info("session begun", "session", id, "message", input.ID, "by", c.by)
	c.back(id)
	return nil, nil
}
