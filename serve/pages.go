package serve

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/markdown"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

//go:embed page
var pageFiles embed.FS

// pages are the templates. What others write goes through plain, or through a function that calls
// [terminal.Text] as well: no character hides or reorders others.
var pages = template.Must(template.New("").Funcs(template.FuncMap{"plain": terminal.Text}).ParseFS(pageFiles, "page/*.tmpl"))

// pageRoutes are the routes for people.
var pageRoutes []route

func init() {
	pageRoutes = []route{
		{method: "GET", path: "/{$}", do: sessionsPage},
		{method: "POST", path: "/sessions", do: beginByForm},
		{method: "GET", path: "/s/{id}", do: sessionPage},
		{method: "GET", path: "/s/{id}/part", do: sessionPart},
		{method: "POST", path: "/s/{id}/messages", do: sendByForm},
		{method: "POST", path: "/s/{id}/interrupt", do: interruptByForm},
		{method: "POST", path: "/s/{id}/calls/{call}", do: answerByForm},
		{method: "POST", path: "/login", do: loginByToken, open: true},
		{method: "GET", path: "/style.css", do: asset("style.css", "text/css; charset=utf-8"), open: true},
		{method: "GET", path: "/shares", do: sharesPage},
		{method: "POST", path: "/shares/preview", do: previewByForm},
		{method: "POST", path: "/shares", do: confirmByForm},
		{method: "POST", path: "/shares/{share}/revoke", do: revokeByForm},
		{method: "GET", path: "/share/{token}", do: sharedPage, open: true},
		{method: "POST", path: "/share/{token}", do: enterShare, open: true},
		{method: "GET", path: "/share/{token}/part", do: sharedPart, open: true},
		{method: "GET", path: "/share.js", do: asset("share.js", "text/javascript; charset=utf-8"), open: true},
		{method: "GET", path: "/app.js", do: asset("app.js", "text/javascript; charset=utf-8"), open: true},
	}
}

// asset returns the function that answers with an embedded file.
func asset(name, kind string) func(*Server, *call) (any, error) {
	return func(_ *Server, c *call) (any, error) {
		b, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			return nil, err
		}
		c.w.Header().Set("Content-Type", kind)
		c.w.Header().Set("Cache-Control", "private, max-age=300")
		_, err = c.w.Write(b)
		return nil, broken(err)
	}
}

// render answers with a template.
func (c *call) render(status int, name string, data any) error {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, name, data); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.WriteHeader(status)
	_, err := out.WriteTo(c.w)
	return broken(err)
}

// failPage answers a request for a page that failed.
func (e endpoint) failPage(c *call, failed error) {
	f := errorOf(failed)
	if f.Status == http.StatusUnauthorized && e.server.User == nil {
		_ = c.render(f.Status, "login", "This server needs its token, or the address that it printed.")
		return
	}
	_ = c.render(f.Status, "message", f)
}

// loginByToken exchanges the token of the form for a cookie.
func loginByToken(s *Server, c *call) (any, error) {
	if s.User != nil {
		return nil, &Error{http.StatusNotFound, "not_found", "this server has no logins of its own", "log in where you got the address"}
	}
	cookie, err := s.login("", c.r.PostFormValue("token"))
	if err != nil {
		return nil, err
	}
	s.setCookie(c, cookie)
	return nil, nil
}

// setCookie answers a login.
func (s *Server) setCookie(c *call, cookie string) {
	http.SetCookie(c.w, &http.Cookie{Name: s.cookieName(), Value: cookie, Path: "/", MaxAge: int(cookieTime.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.r.TLS != nil})
	s.log().Info("browser logged in")
	http.Redirect(c.w, c.r, "/", http.StatusSeeOther)
}

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
	list := out.(sessionList)
	for i := range list.Sessions {
		list.Sessions[i].Title, list.Sessions[i].Prompt = terminal.Text(list.Sessions[i].Title), terminal.Text(list.Sessions[i].Prompt)
	}
	return nil, c.render(http.StatusOK, "sessions", struct {
		sessionList
		Query    string
		ReadOnly bool
	}{list, terminal.Text(c.r.URL.Query().Get("q")), s.ReadOnly})
}

// shown is the number of items of a page at first.
const shown = 200

// A sessionView is what the page of a session shows.
type sessionView struct {
	ID, Title, State, Model, Mode, Cost string
	Version                             uint64
	Last                                int64
	Running, ReadOnly                   bool
	Earlier                             int
	Items, Changed                      []item
	Writing                             string
	Asks                                []ask
}

