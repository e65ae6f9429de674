package bedrock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

var request = llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

func client(base string, hc *http.Client) *Client {
	return &Client{Region: "us-east-1", Credentials: Static(example.AccessKeyID, example.SecretAccessKey, ""), Client: anthropic.Client{BaseURL: base, HTTP: hc}}
}

// alone hides the machine's AWS settings from a test.
func alone(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
		"AWS_BEARER_TOKEN_BEDROCK", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	return dir
}

// The recorded replies of Bedrock, in pieces.
func TestCorpus(t *testing.T) {
	items := slices.DeleteFunc(append(wiretest.Items(t, "anthropic_eventstream"), wiretest.Items(t, "anthropic")...), func(item wiretest.Item) bool {
		return item.Provider != "bedrock" || strings.HasSuffix(item.Name, "__sse")
	})
	if len(items) < 10 {
		t.Errorf("%d items", len(items))
	}
	wiretest.Play(t, items, func(h *http.Client) llm.Model {
		return client("http://localhost", h).Model("us.anthropic.claude-opus-4-6-v1")
	}, nil)
}

// The requests that Bedrock was recorded with have the members that ours have.
func TestBody(t *testing.T) {
	var body map[string]json.RawMessage
	var header http.Header
	path := ""
	s := wiretest.Handler(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		header, path = r.Header, r.URL.EscapedPath()
		w.WriteHeader(http.StatusTooManyRequests)
	})
	c := client(s.URL, s.Client())
	c.Header = http.Header{"Anthropic-Beta": {"context-1m-2025-08-07, other"}}
	_, err := llm.Collect(t.Context(), c.Model("us.anthropic.claude-haiku-4-5-20251001-v1:0"), &request)
	if !errors.Is(err, llm.ErrRateLimited) || path != "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke-with-response-stream" {
		t.Errorf("%v, %s", err, path)
	}
	if body["model"] != nil || body["stream"] != nil || string(body["anthropic_version"]) != `"bedrock-2023-05-31"` || string(body["anthropic_beta"]) != `["context-1m-2025-08-07","other"]` {
		t.Errorf("body %s", body)
	}
	if header.Get("Anthropic-Beta") != "" || header.Get("Anthropic-Version") != "" || header.Get("X-Api-Key") != "" {
		t.Errorf("header %v", header)
	}
}

func TestInfo(t *testing.T) {
	base := llm.InfoOf(anthropic.Model("claude-sonnet-4-6"))
	got := llm.InfoOf(client("http://localhost", nil).Model("eu.anthropic.claude-sonnet-4-6"))
	if got.Provider != Name || got.Window != base.Window || got.Price == nil || *got.Price != *base.Price {
		t.Errorf("%+v, at Anthropic %+v", got, base)
	}
	if unknown := llm.InfoOf(client("http://localhost", nil).Model("arn:aws:bedrock:us-east-1:123:application-inference-profile/abc")); unknown.Price != nil {
		t.Errorf("a price of what is not known: %+v", unknown)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		status      int
		kind, words string
		want        llm.Class
		says        string
	}{
		{400, "ValidationException", "Input is too long for requested model.", llm.TooLong, ""},
		{400, "ValidationException", "The provided model identifier is invalid.", llm.Invalid, "model identifier"},
		{403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", llm.Forbidden, ""},
		{403, "ExpiredTokenException", "The security token included in the request is expired", llm.Auth, "expired"},
		{403, "UnrecognizedClientException", "The security token included in the request is invalid.", llm.Auth, ""},
		{403, "AccessDeniedException", "Bearer Token has expired", llm.Auth, ""},
		{404, "ResourceNotFoundException", "no such model", llmconst.NotFound, ""},
		{408, "ModelTimeoutException", "slow", llm.Timeout, ""},
		{424, "ModelErrorException", "oops", llm.ServerError, ""},
		{429, "ThrottlingException", "Too many tokens, please wait before trying again.", llm.RateLimit, ""},
		{429, "ModelNotReadyException", "not ready", llm.Overloaded, ""},
		{400, "ServiceQuotaExceededException", "quota", llm.RateLimit, ""},
		{500, "InternalServerException", "oops", llm.ServerError, ""},
		{503, "ServiceUnavailableException", "busy", llm.Overloaded, ""},
	} {
		s := wiretest.Handler(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amzn-Errortype", tt.kind+":http://internal.amazon.com/coral/")
			w.Header().Set("X-Amzn-Requestid", "id-1")
			w.WriteHeader(tt.status)
			fmt.Fprintf(w, `{"message":%q}`, tt.words)
		})
		_, err := llm.Collect(t.Context(), client(s.URL, s.Client()).Model("anthropic.claude-sonnet-4-6"), &request)
		var e *llm.APIError
		if !errors.As(err, &e) || e.Class != tt.want || e.Type != tt.kind || e.Provider != Name || e.RequestID != "id-1" || !strings.Contains(e.Message, tt.says) {
			t.Errorf("%d %s: %v", tt.status, tt.kind, err)
		}
	}
}

