package provider

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/keys"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/web"
	"github.com/openagent-go/agent/llm/limit"
)

// Open finds out which provider is meant by options that are configured.
func Open(h *cli.IO, o *settings.Options) (Provider, error) {
	files := o.ProviderSettings()
	files.Stored = stored(h)
	p, err := New(o, h.Getenv, files)
	p.Limiter = func(provider, base, key string) *limit.Limiter {
		return h.Limits.For([3]string{provider, base, key}, o.Rates)
	}
	if err == nil {
		err = p.reached(o)
	}
	return p, err
}

// stored returns the function that finds stored keys. It reads each one once, and warns of one that
// cannot be read.
func stored(h *cli.IO) func(provider string) providers.Setting {
	var mu sync.Mutex
	found := map[string]providers.Setting{}
	return func(provider string) providers.Setting {
		mu.Lock()
		defer mu.Unlock()
		name := keys.NameOf(provider)
		if s, ok := found[name]; ok || name == "" {
			return s
		}
		store, err := keys.Open(h)
		if err != nil {
			return providers.Setting{} // without a home folder nothing is stored
		}
		key, place, err := store.Get(name)
		if err != nil {
			h.Warn("%v", err)
		}
		found[name] = providers.Setting{Value: key, Source: string(place)}
		return found[name]
	}
}

// reached adds what settings say of how models are reached.
func (p *Provider) reached(o *settings.Options) error {
	if p.Name.Value == providers.DemoName || o.Settings == nil {
		return nil
	}
	way := parts.Transport(o.Settings)
	p.hidden = way.Secrets()
	var err error
	if p.HTTP, err = way.Client(); err != nil {
		return cli.Usagef("reaching the models: %v", err)
	}
	if o.Wire != nil {
		p.HTTP = wired(p.HTTP, o.Wire)
	}
	if h := parts.KeyHelper(o.Settings); h != nil {
		p.Helper, p.Key = h.Key, providers.Setting{}
		watch := new(atomic.Pointer[func(ended bool, err error)])
		p.OnKeyCommand, h.Watch = watch, func(ended bool, err error) {
			if tell := watch.Load(); tell != nil {
				(*tell)(ended, err)
			}
		}
	}
	return nil
}

// wired returns a client with another transport. The client may be nil.
func wired(c *http.Client, wire func(http.RoundTripper) http.RoundTripper) *http.Client {
	own := http.Client{}
	if c != nil {
		own = *c
	}
	if own.Transport == nil {
		own.Transport = http.DefaultTransport
	}
	own.Transport = wire(own.Transport)
	return &own
}

// Secrets are the keys at hand.
func (p Provider) Secrets() []string {
	all := slices.Clone(p.hidden)
	names := append([]string{"OPENAGENT_API_KEY", providers.OldVariables["OPENAGENT_API_KEY"], "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"}, web.SearchVariables[:3]...)
	for _, host := range chat.Profiles() { // any of them may be gone over to
		names = append(names, host.Keys...)
	}
	for _, name := range names {
		if v := p.Environ.First(name).Value; v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	if p.Key.Value != "" && !slices.Contains(all, p.Key.Value) {
		all = append(all, p.Key.Value)
	}
	return all
}