// An item is one of the view, as the page shows it.
type item struct {
	ID, Prompt, Meta, Notice        string
	Queued, Open                    bool
	Body                            template.HTML
	Tool, About, Phase, Mark, Class string
	Took, Input, Result             string
	Diff                            []diffLine
	Items                           []item
}

// An ask is a question, as the page shows it.
type ask struct {
	question
	About string
	Input string
	Diff  []diffLine
}

// Path returns the id of the call as a part of a path. That of a sub-agent's call has a slash.
func (a ask) Path() string { return url.PathEscape(a.Call) }

// A diffLine is a line of a diff.
type diffLine struct{ Class, Text string }

// folded is the view of a session, kept while the session is in use.
type folded struct {
	mu    sync.Mutex
	state *view.State
	last  int64
}

// fold brings the view up to date and calls use with it.
func (l *live) fold(ctx context.Context, use func(*view.State, int64)) error {
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
		f.state.Apply(e)
		f.last = e.Seq
	}
	use(f.state, f.last)
	return nil
}

func sessionPage(s *Server, c *call) (any, error) {
	v, err := s.view(c, 0, c.r.URL.Query().Get("all") != "")
	if err != nil {
		return nil, err
	}
	return nil, c.render(http.StatusOK, "session", v)
}

// sessionPart answers with what has changed since a version of the view.
func sessionPart(s *Server, c *call) (any, error) {
	since, err := c.number("since", 0)
	if err != nil {
		return nil, err
	}
	v, err := s.view(c, uint64(since), false)
	if err != nil {
		return nil, err
	}
	return nil, c.render(http.StatusOK, "part", v)
}

