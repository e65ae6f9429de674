package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	codeTime   = time.Minute         // in which a login code can be used
	cookieTime = 30 * 24 * time.Hour // for which a browser stays logged in
	maxCookies = 1000                // browsers that are logged in
	maxLogins  = 10                  // failed ones a minute
)

// logins holds the login codes and the browsers that are logged in, by hashes of their secrets.
type logins struct {
	mu      sync.Mutex
	codes   map[[32]byte]time.Time // when they end
	cookies map[[32]byte]time.Time
	failed  []time.Time // logins of the last minute
}

// secret returns 256 random bits as text.
func secret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// LoginCode returns a code with which one browser can log in within a minute, once: open /login?code=
// with it. The browser gets a cookie, and no secret stays in its history.
func (s *Server) LoginCode() string {
	code := secret()
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	s.logins.codes = put(s.logins.codes, code, codeTime)
	return code
}

// put adds a secret to a map, and drops those whose time is over.
func put(m map[[32]byte]time.Time, value string, lasts time.Duration) map[[32]byte]time.Time {
	now := time.Now()
	if m == nil {
		m = map[[32]byte]time.Time{}
	}
	for k, end := range m {
		if now.After(end) {
			delete(m, k)
		}
	}
	m[sha256.Sum256([]byte(value))] = now.Add(lasts)
	return m
}

// login exchanges a code for the value of a cookie, or the token, which is never part of an address.
// Only failures have a limit: strangers who guess must not keep the user out.
func (s *Server) login(code, token string) (cookie string, err error) {
	l := &s.logins
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	key := sha256.Sum256([]byte(code))
	end, known := l.codes[key]
	delete(l.codes, key)
	if (!known || now.After(end)) && !s.isToken(token) {
		l.failed = slices.DeleteFunc(l.failed, func(t time.Time) bool { return now.Sub(t) > time.Minute })
		if len(l.failed) >= maxLogins {
			return "", tooMany("logins", time.Minute, "there were too many failed logins in the last minute", "wait a minute and try again")
		}
		l.failed = append(l.failed, now)
		return "", unauthorized("the login code is not valid any more", "take a new one: a code works once, for a minute")
	}
	if len(l.cookies) >= maxCookies {
		clear(l.cookies)
	}
	cookie = secret()
	l.cookies = put(l.cookies, cookie, cookieTime)
	return cookie, nil
}

// isToken reports whether a text is the token.
func (s *Server) isToken(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.Token))
	return len(s.Token) >= minToken && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// cookieName differs between servers, because browsers send cookies to all ports of a host.
func (s *Server) cookieName() string {
	sum := sha256.Sum256([]byte("cookie " + s.Token))
	return "openagent_" + hex.EncodeToString(sum[:4])
}

// encrypted reports whether a browser reaches the server by encrypted connections.
func (s *Server) encrypted(r *http.Request) bool { return s.Encrypted || r.TLS != nil }

func unauthorized(message, hint string) *Error {
	return &Error{http.StatusUnauthorized, "unauthorized", message, hint}
}

// user returns who sends a request, and how a record of a decision names them.
func (s *Server) user(r *http.Request) (name, by string, err error) {
	if s.User != nil {
		name, err := s.User(r)
		if err != nil {
			return "", "", unauthorized("this request has no valid login", "log in again")
		}
		return name, name, nil
	}
	given, program := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if program && s.isToken(given) {
		return "", "api", nil
	}
	if c, err := r.Cookie(s.cookieName()); err == nil && !s.isForPrograms(r) && s.loggedIn(c.Value) {
		return "", "web", nil
	}
	if program {
		return "", "", s.wrongToken()
	}
	return "", "", unauthorized("this server needs its token", "send it as Authorization: Bearer TOKEN, or log in with the address that the server prints")
}

// loggedIn reports whether a cookie is of a browser that is logged in.
func (s *Server) loggedIn(cookie string) bool {
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	end, ok := s.logins.cookies[sha256.Sum256([]byte(cookie))]
	return ok && time.Now().Before(end)
}

// checkOrigin refuses requests that a page of another site makes, and those for a name that is not
// the server's.
func (s *Server) checkOrigin(r *http.Request) error {
	if !s.isHost(r) {
		return &Error{http.StatusMisdirectedRequest, "wrong_host", "this server does not answer to that host name", "use the address that the server prints, or add the name to its hosts"}
	}
	if s.isForeign(r) {
		return nil
	}
	crossSite := &Error{http.StatusForbidden, "cross_site", "another site may not send this request", "open the server's own page"}
	if s.cross.Check(r) != nil {
		return crossSite
	}
	from := r.Header.Get("Sec-Fetch-Site")
	// Without a referrer, a browser sends the origin null with a form of our own pages.
	ownForm := r.Header.Get("Origin") == "null" && from == "same-origin"
	if origin := r.Header.Get("Origin"); origin != "" && !ownForm && origin != "http://"+r.Host && origin != "https://"+r.Host {
		return crossSite
	}
	if from == "" || from == "same-origin" || from == "none" {
		return nil
	}
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil // a link; the page decides by a cookie that comes from its own site only
	}
	return crossSite
}

// errForPrograms is the error of a login at an address that is for programs alone.
var errForPrograms = unauthorized("browsers cannot log in at this address", "open the address that the server prints at its start")

// isForPrograms reports whether a request is for a loopback address while browsers have a name of their
// own. Cookies do not count there: a browser would send them to the servers at all ports of the address.
// No answer tells the name, because a program of this machine that knew it could get the cookie too.
func (s *Server) isForPrograms(r *http.Request) bool {
	name, _ := splitHost(r.Host)
	if addr, err := netip.ParseAddr(name); name != "localhost" && (err != nil || !addr.Unmap().IsLoopback()) {
		return false
	}
	return slices.ContainsFunc(s.Hosts, func(h string) bool {
		own, _ := splitHost(h)
		return strings.HasSuffix(own, ".localhost")
	})
}

// splitHost splits a host into its name, in lower case, and its port, which may be "".
func splitHost(host string) (name, port string) {
	host = strings.ToLower(host)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return strings.Trim(host, "[]"), ""
	}
	return name, port
}

// isHost reports whether a request is for a name of the server.
func (s *Server) isHost(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	name, port := splitHost(host)
	if len(s.Hosts) > 0 {
		return slices.ContainsFunc(s.Hosts, func(h string) bool {
			h = strings.ToLower(h)
			return h == host || h == name || strings.Trim(h, "[]") == name
		})
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	local, err := netip.ParseAddrPort(at.String())
	if err != nil || port != "" && port != strconv.Itoa(int(local.Port())) {
		return false
	}
	if name == "localhost" {
		return local.Addr().Unmap().IsLoopback()
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap() == local.Addr().Unmap()
}
