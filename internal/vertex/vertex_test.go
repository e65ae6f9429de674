package vertex

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

var request = llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

func fixed(token string) TokenSource {
	return func(context.Context) (Token, error) { return Token{Value: token, Source: "a test"}, nil }
}

func client(base string, hc *http.Client) *Client {
	return &Client{Project: "my-project", Region: "us-east5", Tokens: fixed("ya29.a-token-of-google"), Client: anthropic.Client{BaseURL: base, HTTP: hc}}
}

// alone hides the machine's Google Cloud settings from a test.
func alone(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION",
		"GOOGLE_APPLICATION_CREDENTIALS", "ANTHROPIC_VERTEX_BASE_URL", "GCE_METADATA_HOST"} {
		t.Setenv(name, "")
	}
	t.Setenv("NO_GCE_CHECK", "true")
	t.Setenv("CLOUDSDK_CONFIG", dir)
	return dir
}

// TestContract runs the suite that every client of a model must pass, against a
// server that speaks Vertex.
func TestContract(t *testing.T) {
	llmtest.RunModelTests(t, func(baseURL string) llm.Model {
		return client(baseURL, &http.Client{Transport: &http.Transport{}}).Model("claude-sonnet-4-6")
	})
}

// The recorded replies of Vertex, in pieces.
func TestCorpus(t *testing.T) {
	items := slices.DeleteFunc(wiretest.Items(t, "anthropic"), func(item wiretest.Item) bool {
		return item.Provider != "vertex-claude"
	})
	if len(items) < 5 {
		t.Errorf("%d items", len(items))
	}
	wiretest.Play(t, items, func(h *http.Client) llm.Model {
		return client("http://localhost", h).Model("claude-3-7-sonnet@20250219")
	}, nil)
}

func TestURL(t *testing.T) {
	alone(t)
	const rest = "/v1/projects/p/locations/"
	for _, tt := range []struct{ region, model, want string }{
		{"us-east5", "claude-3-7-sonnet@20250219", "https://us-east5-aiplatform.googleapis.com" + rest + "us-east5/publishers/anthropic/models/claude-3-7-sonnet@20250219:streamRawPredict"},
		{"", "claude-x", "https://aiplatform.googleapis.com" + rest + "global/publishers/anthropic/models/claude-x:streamRawPredict"},
		{"eu", "claude-x", "https://aiplatform.eu.rep.googleapis.com" + rest + "eu/publishers/anthropic/models/claude-x:streamRawPredict"},
		{"evil.example/", "claude-x", "is not a region"},
	} {
		s := &session{client: &Client{Project: "p", Region: tt.region}}
		got, err := s.url(tt.model, true)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && !strings.Contains(got, tt.want) || got == "" {
			t.Errorf("%s in %q: %s", tt.model, tt.region, got)
		}
	}
	if _, err := llm.Collect(t.Context(), new(Client).Model("claude-sonnet-4-6"), &request); !errors.Is(err, llm.ErrAuth) || !strings.Contains(err.Error(), "ANTHROPIC_VERTEX_PROJECT_ID") {
		t.Errorf("no project: %v", err)
	}
	for name, want := range map[string]string{"claude-haiku-4-5@20251001": "claude-haiku-4-5-20251001", "claude-3-5-sonnet-v2@20241022": "claude-3-5-sonnet-20241022", "claude-opus-4-6@default": "claude-opus-4-6"} {
		if got := Base(name); got != want {
			t.Errorf("Base(%s) = %s", name, got)
		}
	}
	if got, base := llm.InfoOf(client("", nil).Model("claude-haiku-4-5@20251001")), llm.InfoOf(anthropic.Model("claude-haiku-4-5")); got.Provider != Name || got.Price == nil || *got.Price != *base.Price {
		t.Errorf("%+v, at Anthropic %+v", got, base)
	}
}