// view returns what the page of a session shows, with the items that have changed since a version.
func (s *Server) view(c *call, since uint64, all bool) (*sessionView, error) {
	l := s.live(c.place())
	defer l.leave()
	info, err := session.Stat(c.ctx(), l.store, l.at.id)
	if errors.Is(err, session.ErrNotFound) && l.lent() { // nothing is on record yet
		info.Session, info.State, err = l.at.id, session.StateIdle, nil
	}
	if err != nil {
		return nil, err
	}
	v := &sessionView{ID: l.at.id, Title: terminal.Text(cmp.Or(info.Title, info.Prompt, info.Session)), State: string(info.State), ReadOnly: s.ReadOnly}
	err = l.fold(c.ctx(), func(state *view.State, last int64) {
		v.Version, v.Last, v.Model, v.Mode = state.Version, last, state.Model, string(state.Mode)
		if state.CostUSD > 0 {
			v.Cost = fmt.Sprintf("$%.4f", state.CostUSD)
		}
		visible := append(append([]*view.Item{}, state.Items...), state.Queue...)
		if first := len(visible) - shown; first > 0 && !all {
			v.Earlier, visible = first, visible[first:]
		}
		for _, it := range visible {
			if since == 0 {
				v.Items = append(v.Items, show(it))
			} else if it.Version > since {
				v.Changed = append(v.Changed, show(it))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	for _, a := range l.flight.answers {
		v.Writing += string(a.text)
	}
	l.mu.Unlock()
	list, err := l.pending(c.ctx())
	if err != nil {
		return nil, err
	}
	for _, q := range list {
		a := ask{question: q, About: about(q.Input), Input: clip(indented(q.Input))}
		if q.Kind == "question" && len(q.Questions) == 0 {
			a.Questions = []tool.Question{{Text: q.Text}}
		}
		if q.Preview != "" {
			a.Diff = diffLines(q.Preview)
		}
		v.Asks = append(v.Asks, a)
	}
	v.Running = info.State == session.StateRunning || info.State == session.StateWaiting
	return v, nil
}

// maxText is the most of an input or a result that a page shows, in bytes.
const maxText = 20 << 10

// show returns an item as the page shows it.
func show(it *view.Item) item {
	out := item{ID: it.ID}
	switch d := it.Data.(type) {
	case *view.Prompt:
		out.Prompt, out.Queued = clip(d.Message.Message.Text()), !d.Delivered
		if !d.FromUser() {
			out.Meta = "The program said"
		}
	case *view.Answer:
		out.Meta = d.Model + " · " + it.Time.Local().Format(time.TimeOnly)
		if d.Failed != nil {
			out.Notice = "The model failed: " + text.OneLine(d.Failed.Message)
			return out
		}
		out.Body = template.HTML(markdown.AppendHTML(nil, markdown.Parse(terminal.Text(d.Text())))) // which escapes
	case *view.Call:
		out.Tool, out.About, out.Phase = d.Use.Name, about(d.Input()), string(d.Phase)
		out.Mark, out.Class = "◐", "doing"
		if d.Result != nil {
			out.Mark, out.Class = "✓", ""
			out.Took = d.Result.Duration.Round(time.Millisecond).String()
			out.Result = clip(d.Result.Result.Text())
			if d.Result.Result.IsError || d.Denied() {
				out.Mark, out.Class, out.Open = "✗", "bad", true
			}
		}
		out.Input = clip(indented(d.Input()))
		if diff := d.Diff(); diff != "" {
			out.Diff, out.Input = diffLines(diff), ""
		}
		for _, inner := range d.Items {
			out.Items = append(out.Items, show(inner))
		}
	case *view.Agent:
		out.Tool, out.Phase, out.Mark = d.Start.Agent, "doing", "◐"
		if d.End != nil {
			out.Phase, out.Mark = "success", "✓"
		}
	case *view.Notice:
		out.Notice = d.Text
	case *view.End:
		out.Notice = end(d)
	}
	return out
}

// end says how a run ended.
func end(d *view.End) string {
	s := fmt.Sprintf("%s · %s · %s", strings.ReplaceAll(string(d.Fact.Reason), "_", " "), text.Count(d.Fact.Turns, "turn"), text.Count(d.Calls, "call"))
	if d.Denied > 0 {
		s += fmt.Sprintf(", %d denied", d.Denied)
	}
	s += " · " + d.Fact.Duration.Round(100*time.Millisecond).String()
	if d.Fact.CostUSD != nil {
		s += fmt.Sprintf(" · $%.4f", *d.Fact.CostUSD)
	}
	if d.Fact.Message != "" && d.Fact.Reason != event.Completed {
		s += " · " + text.OneLine(d.Fact.Message)
	}
	return s
}

// about returns the part of an input that says most.
func about(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(input, &fields)
	for _, name := range []string{"command", "file_path", "path", "pattern", "query", "url", "skill", "description", "prompt"} {
		var value string
		if json.Unmarshal(fields[name], &value) == nil && value != "" {
			return text.Runes(terminal.Visible(text.OneLine(value)), 120)
		}
	}
	return ""
}

// indented returns JSON with a member in each line.
func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// clip shortens a text for a page, and makes characters visible that could hide or reorder others.
func clip(s string) string {
	s = terminal.Text(s)
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf("\n… %d more bytes", len(s)-maxText)
}

func diffLines(diff string) []diffLine {
	var lines []diffLine
	for line := range strings.Lines(clip(diff)) {
		d := diffLine{Text: strings.TrimSuffix(line, "\n")}
		switch {
		case strings.HasPrefix(line, "+"):
			d.Class = "add"
		case strings.HasPrefix(line, "-"):
			d.Class = "del"
		}
		lines = append(lines, d)
	}
	return lines
}

// back sends the browser to the page of a session.
func (c *call) back(id string) {
	http.Redirect(c.w, c.r, "/s/"+url.PathEscape(id), http.StatusSeeOther)
}

func beginByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	input, err := message{Text: c.r.PostFormValue("text")}.input()
	if err != nil {
		return nil, err
	}
	id := session.NewID()
	l := s.live(place{c.user, id})
	defer l.leave()
	if _, err := l.prompt(c.ctx(), "", input); err != nil {
		return nil, err
	}
	s.log().Info("session begun", "session", id, "message", input.ID, "by", c.by)
	c.back(id)
	return nil, nil
}

func sendByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	if _, err := s.send(c, message{Text: c.r.PostFormValue("text"), Delivery: c.r.PostFormValue("delivery")}); err != nil {
		return nil, err
	}
	c.back(c.place().id)
	return nil, nil
}

func interruptByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	if _, err := interrupt(s, c); err != nil {
		return nil, err
	}
	c.back(c.place().id)
	return nil, nil
}

func answerByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	var err error
	switch behavior := c.r.PostFormValue("behavior"); permission.Behavior(behavior) {
	case permission.Allowed, permission.Denied:
		_, err = s.decide(c, decision{Behavior: behavior, Reason: c.r.PostFormValue("reason")})
	default:
		var given answers
		for i := 0; c.r.PostForm.Has(fmt.Sprintf("t%d", i)); i++ {
			given.Answers = append(given.Answers, tool.Answer{Options: c.r.PostForm[fmt.Sprintf("o%d", i)], Text: c.r.PostForm.Get(fmt.Sprintf("t%d", i))})
		}
		_, err = s.answer(c, given)
	}
	if err != nil {
		return nil, err
	}
	c.back(c.place().id)
	return nil, nil
}

// form reads the form of a request.
func (c *call) form() error {
	if err := c.r.ParseForm(); err != nil {
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			return err
		}
		return bad("the form is not valid")
	}
	return nil
}
