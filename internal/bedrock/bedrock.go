// Package bedrock reaches Claude on Amazon Bedrock. It uses the Messages API by
// InvokeModel and InvokeModelWithResponseStream
// (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-invoke.html), and signs
// requests itself, without an SDK of AWS.
// Package llm/bedrock is its public face.
package bedrock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/internal/claude"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
)

const (
	// Name is the provider in errors, in llm.Info and in catalogues.
	Name    = "bedrock"
	service = "bedrock"
	version = "bedrock-2023-05-31"
)

// A Client has the fields of the one in llm/bedrock, which describes them.
type Client struct {
	anthropic.Client
	Region      string
	Credentials Provider // nil: Key, AWS_BEARER_TOKEN_BEDROCK, else Default()
}

// Model returns a model by its id, by that of an inference profile or by an ARN. It
// has a method Info, see [llm.InfoOf].
func (c *Client) Model(id string) llm.Model {
	s := &session{client: c, region: regionOf(id), provider: c.Credentials}
	if s.region == "" {
		s.region = c.region()
	}
	if s.provider == nil {
		s.provider = Default()
	}
	inner := claude.Client(c.Client)
	return inner.ModelAt(&claude.Platform{
		Name: Name, Version: version, Betas: true,
		URL: s.url, Count: s.tally, Base: Base, Authorize: s.authorize, Explain: s.explain, Secrets: s.secrets,
	}, id)
}

func (c *Client) region() string { return wire.First(c.Region, region()) }

// A Found describes the settings that a Client would use, for people: it holds no secret.
type Found struct {
	Region string // "": none, which is an error unless a model is named by its ARN
	Source string // of the credentials
	Bearer bool   // they are a Bedrock API key
}

// Find looks for region and credentials without making a request for a model.
func (c *Client) Find(ctx context.Context) (Found, error) {
	s := &session{client: c, provider: c.Credentials}
	f := Found{Region: c.region(), Bearer: s.keyed()}
	if f.Bearer {
		if f.Source = "AWS_BEARER_TOKEN_BEDROCK"; c.Key != nil || c.APIKey != "" {
			f.Source = "the program"
		}
		return f, nil
	}
	if s.provider == nil {
		s.provider = Default()
	}
	found, err := s.provider(ctx)
	f.Source = found.Source
	return f, err
}

// session is the shared data of a model's requests.
type session struct {
	client   *Client
	region   string
	provider Provider
	current  wire.Renewed[Credentials]
	keys     wire.Keys
	skew     atomic.Int64 // how far this clock is behind AWS's, learned from a refusal
	used     atomic.Int64 // the credentials of the last request
}

// profile is the geography that an inference profile's id starts with.
var profile = regexp.MustCompile(`^(us|eu|apac|jp|au|ca|us-gov|sa|me|af|global)\.`)

var suffix = regexp.MustCompile(`-v\d+(:\d+(:\d+k)?)?$`)

// Base returns Anthropic's name of a model of Bedrock: that of
// us.anthropic.claude-haiku-4-5-20251001-v1:0 is claude-haiku-4-5-20251001. The ARN of an
// application's own profile does not name the model and stays as it is.
func Base(id string) string {
	if strings.HasPrefix(id, "arn:") {
		kind, rest, _ := strings.Cut(strings.Join(strings.SplitN(id, ":", 6)[min(5, strings.Count(id, ":")):], ""), "/")
		if kind != "foundation-model" && kind != "inference-profile" {
			return id
		}
		id = rest
	}
	name, ok := strings.CutPrefix(profile.ReplaceAllString(id, ""), "anthropic.")
	if !ok {
		return id
	}
	return suffix.ReplaceAllString(name, "")
}

