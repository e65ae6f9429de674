// Package auth is the command "openagent auth". It stores the API keys of providers.
package auth

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/keys"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/providers"
)

type authOptions struct {
	stdin, file, json bool
}

// Command returns the command "openagent auth".
func Command(h *cli.IO) cli.Command {
	o := new(authOptions)
	loginFlags := func() cli.Flags {
		return cli.Flags{
			{Name: "stdin", Help: "read the key from stdin; the default without a terminal", Set: cli.SetTrue(&o.stdin)},
			{Name: "file", Help: "store the key in a file of yours, even if the system has a keyring", Set: cli.SetTrue(&o.file)},
		}
	}
	return cli.Command{Name: "auth", Summary: "Store the API keys of providers", Default: "status", Subcommands: []cli.Command{
		{Name: "status", Summary: "Say whether there is a key for the model, and where it comes from", Choices: keys.Providers(),
			Details:  "Exit code 0: there is a key, or none is needed. Exit code 1: there is none.\n",
			Examples: []string{"openagent auth status --json"},
			Flags: func() cli.Flags {
				return cli.Flags{{Name: "json", Help: "print one JSON object", Set: cli.SetTrue(&o.json)}}
			},
			Run: func(ctx context.Context, _ []string) error { return status(ctx, h, o) }},
		{Name: "login", Args: "[PROVIDER]", MaxArgs: 1, Choices: keys.Providers(), Summary: "Store the API key of a provider (default: the provider of your settings)",
			Details:  "You type or paste the key. The terminal does not show it.\nEnvironment variables and the setting apiKeyHelper come before a stored key.\n",
			Examples: []string{"openagent auth login anthropic", "pass show deepseek | openagent auth login deepseek --stdin"}, Flags: loginFlags,
			Run: func(ctx context.Context, args []string) error { return login(ctx, h, o, args) }},
		{Name: "logout", Args: "[PROVIDER]", MaxArgs: 1, Choices: keys.Providers(), Summary: "Remove the stored API key of a provider (default: the provider of your settings)",
			Examples: []string{"openagent auth logout anthropic"},
			Run:      func(ctx context.Context, args []string) error { return logout(ctx, h, args) }},
	}}
}

// Login is "openagent auth login" for the provider of the settings. Other commands offer it.
func Login(ctx context.Context, h *cli.IO) error { return login(ctx, h, new(authOptions), nil) }

// configured returns the provider of the settings.
func configured(ctx context.Context, h *cli.IO) (provider.Provider, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return provider.Provider{}, err
	}
	o, err := settings.Configure(ctx, h, new(settings.Options), dir, false)
	if err != nil {
		return provider.Provider{}, err
	}
	return provider.Open(h, o)
}

// providerOf returns the provider that the arguments name, or that of the settings.
func providerOf(ctx context.Context, h *cli.IO, args []string) (string, error) {
	if len(args) == 0 {
		p, err := configured(ctx, h)
		if err != nil {
			return "", err
		}
		args = []string{p.Name.Value}
	}
	name := keys.NameOf(args[0])
	switch {
	case name == "" && args[0] == providers.DemoName:
		return "", cli.Usagef("the provider demo needs no key; name another one")
	case name == "":
		return "", cli.Usagef("the provider %s takes the credentials of its cloud, not an API key; openagent doctor shows which it finds", args[0])
	case !slices.Contains(keys.Providers(), name):
		return "", cli.Usagef("there is no provider %q%s; the providers are %s", cli.Clip(name), cli.Suggestion(name, keys.Providers()), strings.Join(keys.Providers(), ", "))
	}
	return name, nil
}

func login(ctx context.Context, h *cli.IO, o *authOptions, args []string) error {
	name, err := providerOf(ctx, h, args)
	if err != nil {
		return err
	}
	store, err := keys.Open(h)
	if err != nil {
		return err
	}
	var key string
	if o.stdin || !h.InTerminal {
		if key, err = cli.ReadStdin(ctx, h, false); err != nil {
			return err
		}
	} else if key, err = h.AskSecret(ctx, fmt.Sprintf("API key of %s (it is not shown): ", name)); err != nil {
		return err
	}
	key = strings.TrimSpace(key)
	if err := keys.Check(key); err != nil {
		return cli.Usagef("auth login: %w", err)
	}
	h.Secrets = append(h.Secrets, key)
	in := keys.Anywhere
	if o.file {
		in = keys.File
	}
	place, err := store.Set(ctx, name, key, in)
	if err != nil {
		return cli.Usagef("auth login: %w", err)
	}
	if err := h.Show(fmt.Sprintf("Stored the key of %s in %s.\n", name, where(h, place))); err != nil {
		return err
	}
	if set := firstVariable(h, name); set != "" {
		h.Warn("%s is set, so the stored key is not used", set)
	}
	return nil
}

// where describes a place for people.
func where(h *cli.IO, place keys.Place) string {
	if place == keys.Keyring {
		return "the keyring of the system"
	}
	home, _ := h.Home() // it was found before
	return h.OneLine(filepath.Join(home, string(place))) + ", which only you can read"
}

// firstVariable returns the variable whose key of a provider comes before the stored one, or "".
func firstVariable(h *cli.IO, name string) string {
	p := providers.Provider{Environ: h.Getenv, Name: providers.Setting{Value: name}, BaseURL: providers.DefaultBase(name)}
	return p.Environ.First(p.KeyVariables()...).Source
}

func logout(ctx context.Context, h *cli.IO, args []string) error {
	name, err := providerOf(ctx, h, args)
	if err != nil {
		return err
	}
	store, err := keys.Open(h)
	if err != nil {
		return err
	}
	had, err := store.Remove(ctx, name)
	if err != nil {
		return cli.Usagef("auth logout: %w", err)
	}
	text := "Removed the key of " + name + ".\n"
	if !had {
		text = "No key of " + name + " is stored.\n"
	}
	if err := h.Show(text); err != nil {
		return err
	}
	if set := firstVariable(h, name); set != "" {
		h.Warn("%s is still set", set)
	}
	return nil
}
