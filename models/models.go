// Package models opens models by name, with keys from the environment.
//
//	m, err := models.Open("anthropic/claude-sonnet-4-6") // key from ANTHROPIC_API_KEY
//
// A program that imports this package links the clients of all providers. Import one
// client, such as llm/anthropic, to link only that one.
package models

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// A Source opens models by name. The zero Source knows the built-in providers and reads the
// environment of the process. It is safe for concurrent use. Do not change its fields once
// it is in use.
//
// The maps have the names of providers as keys; [Providers] lists them.
type Source struct {
	// Getenv returns an environment variable. Nil: os.Getenv. AWS's, Azure's and Google's
	// own credentials always come from the process.
	Getenv func(name string) string
	// Keys are API keys. They come before those of the environment.
	Keys map[string]string
	// KeyFuncs return the key of each request, such as a short-lived token. They come
	// before Keys.
	KeyFuncs map[string]llm.KeyFunc
	// BaseURLs are addresses of providers. They come before those of the environment. A
	// name that is no built-in provider adds one: a host of OpenAI's Chat Completions. Its
	// key is in Keys, in KeyFuncs or in NAME_API_KEY. It may need none.
	BaseURLs map[string]string
	// Catalog has windows and prices of your own models. Nil: the built-in entries.
	Catalog *catalog.Table
	// HTTP is the client of all requests, such as one of package llm/transport. Nil:
	// http.DefaultClient.
	HTTP *http.Client
}

// ErrNoKey is matched by the error of Open for a provider that needs a key and has none.
// The error names the environment variables that may hold one.
var ErrNoKey = errors.New("no API key")

// Open opens a model with the zero [Source].
func Open(name string) (llm.Model, error) { return Source{}.Open(name) }

// Open returns the model with the given name. It makes no request. A name has one of these
// forms:
//
//   - "provider/name" or "provider:name", such as "openrouter/openai/gpt-5.2" or
//     "ollama/llama3.3:70b". The name is passed to the provider as it is.
//   - a name alone that tells its provider, such as "claude-sonnet-4-6" or "gpt-5.2".
//   - "opus", "sonnet" or "haiku", also after a provider: the latest one in the catalog.
//   - "": the default model of the provider whose key is in the environment.
//
// The name of the returned model, which journals keep, leads to the same model again. Open
// returns an error for an unknown provider, for a provider without a key ([ErrNoKey]), and
// for a name that its provider surely does not have. You can use Open as Agent.Models.
func (s Source) Open(name string) (llm.Model, error) {
	name = strings.TrimSpace(name)
	m, err := s.open(name)
	switch {
	case err == nil:
		return m, nil
	case name == "" && errors.Is(err, ErrNoKey):
		return nil, fmt.Errorf("opening the default model: %w; or set the key of another provider, or name a model", err)
	case name == "":
		return nil, fmt.Errorf("opening the default model: %w", err)
	}
	return nil, fmt.Errorf("opening the model %q: %w", name, err)
}

func (s Source) open(name string) (llm.Model, error) {
	at, model, err := s.find(name)
	if err != nil {
		var missing *providers.NoKeyError
		if errors.As(err, &missing) {
			err = noKeyError{err}
		}
		return nil, err
	}
	m, label := at.NewModel(model), at.Name.Value+":"+model
	if bare, same, err := s.find(model); err == nil && same == model && bare.Name.Value == at.Name.Value {
		label = model
	}
	if label == m.Name() {
		return m, nil
	}
	return llm.Named(m, label), nil
}

// find returns the provider of a model and its name there.
func (s Source) find(name string) (at providers.Provider, model string, err error) {
	p := s.provider()
	to, model, named := split(name)
	if named && p.Knows(to) {
		if model == "" {
			return p, "", fmt.Errorf("write a model after %s/", to)
		}
		return reach(p, to, model, true)
	}
	if p.Knows(name) {
		return p, "", fmt.Errorf("%s is a provider; write a model after %[1]s/", name)
	}
	p.Model.Value = name
	at, model, err = reach(p, p.Guess().Value, name, false)
	if near := text.Nearest(to, p.Known()); err != nil && named && near != "" {
		err = fmt.Errorf("there is no provider %s; did you mean %s?", to, near+name[len(to):])
	}
	return at, model, err
}

// reach returns a provider and the name of a model there. Named: the name said which
// provider.
func reach(p providers.Provider, to, model string, named bool) (providers.Provider, string, error) {
	at, err := p.OtherProvider(to)
	if err != nil {
		return at, "", err
	}
	if at.BaseURL.Value != "" || !providers.IsPlatform(to) {
		if err := at.CheckBase(); err != nil {
			return at, "", err
		}
	}
	if model == "" {
		model, named = at.FirstModel(), true
	}
	if providers.IsSize(model) {
		model, err = at.ModelOfSize(model)
		return at, model, err
	}
	return at, model, at.Check(model, named)
}

// split takes the provider off a name.
func split(name string) (provider, model string, ok bool) {
	i := strings.IndexAny(name, "/:")
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// provider returns the provider with which a search begins: none that has a name.
func (s Source) provider() providers.Provider {
	getenv := s.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	return providers.Provider{
		Environ: func(name string) string {
			if strings.HasPrefix(name, "OPENAGENT_") || strings.HasPrefix(name, "CODEANY_") {
				return "" // for the command
			}
			return getenv(name)
		},
		Keys: s.Keys, KeyFuncs: s.KeyFuncs, BaseURLs: s.BaseURLs, Models: s.Catalog, HTTP: s.HTTP,
	}
}

// A noKeyError is an error that [ErrNoKey] matches.
type noKeyError struct{ error }

func (e noKeyError) Is(target error) bool { return target == ErrNoKey }

// A Provider describes a provider whose models Open knows.
type Provider struct {
	Name string // as in "NAME/model"
	// Keys are the environment variables that may hold the key. The first one that is set
	// counts. There are none for bedrock and vertex: AWS's and Google's own programs say
	// where credentials are.
	Keys []string
	// BaseURLs are the environment variables that may hold the address.
	BaseURLs []string
	// BaseURL is the address that counts otherwise. "": the provider has none.
	BaseURL string
	// Keyless: models can be used without a key.
	Keyless bool
}

// Providers returns the built-in providers.
func Providers() []Provider {
	var list []Provider
	for _, name := range providers.Names {
		p := providers.Provider{Name: providers.Setting{Value: name}, BaseURL: providers.DefaultBase(name)}
		own := Provider{Name: name, BaseURLs: providers.Variables("BASE_URL", name)[1:], Keyless: p.Keyless()}
		if keys := p.KeyVariables(); len(keys) > 1 {
			own.Keys = keys[1:]
		}
		if name != providers.AzureName {
			own.BaseURL = p.BaseURL.Value
		}
		list = append(list, own)
	}
	return list
}
