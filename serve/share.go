package serve

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/sharetext"
)

// Shares lets users share sessions: anybody with a link sees one session, read-only and without
// secrets, until the link expires or is revoked.
type Shares struct {
	// File keeps the shares, so that a restart of the program keeps them. Servers may use the
	// same file if they serve the same sessions. "": shares end with the Server.
	File string
	// Secrets returns values that no share shows, beside those of the environment. Values of less
	// than 8 bytes are ignored. Nil: there are none.
	Secrets func() []string
	// Rules are regular expressions. What they match within a line is hidden as well.
	Rules []string
}

const (
	shareTime      = 24 * time.Hour      // of a share whose maker has not said how long
	maxShareTime   = 30 * 24 * time.Hour //
	maxShares      = 200                 // of all users
	maxShareFile   = 1 << 20
	minPassword    = 8
	maxPassword    = 1000             // bytes
	passwordRounds = 600_000          // of PBKDF2
	previewTime    = 10 * time.Minute // in which a preview can be confirmed
	maxPreviews    = 100
	maxGuesses     = 10  // wrong passwords a minute, of a share and a client
	maxAllGuesses  = 100 // of a share and all clients
	maxWatching    = 16  // streams of a share
	checkShares    = 5 * time.Second
)

// A share is one on record. What opens it is there only as a hash.
type share struct {
	ID       string         `json:"id"`
	Hash     string         `json:"hash"` // of the token in its link
	User     string         `json:"user,omitempty"`
	Session  string         `json:"session"`
	Began    time.Time      `json:"began"`        // the first fact of the session: another session may get its id
	From     int64          `json:"from"`         // first fact that it shows
	To       int64          `json:"to,omitempty"` // last fact; 0: it is live
	Made     time.Time      `json:"made"`
	Expires  time.Time      `json:"expires"`
	Password *sharePassword `json:"password,omitempty"`
	Results  string         `json:"results,omitempty"` // "omit" leaves large ones out
	Images   bool           `json:"images,omitempty"`
}

// A sharePassword is a password as a hash.
type sharePassword struct {
	Salt   []byte `json:"salt"`
	Rounds int    `json:"rounds"`
	Hash   []byte `json:"hash"`
}

// newPassword hashes a password. "" is none.
func newPassword(given string) (*sharePassword, error) {
	if given == "" {
		return nil, nil
	}
	p := &sharePassword{Salt: make([]byte, 16), Rounds: passwordRounds}
	_, _ = rand.Read(p.Salt)
	var err error
	p.Hash, err = pbkdf2.Key(sha256.New, given, p.Salt, p.Rounds, sha256.Size)
	return p, err
}

// is reports whether a text is the password.
func (p *sharePassword) is(given string) bool {
	hash, err := pbkdf2.Key(sha256.New, given, p.Salt, p.Rounds, sha256.Size)
	return err == nil && subtle.ConstantTimeCompare(hash, p.Hash) == 1
}

// sharing is what a server knows of its shares.
type sharing struct {
	writing sync.Mutex // held while shares are changed
	guess   sync.Mutex // held while a password is checked: that costs time

	mu       sync.Mutex // guards the fields below
	list     []share    // without a file
	previews map[string]preview
	feeds    map[string]*feed    // by share
	entered  map[[32]byte]string // shares whose password a browser knows, by its cookie
	wrong    map[string][]guess  // wrong passwords of the last minute, by share
	streams  int                 // of all shares
	rules    *ruleSet            // made of the secrets below
	secrets  []string            // all that were ever known: facts keep those of a session that was closed
	known    map[string]bool     // of secrets
	ended    bool                // after Shutdown
}

// A guess is a wrong password.
type guess struct {
	at     time.Time
	client string // its address
}

// A preview is a share that its maker has not confirmed.
type preview struct {
	share   share
	expires time.Time
}

