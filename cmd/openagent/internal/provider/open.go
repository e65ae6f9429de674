package provider

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// Open finds out which provider is meant by options that are configured.
func Open(h *cli.IO, o *settings.Options) (Provider, error) {
	p, err := New(o, h.Getenv, o.ProviderSettings())
	p.limits, p.rates = &h.Limits, o.Rates
	if err == nil {
		err = p.reached(o)
	}
	return p, err
}
