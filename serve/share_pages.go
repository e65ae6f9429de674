package serve

import (
	"errors"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/openagent-go/agent/internal/terminal"
)

// sharesPage lists the shares of the user, with a form for another one.
func sharesPage(s *Server, c *call) (any, error) {
	list, err := listShares(s, c)
	if err != nil {
		return nil, err
	}
	return nil, c.render(http.StatusOK, "shares", struct {
		shareList
		Session  string
		ReadOnly bool
	}{list.(shareList), terminal.Text(c.r.URL.Query().Get("session")), s.ReadOnly})
}

// previewByForm shows what a share would hide, with a form to confirm it.
func previewByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	f := c.r.PostForm
	in := shareRequest{Session: f.Get("session"), Live: f.Get("live") != "", Lasts: f.Get("expires_in"), Password: f.Get("password"), Results: f.Get("results"), Images: f.Get("images") != ""}
	for name, to := range map[string]*int64{"from": &in.From, "to": &in.To} {
		if given := f.Get(name); given != "" {
			n, err := strconv.ParseInt(given, 10, 64)
			if err != nil {
				return nil, bad("%s must be the number of a fact", name)
			}
			*to = n
		}
	}
	out, err := s.previewShare(c, in)
	if err != nil {
		return nil, err
	}
	for _, r := range out.Rules {
		for i := range r.Samples {
			r.Samples[i] = terminal.Text(r.Samples[i])
		}
	}
	return nil, c.render(http.StatusOK, "share-preview", struct {
		*sharePreview
		Session string
	}{out, in.Session})
}

// confirmByForm makes the share of a preview, and shows its link once.
func confirmByForm(s *Server, c *call) (any, error) {
	if err := c.form(); err != nil {
		return nil, err
	}
	made, err := s.createShare(c, c.r.PostFormValue("preview"))
	if err != nil {
		return nil, err
	}
	return nil, c.render(http.StatusOK, "share-made", made)
}

func revokeByForm(s *Server, c *call) (any, error) {
	if _, err := deleteShare(s, c); err != nil {
		return nil, err
	}
	http.Redirect(c.w, c.r, "/shares", http.StatusSeeOther)
	return nil, nil
}

// sharedPage shows a share to everybody who has its link.
func sharedPage(s *Server, c *call) (any, error) {
	err := s.shared(c, func(sh share, f *feed) error {
		v, err := f.page(0, c.r.URL.Query().Get("all") != "")
		if err != nil {
			return err
		}
		v.Token = c.r.PathValue("token")
		return c.render(http.StatusOK, "share", v)
	})
	return nil, s.failShare(c, err, "")
}

// sharedPart answers with what has changed since a version of the view.
func sharedPart(s *Server, c *call) (any, error) {
	since, err := c.number("since", 0)
	if err == nil {
		err = s.shared(c, func(_ share, f *feed) error {
			v, err := f.page(uint64(max(since, 1)), false)
			if err != nil {
				return err
			}
			return c.render(http.StatusOK, "share-part", v)
		})
	}
	return nil, s.failShare(c, err, "")
}

// failShare answers with a page that tells nothing about the server.
func (s *Server) failShare(c *call, err error, said string) error {
	if err == nil {
		return nil
	}
	s.noteRefusal(c.w, err)
	if errors.Is(err, errLocked) {
		return c.render(http.StatusUnauthorized, "share-password", struct{ Token, Said string }{c.r.PathValue("token"), said})
	}
	e := errorOf(err)
	return c.render(e.Status, "share-gone", e)
}

// clientOf returns the address of a client: behind a proxy, that of the proxy, since headers can be made up.
// An IPv6 network of 64 bits is one client.
func clientOf(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := at.Addr().Unmap().WithZone("")
	if network, err := ip.Prefix(64); err == nil && ip.Is6() {
		return network.String()
	}
	return ip.String()
}

// enterShare exchanges the password of a share for a cookie.
func enterShare(s *Server, c *call) (any, error) {
	c.w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	token := c.r.PathValue("token")
	sh, err := s.shareOf(token)
	if err != nil {
		return nil, s.failShare(c, s.hideCause(err), "")
	}
	if err := c.form(); err != nil {
		return nil, s.failShare(c, err, "")
	}
	if sh.Password != nil {
		cookie, err := s.enter(sh, clientOf(c.r), c.r.PostFormValue("password"))
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusUnauthorized {
			return nil, s.failShare(c, errLocked, e.Message)
		}
		if err != nil {
			return nil, s.failShare(c, err, "")
		}
		http.SetCookie(c.w, &http.Cookie{Name: shareCookie(sh), Value: cookie, Path: "/share/", Expires: sh.Expires, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.encrypted(c.r)})
	}
	http.Redirect(c.w, c.r, "/share/"+token, http.StatusSeeOther)
	return nil, nil
}
