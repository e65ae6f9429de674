// Package wiretest gives tests of clients recorded traffic and a second opinion
// on requests. Both live beside the repository, in ../shared/corpus; tests skip
// where it is absent.
package wiretest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/installed"
)

// Corpus returns the folder of recorded traffic, or skips the test.
func Corpus(t testing.TB) string {
	t.Helper()
	corpus := filepath.Join(installed.Repository(t), "..", "shared", "corpus")
	if _, err := os.Stat(filepath.Join(corpus, "index.json")); err != nil {
		t.Skip("no recorded traffic at ../shared/corpus")
	}
	return corpus
}

// An Item is one recorded exchange and its meaning.
type Item struct {
	Name      string            `json:"name"`
	Provider  string            `json:"provider"`
	Streaming bool              `json:"streaming"`
	Request   json.RawMessage   `json:"request_body"`
	Status    int               `json:"response_status"`
	Header    map[string]string `json:"response_headers"`
	Body      string            `json:"response_body"`
	Encoding  string            `json:"response_body_encoding"` // base64 for binary bodies; Items decodes them
	Expected  Expected          `json:"-"`
}

// Expected is the normalised form of an item.
type Expected struct {
	Text      string `json:"text"`
	Thinking  string `json:"thinking"`
	Signature string `json:"thinking_signature"`
	Calls     []struct {
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"tool_calls"`
	StopReason string `json:"stop_reason"`
	Usage      struct {
		Input      int  `json:"input_tokens"`
		Output     int  `json:"output_tokens"`
		CacheRead  int  `json:"cache_read_input_tokens"`
		CacheWrite int  `json:"cache_creation_input_tokens"`
		Reasoning  *int `json:"reasoning_tokens"`
	} `json:"usage"`
	MessageID string                       `json:"message_id"`
	Model     string                       `json:"model"`
	Blocks    []map[string]json.RawMessage `json:"blocks"`
	Extras    struct {
		OutputWithReasoning int               `json:"output_tokens_including_reasoning"`
		Encrypted           []json.RawMessage `json:"encrypted_reasoning"`
	} `json:"extras"`
}

// Items returns the recorded exchanges with an API: anthropic, openai or
// anthropic_eventstream.
func Items(t testing.TB, api string) []Item {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(Corpus(t), "corpus", api, "*.expected.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no items of %s: %v", api, err)
	}
	var items []Item
	for _, path := range paths {
		var item Item
		load(t, strings.TrimSuffix(path, ".expected.json")+".json", &item)
		load(t, path, &item.Expected)
		if item.Encoding == "base64" {
			body, err := base64.StdEncoding.DecodeString(item.Body)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			item.Body = string(body)
		}
		items = append(items, item)
	}
	return items
}

func load(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Replay returns a client that gets one reply to any request: status 200, the content type
// and body, read in pieces of that many bytes, whole if piece is 0. After the body comes
// err, io.EOF if nil.
func Replay(contentType, body string, piece int, err error) *http.Client {
	return &http.Client{Transport: replay{contentType, body, piece, err}}
}

// Replay returns a client that gets the item's reply, in pieces of that many bytes.
func (i Item) Replay(piece int) *http.Client {
	return Replay(i.Header["Content-Type"], i.Body, piece, nil)
}

type replay struct {
	contentType, body string
	piece             int
	err               error
}

func (r replay) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {r.contentType}}, Body: &pieces{r},
	}, nil
}

type pieces struct{ left replay }

func (p *pieces) Read(b []byte) (int, error) {
	if p.left.body == "" {
		if p.left.err != nil {
			return 0, p.left.err
		}
		return 0, io.EOF
	}
	if p.left.piece > 0 {
		b = b[:min(len(b), p.left.piece)]
	}
	n := copy(b, p.left.body)
	p.left.body = p.left.body[n:]
	return n, nil
}

func (p *pieces) Close() error { return nil }

// Handler starts a server that ends with the test.
func Handler(t testing.TB, fn http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(fn)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// A Request is a body to check: api is anthropic or openai, host the checker's name of an
// OpenAI-compatible host (openai, compat, kimi, deepseek).
type Request struct {
	Name string          `json:"name"`
	API  string          `json:"api"`
	Host string          `json:"host"`
	Body json.RawMessage `json:"body"`
}

const checker = `
import json, sys
sys.path.insert(0, sys.argv[1])
import wire_mock
for line in sys.stdin:
    r = json.loads(line)
    bad = wire_mock.anthropic(r['body']) if r['api'] == 'anthropic' else wire_mock.openai(r['body'], r['host'])
    print(json.dumps([list(b) for b in bad]), flush=True)
`

// Check reports every rule of the wire that a request breaks.
func Check(t testing.TB, requests []Request) {
	t.Helper()
	corpus := Corpus(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to check requests with")
	}
	var in bytes.Buffer
	for _, r := range requests {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%s: the body is not JSON: %v\n%s", r.Name, err, r.Body)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command(python, "-B", "-c", checker, corpus)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("checking requests: %v", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for _, r := range requests {
		var broken [][]string
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &broken) != nil {
			t.Fatalf("%s: no verdict", r.Name)
		}
		for _, b := range broken {
			t.Errorf("%s breaks %s\n%s", r.Name, strings.Join(b, ": "), r.Body)
		}
	}
}
