package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/sharetext"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// A shareRequest says what a link shows, and for how long.
type shareRequest struct {
	Session  string `json:"session"`
	From     int64  `json:"from,omitempty"`       // first fact that it shows; the first one if it is not given
	To       int64  `json:"to,omitempty"`         // last fact; the last one of now if it is not given
	Live     bool   `json:"live,omitempty"`       // what happens later is shown as well
	Role     string `json:"role,omitempty"`       // watch
	Lasts    string `json:"expires_in,omitempty"` // such as 90m; 24h if it is not given
	Password string `json:"password,omitempty"`   // of 8 characters or more
	Results  string `json:"results,omitempty"`    // fold or omit: large texts of calls are folded or left out
	Images   bool   `json:"images,omitempty"`     // images are shown; nothing in them is hidden
}

const (
	foldResults = "fold"
	omitResults = "omit"
)

// A sharePreview says what a share would hide.
type sharePreview struct {
	Preview string     `json:"preview"` // confirms it, within ten minutes
	Expires time.Time  `json:"expires"` // of the link
	Items   int        `json:"items"`   // that the page shows so far
	LeftOut int        `json:"left_out"`
	Rules   []ruleUsed `json:"rules"`
	Notice  string     `json:"notice"`
}

// A ruleUsed says what a rule hides.
type ruleUsed struct {
	Rule    string   `json:"rule"`
	Count   int      `json:"count"`
	Samples []string `json:"samples"` // lines as they are shown, at most 3
}

// A shareConfirmed is a preview that its maker has read.
type shareConfirmed struct {
	Preview string `json:"preview"`
}

// A shareMade is a new share. The link is never shown again.
type shareMade struct {
	shareInfo
	Path string `json:"path"` // of the link
}

// A shareInfo is a share in the list.
type shareInfo struct {
	ID       string     `json:"id"`
	Session  string     `json:"session"`
	From     int64      `json:"from"`
	To       int64      `json:"to,omitempty"`
	Live     bool       `json:"live"`
	Role     string     `json:"role"`
	Made     time.Time  `json:"made"`
	Expires  time.Time  `json:"expires"`
	Password bool       `json:"password"`
	Results  string     `json:"results"`
	Images   bool       `json:"images"`
	Viewers  []watching `json:"viewers"`
}

// A shareList has the shares of a user.
type shareList struct {
	Shares []shareInfo `json:"shares"`
}

const shareNotice = "Patterns can miss things. Read the page before you send the link to anybody. What happens later in a live share is hidden by the same rules, and you cannot read it first."

// shareOptions checks a request.
func (s *Server) shareOptions(ctx context.Context, user string, in shareRequest) (share, error) {
	sh := share{ID: random(64), User: user, Session: in.Session, From: max(in.From, 1), To: in.To, Results: in.Results, Images: in.Images}
	if err := session.CheckID(in.Session); err != nil {
		return sh, err
	}
	if s.Session != nil && in.Session != s.Session.ID {
		return sh, session.ErrNotFound
	}
	lasts := shareTime
	if in.Lasts != "" {
		var err error
		if lasts, err = time.ParseDuration(in.Lasts); err != nil || lasts < time.Minute || lasts > maxShareTime {
			return sh, bad("expires_in must be a time such as 90m, from 1m to %dh", int(maxShareTime.Hours()))
		}
	}
	switch {
	case in.Role != "" && in.Role != "watch":
		return sh, bad("role must be watch: who has the link can change nothing")
	case in.Results != "" && in.Results != foldResults && in.Results != omitResults:
		return sh, bad("results must be fold or omit")
	case in.Password != "" && utf8.RuneCountInString(in.Password) < minPassword:
		return sh, bad("the password must have %d characters or more", minPassword)
	case len(in.Password) > maxPassword:
		return sh, bad("the password must not have more than %d bytes", maxPassword)
	case in.From < 0 || in.To < 0:
		return sh, bad("from and to must be numbers of facts")
	case in.Live && in.To != 0:
		return sh, bad("a live share has no last fact: leave to out")
	}
	latest, err := session.Last(ctx, s.store(user), in.Session, 1, nil)
	if err != nil {
		return sh, err
	}
	if len(latest) == 0 {
		return sh, session.ErrNotFound
	}
	last := latest[0].Seq
	if !in.Live && sh.To == 0 {
		sh.To = last
	}
	if sh.From > last || sh.To > last || sh.To != 0 && sh.To < sh.From {
		return sh, bad("the session has the facts 1 to %d: from and to must be two of them, in this order", last)
	}
	if sh.Began, err = beganAt(s.store(user).Read(ctx, in.Session, 0)); err != nil {
		return sh, err
	}
	if sh.Password, err = newPassword(in.Password); err != nil {
		return sh, err
	}
	sh.Made = now()
	sh.Expires = sh.Made.Add(lasts)
	return sh, nil
}