// A request whose signature is of the wrong time is signed for the right one.
func TestSkew(t *testing.T) {
	var dates []string
	s := wiretest.Handler(t, func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().Add(-3 * time.Hour)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		at, _ := time.Parse(longDate, r.Header.Get("X-Amz-Date"))
		dates = append(dates, r.Header.Get("X-Amz-Date"))
		if now.Sub(at).Abs() > 5*time.Minute {
			w.Header().Set("X-Amzn-Errortype", "InvalidSignatureException")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message":"Signature not yet current"}`)
			return
		}
		fmt.Fprint(w, `{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)
	})
	m := client(s.URL, s.Client()).Model("anthropic.claude-sonnet-4-6")
	req := request
	req.Blocking = true
	for range 2 {
		if res, err := llm.Collect(t.Context(), m, &req); err != nil || res.Message.Text() != "ok" {
			t.Fatalf("%+v, %v, %q", res, err, dates)
		}
	}
	if len(dates) != 3 {
		t.Errorf("signed for %q", dates)
	}
	stuck := wiretest.Handler(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(-3*time.Hour).UTC().Format(http.TimeFormat))
		w.Header().Set("X-Amzn-Errortype", "InvalidSignatureException")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"Signature not yet current"}`)
	})
	if _, err := llm.Collect(t.Context(), client(stuck.URL, stuck.Client()).Model("anthropic.claude-sonnet-4-6"), &req); err == nil || !strings.Contains(err.Error(), "the clock of this machine is off by 3h0m") {
		t.Errorf("%v", err)
	}
}

// Credentials that are refused are asked for again, and are secrets of the model.
func TestRefresh(t *testing.T) {
	var n atomic.Int32
	server := llmtest.NewPipe(t, llmtest.Step{Status: 401}, llmtest.Step{Text: "ok"}, llmtest.Step{Text: "ok"})
	c := client(server.URL, server.Client())
	c.Credentials = func(context.Context) (Credentials, error) {
		i := n.Add(1)
		return Credentials{AccessKeyID: fmt.Sprint("AKID", i), SecretAccessKey: fmt.Sprint("secret-number-", i), SessionToken: fmt.Sprint("token-number-", i), Expires: time.Now().Add(time.Hour)}, nil
	}
	m := c.Model("anthropic.claude-sonnet-4-6")
	for range 2 {
		if _, err := llm.Collect(t.Context(), m, &request); err != nil {
			t.Fatal(err)
		}
	}
	if n.Load() != 2 {
		t.Errorf("asked %d times", n.Load())
	}
	secrets := m.(interface{ Secrets() []string }).Secrets()
	for _, want := range []string{"secret-number-1", "token-number-1", "secret-number-2", "token-number-2"} {
		if !slices.Contains(secrets, want) {
			t.Errorf("%s is not among the secrets %q", want, secrets)
		}
	}
	if m.(interface{ Fetched() int }).Fetched() != 4 {
		t.Error("what was fetched is not counted")
	}
}

