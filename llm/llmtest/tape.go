package llmtest

import (
	"net/http"
	"os"

	"github.com/openagent-go/agent/internal/httptape"
)

// recordEnv is the environment variable that makes [Replay] record.
const recordEnv = "LLMTEST_RECORD"

// Replay returns an HTTP client for a model's client in a test. It answers from the
// recording in the file, without a network. A request that is missing there, or is not
// made, fails the test with the first difference.
//
//	client := &anthropic.Client{HTTP: llmtest.Replay(t, "testdata/weather.json", nil)}
//
// With LLMTEST_RECORD=1 in the environment the requests go through real instead (nil:
// http.DefaultTransport), and the file is written when the test has passed. A
// recording has method, path and body of each request, and status, content type, retry
// headers and body of each response. It never has headers of requests and queries of URLs.
// Everything that looks like a key, a token, an e-mail address or the id of an organisation
// is replaced. Secrets are replaced too, also in the requests that are compared with a
// recording. You can use them for values that differ from run to run, such as a temporary
// folder.
func Replay(t tb, file string, real http.RoundTripper, secrets ...string) *http.Client {
	t.Helper()
	if on := os.Getenv(recordEnv); on != "" && on != "0" && on != "false" {
		r := &httptape.Recorder{Transport: real, Secrets: secrets}
		t.Cleanup(func() {
			if f, ok := t.(interface{ Failed() bool }); ok && f.Failed() {
				return
			}
			if err := r.Save(file); err != nil {
				t.Errorf("%v", err)
			}
		})
		return &http.Client{Transport: r}
	}
	r, err := httptape.Open(file, secrets...)
	if err != nil {
		t.Fatalf("%v (%s=1 records)", err, recordEnv)
	}
	t.Cleanup(func() {
		if err := r.Err(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return &http.Client{Transport: r}
}