var (
	errNoShares = &Error{http.StatusNotFound, "no_shares", "this server does not share sessions", "set Server.Shares"}
	errDead     = &Error{http.StatusNotFound, "no_share", "this link does not work", "it may have expired, or somebody has revoked it: ask for a new one"}
)

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// random returns bits as hexadecimal digits.
func random(bits int) string {
	b := make([]byte, bits/8)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// shares returns the shares that have not expired.
func (s *Server) shares() ([]share, error) {
	if s.Shares == nil {
		return nil, nil
	}
	if s.Shares.File == "" {
		s.sharing.mu.Lock()
		defer s.sharing.mu.Unlock()
		return unexpired(slices.Clone(s.sharing.list)), nil
	}
	var file struct{ Shares []share }
	data, err := plainfile.ReadFile(s.Shares.File, maxShareFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the shares: %w; remove the file to revoke all shares", err)
	}
	return unexpired(file.Shares), nil
}

func unexpired(all []share) []share {
	now := time.Now()
	return slices.DeleteFunc(all, func(sh share) bool { return !now.Before(sh.Expires) })
}

// changeShares changes the list of shares. A crash leaves the old list or the new one.
func (s *Server) changeShares(ctx context.Context, change func([]share) ([]share, error)) (err error) {
	s.sharing.writing.Lock()
	defer s.sharing.writing.Unlock()
	name := s.Shares.File
	if name == "" {
		s.sharing.mu.Lock()
		defer s.sharing.mu.Unlock()
		list, err := change(unexpired(s.sharing.list))
		if err == nil {
			s.sharing.list = list
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("making the folder of shares: %w", err)
	}
	unlock, err := safefile.Lock(ctx, name+".lock")
	if err != nil {
		return fmt.Errorf("locking the shares: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	list, err := s.shares()
	if err != nil {
		return err
	}
	if list, err = change(list); err != nil {
		return err
	}
	data, err := json.Marshal(struct{ Shares []share }{list})
	if err != nil {
		return err
	}
	if err := (safefile.Replacement{Temp: safefile.TempName(name)}).Bytes(name, data); err != nil {
		return fmt.Errorf("keeping the shares: %w", err)
	}
	return nil
}

// shareOf returns the share that a token opens.
func (s *Server) shareOf(token string) (share, error) {
	if len(token) != 32 {
		return share{}, errDead
	}
	all, err := s.shares()
	if err != nil {
		return share{}, err
	}
	hash := hashOf(token)
	for _, sh := range all {
		if sh.Hash == hash {
			return sh, nil
		}
	}
	return share{}, errDead
}

// lasts reports whether a share is still there.
func (s *Server) lasts(id string) bool {
	all, err := s.shares()
	return err == nil && slices.ContainsFunc(all, func(sh share) bool { return sh.ID == id })
}

// revokeShare ends a share and its streams.
func (s *Server) revokeShare(ctx context.Context, user, id string) error {
	err := s.changeShares(ctx, func(all []share) ([]share, error) {
		i := slices.IndexFunc(all, func(sh share) bool { return sh.ID == id && sh.User == user })
		if i < 0 {
			return nil, &Error{http.StatusNotFound, "no_share", "there is no such share", "GET /v1/shares lists the shares"}
		}
		return slices.Delete(all, i, i+1), nil
	})
	if err != nil {
		return err
	}
	s.sharing.mu.Lock()
	f := s.sharing.feeds[id]
	s.sharing.mu.Unlock()
	if f != nil {
		s.endFeed(f, "revoked")
	}
	return nil
}

// A ruleSet is the rules of a time. Later ones know more secrets, never fewer.
type ruleSet struct {
	*sharetext.Rules
	known int // secrets
}

// shareRules returns what takes secrets out of shared texts.
func (s *Server) shareRules() (*ruleSet, error) {
	secrets := slices.Clone(environ.Secrets())
	if s.Shares.Secrets != nil {
		secrets = append(secrets, s.Shares.Secrets()...)
	}
	if s.Token != "" {
		secrets = append(secrets, s.Token)
	}
	s.sharing.mu.Lock()
	defer s.sharing.mu.Unlock()
	b := &s.sharing
	if b.known == nil {
		b.known = map[string]bool{}
	}
	for _, secret := range secrets {
		if !b.known[secret] {
			b.known[secret] = true
			b.secrets = append(b.secrets, secret)
		}
	}
	if b.rules != nil && b.rules.known == len(b.secrets) {
		return b.rules, nil
	}
	o := sharetext.Options{Secrets: b.secrets, Own: s.Shares.Rules}
	o.Home, _ = os.UserHomeDir()
	if u, err := user.Current(); err == nil {
		o.Users = append(o.Users, u.Username, u.Name)
	}
	o.Users = append(o.Users, os.Getenv("USER"), os.Getenv("LOGNAME"))
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		o.Hosts = append(o.Hosts, name, short)
	}
	rules, err := sharetext.New(o)
	if err != nil {
		return nil, fmt.Errorf("the rules of shares: %w", err)
	}
	b.rules = &ruleSet{rules, len(b.secrets)}
	return b.rules, nil
}

// enter checks a password, and returns the value of the cookie that replaces it.
func (s *Server) enter(sh share, client, password string) (cookie string, err error) {
	b := &s.sharing
	b.guess.Lock()
	defer b.guess.Unlock()
	now := time.Now()
	b.mu.Lock()
	recent := slices.DeleteFunc(b.wrong[sh.ID], func(g guess) bool { return now.Sub(g.at) > time.Minute })
	if b.wrong == nil {
		b.wrong = map[string][]guess{}
	}
	b.wrong[sh.ID] = recent
	b.mu.Unlock()
	own := 0
	for _, g := range recent {
		if g.client == client {
			own++
		}
	}
	if own >= maxGuesses || len(recent) >= maxAllGuesses {
		return "", tooMany("share_logins", time.Minute, "there were too many wrong passwords in the last minute", "wait a minute and try again")
	}
	right := len(password) <= maxPassword && sh.Password.is(password)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !right {
		b.wrong[sh.ID] = append(b.wrong[sh.ID], guess{now, client})
		return "", unauthorized("the password is wrong", "ask the person who sent you the link")
	}
	if len(b.entered) >= maxCookies {
		clear(b.entered)
	}
	if b.entered == nil {
		b.entered = map[[32]byte]string{}
	}
	cookie = secret()
	b.entered[sha256.Sum256([]byte(cookie))] = sh.ID
	return cookie, nil
}

// shareCookie is the name of the cookie of a share with a password.
func shareCookie(sh share) string { return "openagent_share_" + sh.ID }

// mayWatch reports whether a request has what a share needs beside its token.
func (s *Server) mayWatch(sh share, r *http.Request) bool {
	if sh.Password == nil {
		return true
	}
	c, err := r.Cookie(shareCookie(sh))
	if err != nil {
		return false
	}
	s.sharing.mu.Lock()
	defer s.sharing.mu.Unlock()
	return s.sharing.entered[sha256.Sum256([]byte(c.Value))] == sh.ID
}

// endShares ends the streams of all shares.
func (s *Server) endShares() {
	s.sharing.mu.Lock()
	s.sharing.ended = true
	var all []*feed
	for _, f := range s.sharing.feeds {
		all = append(all, f)
	}
	s.sharing.mu.Unlock()
	for _, f := range all {
		s.endFeed(f, "shutdown")
	}
}
