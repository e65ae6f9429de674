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
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// A Token is an access token of Google Cloud.
type Token struct {
	Value   string
	Expires time.Time // zero: never
	Source  string    // where it comes from, for people: holds no secret
}

// A TokenSource gives tokens. It is asked again 5 minutes before they expire, and
// when they were refused.
type TokenSource func(ctx context.Context) (Token, error)

// ErrNone is matched by the error of a TokenSource that has none and stands back
// for the next one.
var ErrNone = errors.New("no credentials of Google Cloud")

// Default takes the file that GOOGLE_APPLICATION_CREDENTIALS names, the one that
// gcloud auth application-default login writes, or else the metadata server, as
// Google's own programs do. nil: http.DefaultClient.
func Default(client *http.Client) TokenSource {
	return func(ctx context.Context) (Token, error) {
		name, data, err := credentials()
		if err != nil {
			return Token{}, err
		}
		if data != nil {
			source, err := FromJSON(data, client)
			if err != nil {
				return Token{}, fmt.Errorf("%s: %w", name, err)
			}
			t, err := source(ctx)
			if t.Source != "" {
				t.Source += " in " + name
			}
			return t, err
		}
		t, err := Metadata(nil)(ctx)
		if errors.Is(err, ErrNone) {
			return Token{}, fmt.Errorf("%w: GOOGLE_APPLICATION_CREDENTIALS is not set, there is no %s, and no metadata server answers; run: gcloud auth application-default login", ErrNone, name)
		}
		return t, err
	}
}

func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

const maxFile = 1 << 20

// credentials returns the file of application default credentials and what is in
// it, nil where there is none.
func credentials() (name string, data []byte, err error) {
	named := env("GOOGLE_APPLICATION_CREDENTIALS")
	if name = named; name == "" {
		dir := env("CLOUDSDK_CONFIG")
		if dir == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "~/.config/gcloud/application_default_credentials.json", nil, nil
			}
			dir = filepath.Join(home, ".config", "gcloud")
		}
		name = filepath.Join(dir, "application_default_credentials.json")
	}
	data, err = plainfile.ReadFile(name, maxFile)
	if err != nil {
		if named == "" && errors.Is(err, os.ErrNotExist) {
			return name, nil, nil
		}
		return name, nil, fmt.Errorf("credentials of Google Cloud: %w", err)
	}
	return name, data, nil
}

// file is what such a file holds.
type file struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	QuotaProject string `json:"quota_project_id"`
	Email        string `json:"client_email"`
	Key          string `json:"private_key"`
	KeyID        string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
}

const (
	tokenURI = "https://oauth2.googleapis.com/token"
	scope    = "https://www.googleapis.com/auth/cloud-platform"
)