// A service account's JWT is exchanged for a token; the token is renewed before its
// end and when it is refused.
func TestServiceAccount(t *testing.T) {
	dir := alone(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	n, lifetime := 0, 3600
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.FormValue("assertion"), ".")
		if len(parts) != 3 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
		var c struct {
			Iss, Scope, Aud string
			Iat, Exp        int64
		}
		_ = json.Unmarshal(claims, &c)
		if rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) != nil || c.Iss != "me@p.iam.gserviceaccount.com" || c.Scope != scope || c.Exp-c.Iat != 3600 ||
			r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
			return
		}
		n++
		fmt.Fprintf(w, `{"access_token":"ya29.token-number-%d","expires_in":%d,"token_type":"Bearer"}`, n, lifetime)
	}))
	defer tokens.Close()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	account, _ := json.Marshal(map[string]string{"type": "service_account", "project_id": "from-file", "client_email": "me@p.iam.gserviceaccount.com", "private_key_id": "k1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokens.URL})
	name := filepath.Join(dir, "account.json")
	if err := os.WriteFile(name, account, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", name)
	if f, err := new(Client).Find(t.Context()); err != nil || f.Project != "from-file" || f.Region != "global" || !strings.Contains(f.Source, "service account me@p") {
		t.Errorf("found %+v, %v", f, err)
	}
	n = 0
	server := llmtest.NewPipe(t, llmtest.Step{Text: "one"}, llmtest.Step{Text: "two"}, llmtest.Step{Status: 401}, llmtest.Step{Text: "three"})
	source, err := FromJSON(account, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{Tokens: source, Client: anthropic.Client{BaseURL: server.URL, HTTP: server.Client()}}
	m := c.Model("claude-sonnet-4-6")
	for _, want := range []string{"one", "two", "three"} {
		if res, err := llm.Collect(t.Context(), m, &request); err != nil || res.Message.Text() != want {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	var sent []string
	for _, r := range server.Requests() {
		sent = append(sent, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ya29.token-number-"))
	}
	if got := strings.Join(sent, " "); got != "1 1 1 2" || server.Requests()[0].Path != "/v1/projects/from-file/locations/global/publishers/anthropic/models/claude-sonnet-4-6:streamRawPredict" {
		t.Errorf("tokens %s, path %s", got, server.Requests()[0].Path)
	}
	lifetime = 60 // less than the reserve for a renewal
	server2 := llmtest.NewPipe(t, llmtest.Step{Text: "one"}, llmtest.Step{Text: "two"})
	c2 := &Client{Tokens: source, Client: anthropic.Client{BaseURL: server2.URL, HTTP: server2.Client()}}
	m2, before := c2.Model("claude-sonnet-4-6"), n
	for range 2 {
		if _, err := llm.Collect(t.Context(), m2, &request); err != nil {
			t.Fatal(err)
		}
	}
	if n != before+2 {
		t.Errorf("%d tokens for two requests", n-before)
	}
	bad := strings.Replace(string(account), "me@p", "you@p", 1)
	if source, err = FromJSON([]byte(bad), nil); err != nil {
		t.Fatal(err)
	}
	c3 := &Client{Project: "p", Tokens: source, Client: anthropic.Client{BaseURL: server.URL, HTTP: server.Client()}}
	if _, err := llm.Collect(t.Context(), c3.Model("claude-sonnet-4-6"), &request); !errors.Is(err, llm.ErrAuth) || !strings.Contains(err.Error(), "Invalid JWT Signature") {
		t.Errorf("refused: %v", err)
	}
}

func TestTokens(t *testing.T) {
	dir := alone(t)
	if _, err := new(Client).Find(t.Context()); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Errorf("none: %v", err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Metadata-Flavor") == "Google" && strings.HasPrefix(r.URL.Path, "/computeMetadata/v1/instance/service-accounts/default/token"):
			fmt.Fprint(w, `{"access_token":"of-the-machine","expires_in":1800}`)
		case r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == "rt":
			fmt.Fprint(w, `{"access_token":"of-the-user","expires_in":1800}`)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer s.Close()
	t.Setenv("NO_GCE_CHECK", "")
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(s.URL, "http://"))
	if got, err := Default(nil)(t.Context()); err != nil || got.Value != "of-the-machine" || time.Until(got.Expires) < 29*time.Minute {
		t.Errorf("machine: %+v, %v", got, err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "application_default_credentials.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"rt","token_uri":"` + s.URL + `"}`)
	if got, err := Default(nil)(t.Context()); err != nil || got.Value != "of-the-user" {
		t.Errorf("user: %+v, %v", got, err)
	}
	for text, says := range map[string]string{
		`{"type":"external_account"}`:                                             "not supported",
		`nonsense-secret`:                                                         "not a JSON object",
		`{"type":"service_account","private_key":"x"}`:                            "not PEM",
		`{"type":"authorized_user","token_uri":"http://elsewhere.example/"}`:      "must be https",
		`{"type":"authorized_user","token_uri":"` + s.URL + `","client_id":"no"}`: "HTTP 500",
	} {
		write(text)
		if _, err := Default(nil)(t.Context()); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "nonsense-secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Tokens may come from a key function, such as a helper that runs gcloud.
func TestKey(t *testing.T) {
	alone(t)
	server := llmtest.NewPipe(t, llmtest.Step{Status: 401}, llmtest.Step{Text: "ok"})
	n := 0
	c := &Client{Project: "p", Client: anthropic.Client{BaseURL: server.URL, HTTP: server.Client(), Key: func(ctx context.Context) (string, error) {
		n++
		return fmt.Sprintf("token-number-%d", n), nil
	}}}
	if _, err := llm.Collect(t.Context(), c.Model("claude-sonnet-4-6"), &request); err != nil || n != 2 {
		t.Errorf("%v, asked %d times", err, n)
	}
}
