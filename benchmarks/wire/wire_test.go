package wire

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openagent-go/agent/benchmarks/harness"
)

func post(t *testing.T, url, body string) string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Every event of every API is JSON, and has as much text as was asked for.
func TestEventsAreJSON(t *testing.T) {
	s := httptest.NewServer(new(Server))
	defer s.Close()
	for path, a := range apis {
		for _, mode := range []string{"burst", "flush"} {
			text := post(t, s.URL+"/"+mode+"/7/v1/"+path, "{}")
			if n := strings.Count(text, harness.Piece); n != 7 {
				t.Errorf("%s, %s: %d pieces of text", path, mode, n)
			}
			valid(t, text)
		}
		valid(t, post(t, s.URL+"/first/v1/"+path, "{}"))
		for body, want := range map[string]string{`{"x":1}`: harness.Tool, `{"x":{` + a.result + `:1}}`: harness.Final} {
			if got := post(t, s.URL+"/agent/v1/"+path, body); !json.Valid([]byte(got)) || !strings.Contains(got, want) {
				t.Errorf("%s: %s", path, got)
			}
			stream := post(t, s.URL+"/agent/v1/"+path, strings.TrimSuffix(body, "}")+`,"stream": true}`)
			valid(t, stream)
			if !strings.Contains(stream, want) {
				t.Errorf("%s: %s", path, stream)
			}
		}
	}
}

func valid(t *testing.T, stream string) {
	t.Helper()
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
			t.Errorf("no JSON: %s", data)
		}
	}
}
