// Package vertex reaches Claude on Vertex AI. It uses the Messages API by rawPredict and
// streamRawPredict (https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai),
// with tokens of Google Cloud and without an SDK of Google.
// Package llm/vertex is its public face.
package vertex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/claude"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
)

const (
	// Name is the provider in errors, in llm.Info and in catalogues.
	Name    = "vertex"
	version = "vertex-2023-10-16"
)

// A Client has the fields of the one in llm/vertex, which describes them.
type Client struct {
	anthropic.Client
	Project string
	Region  string
	Tokens  TokenSource // nil: Key, else Default()
}

// Model returns the model of that name. It has a method Info, see [llm.InfoOf].
func (c *Client) Model(name string) llm.Model {
	s := &session{client: c, source: c.source()}
	inner := claude.Client(c.Client)
	return inner.ModelAt(&claude.Platform{
		Name: Name, Version: version, Streaming: true,
		URL: s.url, Count: s.tally, Base: Base, Authorize: s.authorize, Secrets: s.secrets,
	}, name)
}

func (c *Client) source() TokenSource {
	if c.Tokens != nil {
		return c.Tokens
	}
	return Default(c.HTTP)
}

// A Found says what a Client would use, for people: it holds no secret.
type Found struct {
	Project, Region string
	Source          string // of the tokens
}

// Find looks for project and region, and gets a token, without making a request
// for a model.
func (c *Client) Find(ctx context.Context) (Found, error) {
	f := Found{Project: c.project(), Region: c.region()}
	if c.Tokens == nil && c.Key != nil {
		f.Source = "the program"
		return f, nil
	}
	t, err := c.source()(ctx)
	f.Source = t.Source
	return f, err
}

func (c *Client) region() string {
	return wire.First(c.Region, env("CLOUD_ML_REGION"), env("GOOGLE_CLOUD_LOCATION"), "global")
}

func (c *Client) project() string {
	if p := wire.First(c.Project, env("ANTHROPIC_VERTEX_PROJECT_ID"), env("GOOGLE_CLOUD_PROJECT"), env("GCLOUD_PROJECT")); p != "" {
		return p
	}
	_, data, err := credentials()
	var f file
	if err != nil || json.Unmarshal(data, &f) != nil {
		return "" // what is wrong with the file is said of its credentials
	}
	return wire.First(f.ProjectID, f.QuotaProject)
}

// session is what the requests of a model share.
type session struct {
	client  *Client
	source  TokenSource
	current wire.Renewed[Token]
	keys    wire.Keys
}

var generation = regexp.MustCompile(`-v\d+@`)

// Base returns the name that Anthropic has for a model of Vertex: that of
// claude-haiku-4-5@20251001 is claude-haiku-4-5-20251001.
func Base(name string) string {
	name = generation.ReplaceAllString(strings.TrimSuffix(name, "@default"), "@")
	return strings.Replace(name, "@", "-", 1)
}

var place = regexp.MustCompile(`^[a-z]+(-[a-z]+\d+)?$`)

// host returns the host of a region: of the world, of a continent, of one place.
func host(region string) string {
	switch region {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + region + ".rep.googleapis.com"
	}
	return "https://" + region + "-aiplatform.googleapis.com"
}

func (s *session) url(model string, stream bool) (string, error) {
	if stream {
		return s.at(s.client.region(), model, "streamRawPredict")
	}
	return s.at(s.client.region(), model, "rawPredict")
}

// at returns where a model in a region is asked for what verb names.
func (s *session) at(region, model, verb string) (string, error) {
	project := s.client.project()
	switch {
	case project == "":
		return "", errors.New("no project of Google Cloud: set ANTHROPIC_VERTEX_PROJECT_ID or GOOGLE_CLOUD_PROJECT")
	case !place.MatchString(region):
		return "", fmt.Errorf("%.40q is not a region of Google Cloud; one is us-east5, or global", region)
	}
	base := wire.First(s.client.BaseURL, env("ANTHROPIC_VERTEX_BASE_URL"), host(region))
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + "/v1/projects/" + url.PathEscape(project) + "/locations/" + region +
		"/publishers/anthropic/models/" + url.PathEscape(model) + ":" + verb, nil
}

func (s *session) authorize(r *http.Request, again bool) error {
	ctx := r.Context()
	sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.client.Tokens == nil && s.client.Key != nil {
		token, err := s.keys.Ask(ctx, Name, s.client.Key, again)
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return err
	}
	t, err := s.current.Get(ctx, func(t Token) bool { return again && t.Value == sent }, func(ctx context.Context) (Token, time.Time, error) {
		t, err := s.source(ctx)
		return t, t.Expires, err
	})
	switch {
	case err != nil:
		return err
	case t.Value == "":
		return errors.New("the source of tokens gave an empty token")
	case again && t.Value == sent:
		return wire.ErrSame
	}
	s.keys.Learn(t.Value)
	r.Header.Set("Authorization", "Bearer "+t.Value)
	return nil
}

func (s *session) secrets() ([]string, int) { return s.keys.Secrets(), s.keys.Count() }
