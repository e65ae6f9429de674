// Package live shows sessions of this process to browsers: the session of a conversation, and shares
// of sessions for others.
package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/sharetext"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/serve"
)

// Shares returns how the sessions of a project are shared. With keep, the shares of the sessions in a
// folder outlast this process. more returns further secrets; nil: there are none.
func Shares(ctx context.Context, h *cli.IO, o *settings.Options, project, sessions string, keep bool, more func() []string) (*serve.Shares, error) {
	s, err := config.Load(settings.ConfigOptions(h, o, project))
	if err != nil {
		return nil, settings.LoadError(err)
	}
	out := new(serve.Shares)
	s.Decode("share.redact", &out.Rules)
	if _, err := sharetext.New(sharetext.Options{Own: out.Rules}); err != nil {
		return nil, cli.Usagef("the setting share.redact: %w", err)
	}
	known := slices.Clone(h.Secrets)
	if configured, err := settings.Configure(ctx, h.Fork(), o, project, false); err == nil {
		known = append(known, configured.SecretValues()...)
		if p, err := provider.Open(h.Fork(), configured); err == nil {
			known = append(known, p.Secrets()...)
		}
	}
	out.Secrets = func() []string {
		if more == nil {
			return known
		}
		return append(slices.Clip(known), more()...)
	}
	if keep {
		if out.File, err = file(h, sessions, "shares", ".json"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// file returns the name of a file about a folder of sessions.
func file(h *cli.IO, sessions, folder, ext string) (string, error) {
	home, err := h.Home()
	if err != nil {
		return "", err
	}
	if whole, err := filepath.EvalSymlinks(sessions); err == nil {
		sessions = whole
	}
	sum := sha256.Sum256([]byte(sessions))
	return filepath.Join(home, "serve", folder, hex.EncodeToString(sum[:16])+ext), nil
}

// Claim notes that this process serves the sessions of a folder, until the returned function is called
// or the process ends. Only one process can claim a folder: others go on without.
func Claim(h *cli.IO, sessions, address string) (release func(), err error) {
	name, err := file(h, sessions, "at", "")
	if err != nil {
		return func() {}, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return func() {}, fmt.Errorf("noting the address: %w", err)
	}
	f, err := safefile.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return func() {}, fmt.Errorf("noting the address: %w", err)
	}
	held, err := safefile.TryLock(f, safefile.Exclusive)
	if err == nil && held {
		if err = f.Truncate(0); err == nil {
			_, err = f.Write([]byte(address + "\n"))
		}
	}
	if err != nil || !held {
		f.Close()
		return func() {}, err
	}
	return func() {
		_ = safefile.Unlock(f)
		f.Close()
	}, nil
}

// Running returns the address of the process that has claimed a folder of sessions, "" if none runs.
func Running(h *cli.IO, sessions string) string {
	name, err := file(h, sessions, "at", "")
	if err != nil {
		return ""
	}
	f, err := safefile.Open(name, os.O_RDWR)
	if err != nil {
		return ""
	}
	defer f.Close()
	if free, err := safefile.TryLock(f, safefile.Shared); err != nil || free {
		_ = safefile.Unlock(f)
		return ""
	}
	address, err := plainfile.ReadFile(name, 1<<10)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(address))
}

// A Request says what to share.
type Request struct {
	Session  string `json:"session"`
	Live     bool   `json:"live,omitempty"`
	From     int64  `json:"from,omitempty"`
	To       int64  `json:"to,omitempty"`
	Lasts    string `json:"expires_in,omitempty"`
	Password string `json:"password,omitempty"`
	Results  string `json:"results,omitempty"`
}

// A Preview says what a share would hide.
type Preview struct {
	Code  string `json:"preview"`
	Items int    `json:"items"`
	Left  int    `json:"left_out"`
	Rules []struct {
		Rule    string   `json:"rule"`
		Count   int      `json:"count"`
		Samples []string `json:"samples"`
	} `json:"rules"`
	Notice string `json:"notice"`
}

// Lines shows a preview to a person.
func (p Preview) Lines(h *cli.IO) []string {
	out := []string{"The page would show " + cli.Plural(p.Items, "item") + " of the session."}
	if p.Left > 0 {
		out[0] += " " + cli.Plural(p.Left, "large text") + " would be left out."
	}
	var none []string
	for _, r := range p.Rules {
		if r.Count == 0 {
			none = append(none, r.Rule)
			continue
		}
		out = append(out, fmt.Sprintf("hidden: %s, %s", h.OneLine(r.Rule), cli.Plural(r.Count, "time")))
		for _, s := range r.Samples {
			out = append(out, "    "+text.Runes(h.OneLine(s), 140))
		}
	}
	if len(none) > 0 {
		out = append(out, "found nothing: "+h.OneLine(strings.Join(none, ", ")))
	}
	return append(out, p.Notice)
}

// A Share is a link, or a share in the list.
type Share struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"`
	Session  string    `json:"session"`
	Live     bool      `json:"live"`
	From     int64     `json:"from"`
	To       int64     `json:"to"`
	Expires  time.Time `json:"expires"`
	Password bool      `json:"password"`
	Viewers  []struct {
		Browser string `json:"browser"`
	} `json:"viewers"`
}

// Until says when a share expires.
func (s Share) Until() string { return s.Expires.Local().Format("2006-01-02 15:04") }

// Link returns the link of a new share on a server.
func (s Share) Link(address string) string { return strings.TrimSuffix(address, "/") + s.Path }

func decode(data []byte, into any) error {
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}