func previewShare(s *Server, c *call) (any, error) {
	var in shareRequest
	if err := c.read(&in); err != nil {
		return nil, err
	}
	return s.previewShare(c, in)
}

// previewShare lists what a share would hide. Nothing is shared yet.
func (s *Server) previewShare(c *call, in shareRequest) (*sharePreview, error) {
	if s.Shares == nil {
		return nil, errNoShares
	}
	sh, err := s.shareOptions(c.ctx(), c.user, in)
	if err != nil {
		return nil, err
	}
	rules, err := s.shareRules()
	if err != nil {
		return nil, err
	}
	out := &sharePreview{Preview: random(128), Expires: sh.Expires, Notice: shareNotice, Rules: []ruleUsed{}}
	at := map[string]int{}
	for i, name := range rules.Names() {
		at[name] = i
		out.Rules = append(out.Rules, ruleUsed{Rule: name, Samples: []string{}})
	}
	r := &redactor{omit: sh.Results == omitResults, images: sh.Images, rules: rules.Noting(func(f sharetext.Found) {
		u := &out.Rules[at[f.Rule]]
		u.Count += f.Count
		if line := around(f.Line); len(u.Samples) < 3 && line != "" && !slices.Contains(u.Samples, line) {
			u.Samples = append(u.Samples, line)
		}
	})}
	var v view.State
	var prompt string // the title of a session without a name
	for e, err := range newSharedReader(s.store(c.user), sh).facts(c.ctx()) {
		if err != nil {
			return nil, err
		}
		if d, ok := e.Data.(event.SessionNamed); ok {
			r.title(d.Title)
		}
		if first, ok := begins(e); ok && prompt == "" {
			prompt = first
		}
		v.Apply(e)
	}
	for _, it := range v.Items {
		if d, ok := it.Data.(*view.Prompt); ok && d.Message.Message.Text() == prompt {
			prompt = "" // the item has it
		}
		if r.item(it) != nil {
			out.Items++
		}
	}
	r.title(prompt)
	out.LeftOut = r.left
	b := &s.sharing
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for key, p := range b.previews {
		if now.After(p.expires) {
			delete(b.previews, key)
		}
	}
	if len(b.previews) >= maxPreviews {
		return nil, tooMany("previews", previewTime, "too many previews wait", "confirm them, or wait ten minutes")
	}
	if b.previews == nil {
		b.previews = map[string]preview{}
	}
	b.previews[hashOf(out.Preview)] = preview{sh, now.Add(previewTime)}
	return out, nil
}

// around shortens a line to the place of what is hidden.
func around(line string) string {
	const most = 60 // characters before and after
	line = strings.TrimSpace(line)
	i := strings.Index(line, sharetext.Hidden)
	if i < 0 {
		i = strings.IndexAny(line, "[~")
	}
	before, after := []rune(line[:max(i, 0)]), []rune(line[max(i, 0):])
	out := string(before[max(0, len(before)-most):]) + string(after[:min(len(after), most)])
	if len(before) > most {
		out = "…" + out
	}
	if len(after) > most {
		out += "…"
	}
	return out
}

func createShare(s *Server, c *call) (any, error) {
	var in shareConfirmed
	if err := c.read(&in); err != nil {
		return nil, err
	}
	return s.createShare(c, in.Preview)
}