var regionName = regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-\d+$`)

// regionOf returns the region in an ARN, "" of other ids.
func regionOf(id string) string {
	if parts := strings.Split(id, ":"); len(parts) > 5 && parts[0] == "arn" {
		return parts[3]
	}
	return ""
}

func (s *session) url(model string, stream bool) (string, error) {
	if stream {
		return s.at(model, "/invoke-with-response-stream")
	}
	return s.at(model, "/invoke")
}

// at returns the address of a model for a verb.
func (s *session) at(model, verb string) (string, error) {
	base := wire.First(s.client.BaseURL, env("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"))
	where := s.region
	switch {
	case where == "":
		return "", errors.New("no AWS region: set AWS_REGION, or region in the profile in " + configFile())
	case !regionName.MatchString(where):
		return "", fmt.Errorf("%.40q is not an AWS region; one is us-east-1", where)
	}
	if base == "" {
		base = "https://bedrock-runtime." + where + ".amazonaws.com"
		if strings.HasPrefix(where, "cn-") {
			base += ".cn"
		}
	}
	return strings.TrimRight(base, "/") + "/model/" + escape(model, false) + verb, nil
}

// keyed reports whether requests carry a Bedrock API key in the place of a signature.
func (s *session) keyed() bool {
	return s.client.Credentials == nil && (s.client.Key != nil || s.bearer() != "")
}

func (s *session) bearer() string {
	if s.client.Key != nil {
		return ""
	}
	return wire.First(s.client.APIKey, os.Getenv("AWS_BEARER_TOKEN_BEDROCK"))
}

func (s *session) authorize(r *http.Request, again bool) error {
	ctx := r.Context()
	if s.keyed() {
		key := s.bearer()
		if s.client.Key != nil {
			var err error
			if key, err = s.keys.Ask(ctx, Name, s.client.Key, again); err != nil {
				return err
			}
		}
		if key = "Bearer " + key; again && r.Header.Get("Authorization") == key {
			return wire.ErrSame
		}
		r.Header.Set("Authorization", key)
		return nil
	}
	sent := r.Header.Get("Authorization")
	refused := func(c Credentials) bool { return again && strings.Contains(sent, "Credential="+c.AccessKeyID+"/") }
	c, err := s.current.Get(ctx, refused, func(ctx context.Context) (Credentials, time.Time, error) {
		c, err := s.provider(ctx)
		return c, c.Expires, err
	})
	if err != nil {
		return err
	}
	if skew := s.skew.Load(); again && refused(c) && skew == s.used.Load() {
		return wire.ErrSame
	}
	s.used.Store(s.skew.Load())
	s.keys.Learn(c.SecretAccessKey, c.SessionToken)
	return sign(r, c, s.region, service, time.Now().Add(time.Duration(s.skew.Load())))
}

// Credentials of the program are always reported; others as far as they were fetched.
func (s *session) secrets() ([]string, int) {
	list := s.keys.Secrets()
	for _, v := range []string{s.bearer(), env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN")} {
		if v != "" {
			list = append(list, v)
		}
	}
	return list, s.keys.Count()
}

// Classes of errors that their status does not tell
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html).
var classes = map[string]llm.Class{
	"ExpiredTokenException":         llm.Auth,
	"ExpiredToken":                  llm.Auth,
	"UnrecognizedClientException":   llm.Auth,
	"InvalidClientTokenId":          llm.Auth,
	"InvalidSignatureException":     llm.Auth,
	"SignatureDoesNotMatch":         llm.Auth,
	"IncompleteSignatureException":  llm.Auth,
	"MissingAuthenticationToken":    llm.Auth,
	"ModelErrorException":           llm.ServerError,
	"ModelTimeoutException":         llm.Timeout,
	"ModelNotReadyException":        llm.Overloaded,
	"ServiceQuotaExceededException": llm.RateLimit,
	"ThrottlingException":           llm.RateLimit,
}

// explain reads an error: its type is in a header or in __type, its words in message.
func (s *session) explain(status int, header http.Header, body []byte) (llm.Class, string, string) {
	class, kind, message := wire.Explain(status, header, body)
	if name := errorType(header.Get("X-Amzn-Errortype")); name != "" {
		kind = name
	}
	if special, ok := classes[kind]; ok {
		class = special
	}
	low := strings.ToLower(message)
	if class == llm.Forbidden && strings.Contains(low, "token") && (strings.Contains(low, "expired") || strings.Contains(low, "invalid")) {
		class = llm.Auth
	}
	if class == llm.Auth {
		message += s.clock(header)
	}
	return class, kind, message
}

// errorType returns the name in com.amazon.x#Name:http://…
func errorType(s string) string {
	s, _, _ = strings.Cut(s, ":")
	return s[strings.LastIndexByte(s, '#')+1:]
}

// allowedSkew is how far from AWS's clock a signature may be.
const allowedSkew = 5 * time.Minute

// clock measures how far the clock of this machine is from AWS's, so that the next request
// is signed for the right time. It reports whether it has changed.
func (s *session) clock(header http.Header) string {
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return ""
	}
	skew := time.Until(theirs)
	if skew.Abs() < allowedSkew-time.Minute {
		s.skew.Store(0)
		return ""
	}
	s.skew.Store(int64(skew))
	return fmt.Sprintf(" (the clock of this machine is off by %v)", skew.Abs().Round(time.Second))
}
