package serve

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/openagent-go/agent/internal/sessionhtml"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed page
var pageFiles embed.FS

// pages are the templates. What others write goes through plain, or through a function that calls
// [terminal.Text] as well: no character hides or reorders others.
var pages = template.Must(template.New("").Funcs(template.FuncMap{"plain": terminal.Text, "px": px, "list": func(of ...any) []any { return of }, "short": func(s string) string { return text.Runes(s, 14) }}).ParseFS(pageFiles, "page/*.tmpl"))

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
		{method: "POST", path: "/s/{id}/mode", do: modeByForm},
		{method: "POST", path: "/s/{id}/rewind", do: rewindByForm},
		{method: "GET", path: "/s/{id}/timeline", do: timelinePage},
		{method: "GET", path: "/s/{id}/files", do: filesPage},
		{method: "GET", path: "/s/{id}/events", do: eventsPage},
		{method: "GET", path: "/stats", do: statsPage},
		{method: "GET", path: "/doctor", do: doctorPage},
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
		b, err := assetFile(name)
		if err != nil {
			return nil, err
		}
		c.w.Header().Set("Content-Type", kind)
		c.w.Header().Set("Cache-Control", "private, max-age=300")
		_, err = c.w.Write(b)
		return nil, broken(err)
	}
}

// assetFile returns an embedded file. The style sheet begins with that of turns.
func assetFile(name string) ([]byte, error) {
	b, err := pageFiles.ReadFile("page/" + name)
	if name == "style.css" {
		b = append([]byte(sessionhtml.Style), b...)
	}
	return b, err
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
	if f.Status == http.StatusUnauthorized && e.server.User == nil && !e.server.isForPrograms(c.r) {
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
	if s.isForPrograms(c.r) {
		return nil, errForPrograms
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
	http.SetCookie(c.w, &http.Cookie{Name: s.cookieName(), Value: cookie, Path: "/", MaxAge: int(cookieTime.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.encrypted(c.r)})
	s.log().Info("browser logged in")
	http.Redirect(c.w, c.r, "/", http.StatusSeeOther)
}

// maxText is the most of an input or a result that a page shows, in bytes.
const maxText = 20 << 10

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

// clip shortens a text for a page, and makes characters visible that could hide or reorder others.
func clip(s string) string {
	s = terminal.Text(s)
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf("\n… %d more bytes", len(s)-maxText)
}

// back sends the browser to the page of a session.
func (c *call) back(id string) {
	http.Redirect(c.w, c.r, "/s/"+url.PathEscape(id), http.StatusSeeOther)
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

// keepRules is the behavior of a form that allows a call and keeps rules.
const keepRules = "always"

// modeByForm changes the permission mode.
func modeByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	mode := c.r.PostFormValue("mode")
	if err := s.change(c, changes{Mode: &mode}); err != nil {
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
	case keepRules:
		var keep []permission.Rule
		for rule := range strings.SplitSeq(strings.ReplaceAll(c.r.PostFormValue("keep"), "\r\n", "\n"), "\n") {
			keep = append(keep, permission.Rule(rule))
		}
		_, err = s.decide(c, decision{Behavior: string(permission.Allowed), Keep: keep})
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