// createShare makes the share of a preview.
func (s *Server) createShare(c *call, code string) (*shareMade, error) {
	if s.Shares == nil {
		return nil, errNoShares
	}
	b := &s.sharing
	b.mu.Lock()
	p, ok := b.previews[hashOf(code)]
	ok = ok && p.share.User == c.user
	if ok {
		delete(b.previews, hashOf(code))
	}
	b.mu.Unlock()
	if !ok || time.Now().After(p.expires) {
		return nil, &Error{http.StatusConflict, "no_preview", "a share needs a preview, and this one is not valid any more", "POST /v1/shares/preview first, and read what it hides"}
	}
	token := random(128)
	p.share.Hash = hashOf(token)
	err := s.changeShares(c.ctx(), func(all []share) ([]share, error) {
		if len(all) >= maxShares {
			return nil, &Error{http.StatusTooManyRequests, "too_many_shares", "there are too many shares", "revoke some"}
		}
		return append(all, p.share), nil
	})
	if err != nil {
		return nil, err
	}
	s.log().Info("share made", "share", p.share.ID, "session", p.share.Session, "by", c.by)
	return &shareMade{s.shareInfo(p.share), "/share/" + token}, nil
}

// shareInfo describes a share for its maker.
func (s *Server) shareInfo(sh share) shareInfo {
	info := shareInfo{ID: sh.ID, Session: sh.Session, From: sh.From, To: sh.To, Live: sh.To == 0, Role: "watch", Made: sh.Made, Expires: sh.Expires,
		Password: sh.Password != nil, Results: foldResults, Images: sh.Images, Viewers: []watching{}}
	if sh.Results != "" {
		info.Results = sh.Results
	}
	s.sharing.mu.Lock()
	f := s.sharing.feeds[sh.ID]
	s.sharing.mu.Unlock()
	if f != nil {
		info.Viewers = f.watchers()
	}
	return info
}

func listShares(s *Server, c *call) (any, error) {
	if s.Shares == nil {
		return nil, errNoShares
	}
	all, err := s.shares()
	if err != nil {
		return nil, err
	}
	list := shareList{Shares: []shareInfo{}}
	for _, sh := range slices.Backward(all) {
		if sh.User == c.user {
			list.Shares = append(list.Shares, s.shareInfo(sh))
		}
	}
	return list, nil
}

func deleteShare(s *Server, c *call) (any, error) {
	if s.Shares == nil {
		return nil, errNoShares
	}
	id := c.r.PathValue("share")
	if err := s.revokeShare(c.ctx(), c.user, id); err != nil {
		return nil, err
	}
	s.log().Info("share revoked", "share", id, "by", c.by)
	return done{OK: true}, nil
}

// shared calls do with the feed of the share whose token is in the path. Everything that fails looks
// the same to strangers.
func (s *Server) shared(c *call, do func(share, *feed) error) error {
	c.w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	sh, err := s.shareOf(c.r.PathValue("token"))
	if err != nil {
		return s.hideCause(err)
	}
	if !s.mayWatch(sh, c.r) {
		return errLocked
	}
	if err := s.countShared(sh.ID); err != nil {
		return err
	}
	f, err := s.feedOf(c.ctx(), sh)
	if err != nil {
		return s.hideCause(err)
	}
	defer s.leaveFeed(f)
	return do(sh, f)
}

// errLocked means that a share needs its password.
var errLocked = unauthorized("this page needs a password", "ask the person who sent you the link")

// hideCause returns an error that tells strangers nothing. The log has it.
func (s *Server) hideCause(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	if !errors.Is(err, session.ErrNotFound) {
		s.log().Error("showing a share failed", "error", err)
	}
	return errDead
}

// shareEvents answers with the stream of a share.
func shareEvents(s *Server, c *call) (any, error) {
	return nil, s.shared(c, func(_ share, f *feed) error { return s.streamShare(c, f) })
}

// scope says in words what a share shows.
func (i shareInfo) Scope() string {
	switch {
	case i.Live && i.From > 1:
		return fmt.Sprintf("live, from fact %d", i.From)
	case i.Live:
		return "live"
	}
	return fmt.Sprintf("facts %d to %d", i.From, i.To)
}
