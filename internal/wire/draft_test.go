package wire

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// wordsDecoder decodes replies of the kind {"say":"…"}, of which the last one says "end".
type wordsDecoder struct{ Draft }

func (d *wordsDecoder) Whole(body []byte) error {
	if err := d.Event(body); err != nil {
		return err
	}
	return d.Done()
}

func (d *wordsDecoder) Event(data []byte) error {
	var e struct{ Say *string }
	switch {
	case json.Unmarshal(data, &e) != nil || e.Say == nil:
		return d.Protocol("%s says nothing", data)
	case *e.Say == "end":
		return d.Done()
	}
	return d.Send(llm.Delta{Text: *e.Say})
}

func (d *wordsDecoder) Cut(err error) error { return d.Truncated(err, "end") }

func TestStream(t *testing.T) {
	const hello, world, end = "data: {\"say\":\"hello\"}\n\n", "data: {\"say\":\"world\"}\n\n", "data: {\"say\":\"end\"}\n\n"
	for _, tt := range []struct {
		media, body string
		blocking    bool
		most        int // deltas that the caller wants; 0: all
		said        string
		class       llm.Class
		words       string
	}{
		{"text/event-stream", hello + world + end + "data: more\n\n", false, 0, "hello world end", "", ""},
		{"text/event-stream", hello + world, false, 0, "hello world", llm.Truncated, "the stream ended without end"},
		{"text/event-stream", hello + "data: {}\n\n", false, 0, "hello", llmconst.Protocol, "{} says nothing"},
		{"text/event-stream", hello + world + end, false, 1, "hello", "", ""},
		{"text/event-stream", hello + world, false, 1, "hello", "", ""},
		{"text/event-stream", "data: " + strings.Repeat("x", 20<<20), false, 0, "", llmconst.Protocol, "longer"},
		{"application/vnd.amazon.eventstream", "no frame at all, and longer than one may be", false, 0, "", llmconst.Protocol, ""},
		{"application/json", `{"say":"hello"}`, true, 0, "hello end", "", ""},
		{"application/json", `{"say":"hello"}`, true, 1, "hello", "", ""},
		{"application/json", ` {"say":"hello"}`, false, 0, "hello end", "", ""}, // no stream, though one was asked for
		{"application/json", `{"say":"hel`, true, 0, "", llm.Truncated, "not complete"},
		{"application/json", `7`, true, 0, "", llmconst.Protocol, "7 says nothing"},
		{"text/html", `{"say":"hello"}`, true, 0, "", llmconst.Protocol, "web page"},
	} {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {tt.media}, "Request-Id": {"r1"}}, Body: io.NopCloser(strings.NewReader(tt.body)), Request: r}, nil
		})}
		var said []string
		req := &llm.Request{Blocking: tt.blocking}
		var err error
		for delta, e := range Stream(t.Context(), nil, "m", req, func() (*Exchange, Decoder, error) { return exchange("http://h", client), &wordsDecoder{}, nil }) {
			if err = e; err != nil {
				break
			}
			if r := delta.Done; r != nil {
				delta.Text = "end"
				if r.Model != "m" || r.RequestID != "r1" {
					t.Errorf("%+v", r)
				}
			}
			said = append(said, delta.Text)
			if len(said) == tt.most {
				break
			}
		}
		if got := strings.Join(said, " "); got != tt.said {
			t.Errorf("%.60s: said %q, want %q", tt.body, got, tt.said)
		}
		var e *llm.APIError
		if errors.As(err, &e); tt.class == "" && err != nil || tt.class != "" && (e == nil || e.Class != tt.class || e.RequestID != "r1" || !strings.Contains(e.Message, tt.words)) {
			t.Errorf("%.60s: %v, want %s: %s", tt.body, err, tt.class, tt.words)
		}
	}
}