// FromJSON returns the TokenSource of a file of credentials: of a service account
// (a JWT signed by its key is exchanged for a token) or of a user who logged in by
// gcloud. client reaches the token server; nil: http.DefaultClient.
func FromJSON(data []byte, client *http.Client) (TokenSource, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, errors.New("the file is not a JSON object of credentials") // not the bytes: they may hold secrets
	}
	if f.TokenURI == "" {
		f.TokenURI = tokenURI
	}
	if u, err := url.Parse(f.TokenURI); err != nil || u.Scheme != "https" && !wire.Loopback(u.Hostname()) {
		return nil, errors.New("its token_uri must be https")
	}
	switch f.Type {
	case "service_account":
		key, err := f.key()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (Token, error) {
			assertion, err := f.assertion(key, time.Now())
			if err != nil {
				return Token{}, err
			}
			return exchange(ctx, client, f.TokenURI, "service account "+f.Email, url.Values{
				"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}})
		}, nil
	case "authorized_user":
		return func(ctx context.Context) (Token, error) {
			return exchange(ctx, client, f.TokenURI, "gcloud login", url.Values{"grant_type": {"refresh_token"},
				"client_id": {f.ClientID}, "client_secret": {f.ClientSecret}, "refresh_token": {f.RefreshToken}})
		}, nil
	}
	return nil, fmt.Errorf("credentials of type %.40q are not supported; give tokens by a key helper: gcloud auth print-access-token", f.Type)
}

func (f file) key() (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(f.Key))
	if block == nil {
		return nil, errors.New("its private_key is not PEM")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if key, ok := key.(*rsa.PrivateKey); ok {
			return key, nil
		}
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errors.New("its private_key is not an RSA key")
}

// assertion returns the JWT that is exchanged for a token
// (https://developers.google.com/identity/protocols/oauth2/service-account#httprest).
func (f file) assertion(key *rsa.PrivateKey, now time.Time) (string, error) {
	part := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // maps of texts and numbers
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := part(map[string]string{"alg": "RS256", "typ": "JWT", "kid": f.KeyID}) + "." +
		part(map[string]any{"iss": f.Email, "scope": scope, "aud": f.TokenURI, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("signing for a token: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

const (
	maxAnswer = 64 << 10
	maxLife   = 24 * 60 * 60 // seconds of a token
)

// exchange asks a token server.
func exchange(ctx context.Context, client *http.Client, uri, source string, form url.Values) (Token, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, uri, strings.NewReader(form.Encode()))
	if err != nil {
		return Token{}, errors.New("the token_uri is not a valid URL")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if client == nil {
		client = http.DefaultClient
	}
	return ask(client, r, source)
}

// ask sends a request whose answer is a token.
func ask(client *http.Client, r *http.Request, source string) (Token, error) {
	unreached := func(err error) error {
		return &llm.APIError{Class: llm.Network, Message: "asking for a token: " + err.Error(), RetryAfter: -1, Err: err}
	}
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Do(r)
	if err != nil {
		return Token{}, unreached(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Token{}, unreached(err)
	}
	var answer struct {
		Token       string      `json:"access_token"`
		Seconds     json.Number `json:"expires_in"`
		Error       string      `json:"error"`
		Description string      `json:"error_description"`
	}
	parsed := json.Unmarshal(data, &answer)
	switch {
	case resp.StatusCode >= 500:
		return Token{}, &llm.APIError{Class: llm.ServerError, Message: fmt.Sprintf("the token server answers HTTP %d", resp.StatusCode), RetryAfter: -1}
	case parsed == nil && answer.Error != "":
		return Token{}, fmt.Errorf("%s: the token server says %s: %.300s", source, answer.Error, answer.Description)
	case resp.StatusCode != http.StatusOK || parsed != nil || answer.Token == "":
		return Token{}, fmt.Errorf("%s: the token server gave no token (HTTP %d)", source, resp.StatusCode)
	}
	t := Token{Value: answer.Token, Source: source}
	if n, err := answer.Seconds.Int64(); err == nil && n > 0 {
		t.Expires = time.Now().Add(time.Duration(min(n, maxLife)) * time.Second)
	}
	return t, nil
}

var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}

// Metadata returns the TokenSource of the service account of a machine of Google
// Cloud (GCE_METADATA_HOST). Where nothing answers within a second there is none.
// nil: a client without proxy.
func Metadata(client *http.Client) TokenSource {
	if client == nil {
		client = direct
	}
	return func(ctx context.Context) (Token, error) {
		if strings.EqualFold(env("NO_GCE_CHECK"), "true") {
			return Token{}, ErrNone
		}
		host := env("GCE_METADATA_HOST")
		if host == "" {
			host = "metadata.google.internal"
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(short, http.MethodGet, "http://"+host+"/computeMetadata/v1/instance/service-accounts/default/token", nil)
		if err != nil {
			return Token{}, errors.New("GCE_METADATA_HOST is not a valid host")
		}
		r.Header.Set("Metadata-Flavor", "Google")
		t, err := ask(client, r, "the machine's service account")
		if api := (*llm.APIError)(nil); errors.As(err, &api) && api.Class == llm.Network && ctx.Err() == nil {
			return Token{}, ErrNone
		}
		return t, err
	}
}
