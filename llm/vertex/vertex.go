// Package vertex reaches Claude on Vertex AI. It uses the Messages API by rawPredict and
// streamRawPredict (https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai),
// with tokens of Google Cloud and without an SDK of Google.
//
//	m := vertex.Model("claude-sonnet-4-6") // project and credentials as Google's programs find them
package vertex

import (
	"context"
	"net/http"
	"time"

	google "github.com/openagent-go/agent/internal/vertex"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
)

// A Client reaches the models of a project. The zero Client is ready to use: it takes
// project, region and credentials from where Google's own programs find them. Its
// fields must not change once a model of it is in use. It never retries.
//
// The embedded Client holds what is the same everywhere: HTTP client, headers,
// catalogue, limiter, time limits. Its BaseURL is where requests go, or else
// ANTHROPIC_VERTEX_BASE_URL, or the region's public host. Its Key gives tokens where
// no Tokens are given, such as what gcloud auth print-access-token prints.
//
// Prices are those that the catalogue has for the model at Anthropic. What a region
// adds to them is not known here: a catalogue may have entries of its own with the
// provider vertex and the name of a model.
type Client struct {
	anthropic.Client
	Project string // "": ANTHROPIC_VERTEX_PROJECT_ID, GOOGLE_CLOUD_PROJECT, GCLOUD_PROJECT, else that of the credentials' file
	Region  string // "": CLOUD_ML_REGION, GOOGLE_CLOUD_LOCATION, else global
	// Tokens gives the access tokens of requests. It is asked again 5 minutes before they
	// expire, and when Google refuses them. An error ends the request. Nil: Key, else the
	// places where Google's own programs look: the file of GOOGLE_APPLICATION_CREDENTIALS,
	// gcloud's file, the metadata server. [FromJSON] makes it of a file of credentials.
	Tokens func(ctx context.Context) (Token, error)
}

// A Token is an access token of Google Cloud.
type Token struct {
	Value   string    // sent as a bearer token
	Expires time.Time // zero: never
}

// FromJSON returns the Tokens of a file of credentials: of a service account (a JWT signed by
// its key is exchanged for a token), or of a user who logged in with gcloud. client reaches
// the token server; nil: http.DefaultClient.
func FromJSON(data []byte, client *http.Client) (func(ctx context.Context) (Token, error), error) {
	source, err := google.FromJSON(data, client)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Token, error) {
		t, err := source(ctx)
		return Token{Value: t.Value, Expires: t.Expires}, err
	}, nil
}

// Model returns the model of that name (claude-sonnet-4-5@20250929), reached through
// the zero Client.
func Model(name string) llm.Model { return new(Client).Model(name) }

// Model returns the model of that name. It has a method Info, see [llm.InfoOf].
func (c *Client) Model(name string) llm.Model {
	inner := &google.Client{Client: c.Client, Project: c.Project, Region: c.Region}
	if c.Tokens != nil {
		inner.Tokens = func(ctx context.Context) (google.Token, error) {
			t, err := c.Tokens(ctx)
			return google.Token{Value: t.Value, Expires: t.Expires}, err
		}
	}
	return inner.Model(name)
}