func TestBearer(t *testing.T) {
	alone(t)
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-abc")
	server := llmtest.NewPipe(t, llmtest.Step{Text: "ok"})
	c := &Client{Region: "us-east-1", Client: anthropic.Client{BaseURL: server.URL, HTTP: server.Client()}}
	if _, err := llm.Collect(t.Context(), c.Model("anthropic.claude-sonnet-4-6"), &request); err != nil {
		t.Fatal(err)
	}
	if got := server.Requests()[0].Header.Get("Authorization"); got != "Bearer bedrock-api-key-abc" {
		t.Errorf("sent %q", got)
	}
}

func TestCredentials(t *testing.T) {
	dir := alone(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Default()(t.Context()); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID is not set") {
		t.Errorf("none: %v", err)
	}
	write("config", "[default]\nregion = eu-west-1\n[profile temp]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"P\",\"SecretAccessKey\":\"ps\",\"SessionToken\":\"pt\",\"Expiration\":\"2030-01-02T03:04:05Z\"}'\n[profile sso]\nsso_session = x\n[profile role]\nrole_arn = arn\n[profile broken]\ncredential_process = exit 3\n[profile flood]\ncredential_process = head -c 300000 /dev/zero\n")
	write("credentials", "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key = as\n[other]\naws_access_key_id=B\naws_secret_access_key=bs\naws_session_token=bt\n")
	for profile, want := range map[string]Credentials{
		"":      {AccessKeyID: "A", SecretAccessKey: "as", Source: "profile default"},
		"other": {AccessKeyID: "B", SecretAccessKey: "bs", SessionToken: "bt", Source: "profile other"},
		"temp":  {AccessKeyID: "P", SecretAccessKey: "ps", SessionToken: "pt", Source: "credential_process of profile temp", Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)},
	} {
		t.Setenv("AWS_PROFILE", profile)
		if got, err := Default()(t.Context()); err != nil || got != want {
			t.Errorf("%q: %+v, %v", profile, got, err)
		}
	}
	for profile, says := range map[string]string{"sso": "aws sso login --profile sso", "role": "assumes a role", "broken": "exit status 3", "flood": "more than 64 KB", "nobody": "there is no AWS profile nobody"} {
		t.Setenv("AWS_PROFILE", profile)
		if _, err := Default()(t.Context()); err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", profile, err)
		}
	}
	t.Setenv("AWS_PROFILE", "")
	if f, err := new(Client).Find(t.Context()); err != nil || f != (Found{Region: "eu-west-1", Source: "profile default"}) {
		t.Errorf("found %+v, %v", f, err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "E")
	if _, err := Default()(t.Context()); err == nil || !strings.Contains(err.Error(), "belong together") {
		t.Errorf("half: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "es")
	if got, err := Default()(t.Context()); err != nil || got.AccessKeyID != "E" {
		t.Errorf("variables: %+v, %v", got, err)
	}
}

func TestMetadata(t *testing.T) {
	alone(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			fmt.Fprint(w, "imds-token")
		case r.URL.Path == "/creds" && r.Header.Get("Authorization") == "pod-token", r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds-token" && strings.HasSuffix(r.URL.Path, "/my-role"):
			fmt.Fprint(w, `{"AccessKeyId":"I","SecretAccessKey":"is","Token":"it","Expiration":"2030-01-02T03:04:05Z"}`)
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds-token":
			fmt.Fprint(w, "my-role\n")
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	want := Credentials{AccessKeyID: "I", SecretAccessKey: "is", SessionToken: "it", Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", s.URL)
	got, err := Default()(t.Context())
	if want.Source = "the instance's role my-role"; err != nil || got != want {
		t.Errorf("instance: %+v, %v", got, err)
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/creds")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod-token")
	got, err = Default()(t.Context())
	if want.Source = "the container"; err != nil || got != want {
		t.Errorf("container: %+v, %v", got, err)
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://elsewhere.example/creds")
	if _, err := Default()(t.Context()); err == nil || !strings.Contains(err.Error(), "must be https") {
		t.Errorf("elsewhere: %v", err)
	}
}
