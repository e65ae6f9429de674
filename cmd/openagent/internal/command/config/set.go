package config

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/permission"
)

// valueOf parses a value of the command line: JSON or, for a text or list setting, the plain text.
// "null" gives nil, which removes the setting.
func valueOf(k config.Key, member, text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "null" {
		return nil, nil
	}
	asText := settings.EncodeValue(text)
	switch {
	case member != "", k.Type == config.Text, k.Type == config.Span:
		return asText, nil
	case k.Type == config.Rules && !strings.HasPrefix(strings.TrimSpace(text), "["):
		var list []permission.Rule
		if err := settings.RuleFlag(&list)(text); err != nil {
			return nil, err
		}
		return settings.EncodeValue(list), nil
	case k.Type == config.Texts && !strings.HasPrefix(strings.TrimSpace(text), "["):
		var words []string
		for _, w := range strings.Split(text, ",") {
			words = append(words, strings.TrimSpace(w))
		}
		return settings.EncodeValue(words), nil
	}
	if !json.Valid([]byte(text)) {
		return asText, nil // so that the error names the expected type
	}
	return json.RawMessage(text), nil
}

func setConfig(ctx context.Context, h *cli.IO, o *configOptions, name, text string) error {
	name = keyOf(name)
	k, member, err := config.Find(name)
	if err != nil {
		return cli.Usagef("config set: %w (see openagent config list)", err)
	}
	scopes := map[config.Scope]bool{config.User: o.user, config.Project: o.project, config.Local: o.local}
	scope := config.User
	chosen := 0
	for s, wanted := range scopes {
		if wanted {
			scope = s
			chosen++
		}
	}
	if chosen > 1 {
		return cli.Usagef("use only one of --user, --project and --local")
	}
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	f, ok := settings.ConfigOptions(h, &o.Options, dir).File(scope)
	switch {
	case !ok && scope == config.User:
		return cli.Usagef("config set: the home folder is unknown; set OPENAGENT_HOME")
	case !ok:
		return cli.Usagef("config set: %s is your own folder, not a project; use --user", dir)
	}
	value, err := valueOf(k, member, text)
	if err != nil {
		return cli.Usagef("config set: %s: %w", name, err)
	}
	change, err := config.Set(ctx, f, name, value)
	if err != nil {
		return cli.Usagef("config set: %w", err)
	}
	if scope != config.User && change.After != "" {
		if err := settings.TrustChange(ctx, h, f, change); err != nil {
			return err
		}
	}
	return tellOfChange(ctx, h, o, f, name)
}

// tellOfChange reports the effective source of a setting if it is not the changed file.
func tellOfChange(ctx context.Context, h *cli.IO, o *configOptions, f config.File, name string) error {
	c, _, err := inForce(ctx, h, o)
	if err != nil {
		h.Warn("%v", err) // the change itself succeeded
		return nil
	}
	layers, err := c.Settings.Explain(name)
	if err != nil {
		return err
	}
	for _, l := range layers {
		if l.Source.File == f.Path && !l.Counts {
			h.Warn("%s in %s: %s", name, f.Path, l.Why)
		}
	}
	return nil
}
