package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/wire"
)

// A Profile describes a host whose address does not tell how it differs from others, such
// as a gateway or a server on an unusual port. Like names a known host that it resembles.
// The other fields add to the differences of that host. Do not change a Profile once a
// [Client] has it.
type Profile struct {
	// Like is a known host: openai, azure, openrouter, vercel, deepseek, glm, kimi, groq,
	// xai, mistral, ollama, llamacpp, vllm, lmstudio, gemini, huggingface or avian. It
	// tells how to ask for thinking, how reasoning is sent back, which schemas tools have,
	// and more. "": chosen by the client's BaseURL.
	Like string
	// Name is the provider of the host's models in the client's Catalog. "": Like.
	Name string
	// Keys are the environment variables that may hold the key, instead of those of Like.
	// OPENAI_API_KEY comes last, unless the host is Keyless.
	Keys []string
	// KeyHeader is the header for the key. "": that of Like; most take it in Authorization,
	// as a bearer token.
	KeyHeader string
	// Keyless: the host works without a key. Loopback addresses always do.
	Keyless bool
	// Limit is the name of the member that limits the output. "": as Like says.
	Limit string
	// Hottest is the highest temperature. 0: as Like says.
	Hottest float64
	// Members is a JSON object whose members are added to each request, instead of those
	// of Like.
	Members json.RawMessage
	// NoStreamOptions: the host refuses stream_options, and sends usage without being
	// asked.
	NoStreamOptions bool
	// NoStop: the host refuses stop sequences.
	NoStop bool
	// NoImages: no model of the host reads images.
	NoImages bool
	// Files: the host accepts PDF documents.
	Files bool
	// Formats: response_format accepts a json_schema, also together with tools. The
	// catalogue and the models' names say for which models.
	Formats bool
}

// whole returns all differences of the host at a base URL.
func (p *Profile) whole(base string) (*chat.Profile, error) {
	var host chat.Profile
	if p.Like == "" {
		host = *chat.ProfileAt(chat.Base(base))
		host.BaseURL = "" // it may be reached at another address
	} else {
		known, ok := chat.ProfileOf(p.Like)
		if !ok {
			return nil, unlike(p.Like)
		}
		host = *known
	}
	host.Name, host.KeyHeader, host.Limit = cmp.Or(p.Name, host.Name), cmp.Or(p.KeyHeader, host.KeyHeader), cmp.Or(p.Limit, host.Limit)
	host.Hottest = cmp.Or(p.Hottest, host.Hottest)
	if p.Keys != nil {
		host.Keys = p.Keys
	}
	if p.Members != nil {
		host.Members = p.Members
	}
	host.Keyless, host.NoStreamOptions, host.NoStop = p.Keyless || host.Keyless, p.NoStreamOptions || host.NoStreamOptions, p.NoStop || host.NoStop
	host.NoImages, host.Files, host.Formats = p.NoImages || host.NoImages, p.Files || host.Files, p.Formats || host.Formats
	return &host, nil
}

// unlike returns the error for an unknown host.
func unlike(name string) error {
	var known []string
	for _, p := range chat.Profiles() {
		known = append(known, p.Name)
	}
	slices.Sort(known)
	return wire.Invalid("openai", "the host %q of Profile.Like is unknown; write one of %s", name, strings.Join(known, ", "))
}
