package bedrock

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// The tokens that credentials are asked for with do not go elsewhere, wherever the
// metadata service points to.
func TestRedirects(t *testing.T) {
	alone(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked %s %s with %q", r.Method, r.URL, r.Header.Get("X-Aws-Ec2-Metadata-Token")+r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"AccessKeyId":"F","SecretAccessKey":"fs"}`))
	}))
	defer elsewhere.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			_, _ = w.Write([]byte("imds-token"))
		case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			_, _ = w.Write([]byte("my-role\n"))
		default:
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}
	}))
	defer s.Close()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", s.URL)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/creds")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod-token")
	for _, client := range []*http.Client{nil, {}} { // that of a program follows redirects
		for name, provider := range map[string]Provider{"container": Container(client), "instance": Instance(client)} {
			if got, err := provider(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP 307") {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	}
}

// A request for a model is not sent to another host.
func TestModelRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the prompt went to %s", r.Host)
	}))
	defer elsewhere.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	if _, err := llm.Collect(t.Context(), client(s.URL, nil).Model("anthropic.claude-sonnet-4-6"), &request); err == nil || !strings.Contains(err.Error(), "307") {
		t.Error(err)
	}
}
