package auth

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/keys"
	"github.com/openagent-go/agent/internal/providers"
)

// A loginStatus is what "openagent auth status --json" prints.
type loginStatus struct {
	LoggedIn  bool   `json:"loggedIn"`
	Method    string `json:"authMethod"`   // one of the constants below
	Provider  string `json:"apiProvider"`  // name of the provider
	KeySource string `json:"apiKeySource"` // a variable, apiKeyHelper, keyring or keys.json; "" without a key
	Config    string `json:"configDirectory"`
	Projects  string `json:"projectsDirectory"` // where sessions are
}

// How the program logs in to a provider.
const (
	byKey         = "api_key"
	byHelper      = "api_key_helper"
	byCredentials = "third_party" // of a cloud
	notNeeded     = "not_needed"
	noMethod      = "none"
)

func statusOf(ctx context.Context, h *cli.IO) (loginStatus, error) {
	s := loginStatus{Method: noMethod}
	if home, err := h.Home(); err == nil {
		s.Config, s.Projects = home, filepath.Join(home, "sessions")
	}
	p, err := configured(ctx, h)
	if err != nil {
		return s, err
	}
	s.Provider = p.Name.Value
	switch {
	case providers.IsPlatform(p.Name.Value):
		from, err := p.Credentials(ctx)
		if err != nil {
			h.Warn("%v", err)
			return s, nil
		}
		s.LoggedIn, s.Method, s.KeySource = true, byCredentials, from
	case p.Helper != nil:
		s.LoggedIn, s.Method, s.KeySource = true, byHelper, "apiKeyHelper"
	case p.Key.Value != "":
		s.LoggedIn, s.Method, s.KeySource = true, byKey, p.Key.Source
	case !p.NeedsKey():
		s.LoggedIn, s.Method = true, notNeeded
	}
	return s, nil
}

func status(ctx context.Context, h *cli.IO, o *authOptions) error {
	s, err := statusOf(ctx, h)
	if err != nil {
		return err
	}
	if o.json {
		if err := cli.ShowLine(h, s); err != nil {
			return err
		}
	} else if err := h.Show(s.text(h)); err != nil {
		return err
	}
	if !s.LoggedIn {
		return cli.ExitCode(cli.ExitInternal)
	}
	return nil
}

func (s loginStatus) text(h *cli.IO) string {
	switch {
	case !s.LoggedIn:
		return fmt.Sprintf("%s: no key. Store one with openagent auth login %[1]s\n", s.Provider)
	case s.Method == notNeeded:
		return s.Provider + ": no key needed\n"
	case s.Method == byCredentials:
		return fmt.Sprintf("%s: %s\n", s.Provider, h.OneLine(s.KeySource))
	case s.KeySource == string(keys.Keyring), s.KeySource == string(keys.File):
		return fmt.Sprintf("%s: the key is in %s\n", s.Provider, where(h, keys.Place(s.KeySource)))
	}
	return fmt.Sprintf("%s: the key comes from %s\n", s.Provider, s.KeySource)
}
