// Package triggerstore has the triggers of package trigger, which says how requests are signed,
// the stores that keep them, the handler that answers requests, and the client.
package triggerstore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/openagent-go/agent/internal/web"
)

// A Trigger is something that can be started: one of ours by others, or one of
// others by us.
type Trigger struct {
	ID     string `json:"id"` // see [NewID]
	Name   string `json:"name"`
	Prompt string `json:"prompt,omitempty"`
	// URL is where a trigger of others is started, http or https. It is empty for
	// one of ours.
	URL string `json:"url,omitempty"`
	// Schedule says when the trigger is started by itself. Its form is the host's,
	// who does the starting.
	Schedule string    `json:"schedule,omitempty"`
	Dir      string    `json:"dir,omitempty"` // the folder that it belongs to, absolute, see [In]
	Enabled  bool      `json:"enabled"`
	Created  time.Time `json:"created"`
}

// A Secret is a key that two sides share. It prints and encodes as ***; a
// conversion to string shows it.
type Secret string

const hidden = "***"

// String returns "***".
func (Secret) String() string { return hidden }

// GoString returns "***".
func (Secret) GoString() string { return hidden }

// MarshalText returns "***".
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue returns "***".
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// NewSecret makes a secret of 260 random bits.
func NewSecret() Secret { return Secret(rand.Text() + rand.Text()) }

// NewID makes an id of 130 random bits.
func NewID() string { return strings.ToLower(rand.Text()) }

// A Record is a Trigger with its secrets. A request may be signed with any of
// them, and ours are signed with the first: a new one is put in front, and the
// old one goes once both sides have the new one.
type Record struct {
	Trigger
	Secrets []Secret
}

const (
	maxID      = 64
	maxName    = 100
	maxPrompt  = 64 << 10
	maxDir     = 4 << 10
	maxSecrets = 4
	minSecret  = 16 // bytes
	maxSecret  = 256
	maxRecords = 1000
)

// Check reports the first thing that is wrong with the record.
func (r *Record) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("checking a trigger: %s", fmt.Sprintf(format, args...))
	}
	switch {
	case !isToken(r.ID, 1, maxID):
		return bad("the id must be 1 to %d characters of A-Z a-z 0-9 _ -", maxID)
	case strings.TrimSpace(r.Name) == "" || len(r.Name) > maxName || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }):
		return bad("the name must be 1 to %d bytes of printable text", maxName)
	case len(r.Prompt) > maxPrompt:
		return bad("the prompt is longer than %d bytes", maxPrompt)
	case len(r.Schedule) > maxName:
		return bad("the schedule is longer than %d bytes", maxName)
	case !isFolder(r.Dir):
		return bad("the folder must be an absolute path of at most %d bytes", maxDir)
	case len(r.Secrets) == 0 || len(r.Secrets) > maxSecrets:
		return bad("it has %d secrets; it needs 1 to %d", len(r.Secrets), maxSecrets)
	}
	for _, s := range r.Secrets {
		if len(s) < minSecret || len(s) > maxSecret {
			return bad("a secret must have %d to %d bytes", minSecret, maxSecret)
		}
	}
	if r.URL != "" {
		if _, err := web.Parse(r.URL); err != nil {
			return bad("%v", err)
		}
	}
	return nil
}

// ErrUnknown is matched by the error for a trigger that is not there.
var ErrUnknown = errors.New("there is no such trigger")

// isToken reports whether s has min to max characters of A-Z a-z 0-9 _ -.
func isToken(s string, min, max int) bool {
	if len(s) < min || len(s) > max {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
