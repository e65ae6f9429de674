// Package httptape records HTTP exchanges with a model's provider in a file, without secrets,
// and answers from it. It is behind llmtest.Replay.
package httptape

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/strictapi"
)

// A recording is the content of the file.
type tape struct {
	Version   int         `json:"version"`
	Exchanges []*exchange `json:"exchanges"`
}

const recordingVersion = 1

type exchange struct {
	Request  request  `json:"request"`
	Response response `json:"response"`
}

type request struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"` // canonical JSON; a string of base64 for other data
}

type response struct {
	Status      int               `json:"status,omitempty"`
	ContentType string            `json:"content_type,omitempty"`
	Header      map[string]string `json:"header,omitempty"` // of those in kept
	Pieces      []string          `json:"pieces,omitempty"` // of the body, as they were read
	Base64      bool              `json:"base64,omitempty"` // the pieces are
	Error       string            `json:"error,omitempty"`  // the error at the end of the exchange or its body
}

// kept are the headers of a response that a client acts upon.
var kept = []string{"Retry-After", "Retry-After-Ms"}

// maxRecording bounds the bodies of one exchange in a recording.
const maxRecording = 64 << 20

// A Recorder is an http.RoundTripper that records exchanges. Of each request it keeps
// method, path and body. Of each response it keeps status, content type, retry headers, and
// the body in the pieces in which it came. It never keeps headers of requests and queries
// of URLs. Before anything is written, it replaces credentials of the request's headers,
// Secrets, and everything that looks like a key, a token, an e-mail address or the id of an
// organisation. It is safe for concurrent use.
type Recorder struct {
	Transport http.RoundTripper // nil: http.DefaultTransport
	Secrets   []string          // replaced wherever they are; shorter than 4 bytes they are not

	mu        sync.Mutex
	redactor  redactor
	exchanges []*taken
}

// taken is an exchange as it went over the wire. It is changed under the
// recorder's lock.
type taken struct {
	method, path string
	body         []byte
	response     response
	pieces       [][]byte
	size         int
	open         bool // the body was not read to its end, or closed
}

// RoundTrip implements http.RoundTripper.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	out, body, err := withBody(req)
	if err != nil {
		return nil, err
	}
	x := &taken{method: req.Method, path: req.URL.Path, body: body, open: true}
	r.mu.Lock()
	r.redactor.learn(req.URL.String(), req.Header)
	r.exchanges = append(r.exchanges, x)
	r.mu.Unlock()
	transport := r.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	resp, err := transport.RoundTrip(out)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		x.response.Error, x.open = err.Error(), false
		return nil, err
	}
	r.redactor.learn("", resp.Header)
	x.response.Status, x.response.ContentType = resp.StatusCode, resp.Header.Get("Content-Type")
	for _, name := range kept {
		if v := resp.Header.Get(name); v != "" {
			if x.response.Header == nil {
				x.response.Header = map[string]string{}
			}
			x.response.Header[name] = v
		}
	}
	resp.Body = &recordedBody{ReadCloser: resp.Body, recorder: r, exchange: x}
	return resp, nil
}

// withBody reads the body of a request and returns one that still has it.
func withBody(req *http.Request) (*http.Request, []byte, error) {
	if req.Body == nil {
		return req, nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxRecording+1))
	if err := errors.Join(err, req.Body.Close()); err != nil {
		return nil, nil, fmt.Errorf("llmtest: reading a request: %w", err)
	}
	if len(body) > maxRecording {
		return nil, nil, fmt.Errorf("llmtest: a request is larger than the %d MB that are recorded", maxRecording>>20)
	}
	out := req.Clone(req.Context())
	out.Body = io.NopCloser(bytes.NewReader(body))
	return out, body, nil
}

type recordedBody struct {
	io.ReadCloser
	recorder *Recorder
	exchange *taken
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.recorder.mu.Lock()
	defer b.recorder.mu.Unlock()
	x := b.exchange
	if x.size += n; n > 0 && x.size <= maxRecording {
		x.pieces = append(x.pieces, bytes.Clone(p[:n]))
	}
	if err != nil {
		x.open = false
		if err != io.EOF {
			x.response.Error = err.Error()
		}
	}
	return n, err
}

func (b *recordedBody) Close() error {
	b.recorder.mu.Lock()
	b.exchange.open = false
	b.recorder.mu.Unlock()
	return b.ReadCloser.Close()
}

// Empty reports whether there was no request.
func (r *Recorder) Empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.exchanges) == 0
}

// Save writes the recording to a file, with its folder. It fails, and writes
// nothing, where a secret cannot be replaced because a stream spreads it over
// several events.
func (r *Recorder) Save(file string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.redactor.add(r.Secrets...)
	rec := tape{Version: recordingVersion}
	for i, x := range r.exchanges {
		e, err := x.exchange(&r.redactor)
		if err != nil {
			return fmt.Errorf("llmtest: recording %s: request %d: %w", file, i+1, err)
		}
		rec.Exchanges = append(rec.Exchanges, e)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rec); err != nil {
		return fmt.Errorf("llmtest: recording %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("llmtest: recording: %w", err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("llmtest: recording: %w", err)
	}
	return nil
}

// exchange returns x without its secrets.
func (x *taken) exchange(r *redactor) (*exchange, error) {
	switch {
	case x.open:
		return nil, errors.New("its response was neither read to the end nor closed")
	case x.size > maxRecording:
		return nil, fmt.Errorf("its response is larger than %d MB", maxRecording>>20)
	}
	req, err := canonical(r, x.method, x.path, x.body)
	if err != nil {
		return nil, err
	}
	resp := x.response
	resp.Error = r.text(resp.Error)
	for name, v := range resp.Header {
		resp.Header[name] = r.text(v)
	}
	pieces := make([]string, len(x.pieces))
	for i, p := range x.pieces {
		pieces[i] = string(p)
		resp.Base64 = resp.Base64 || !utf8.Valid(p)
	}
	redacted := r.pieces(pieces)
	if err := r.check(resp.ContentType, pieces, redacted); err != nil {
		return nil, err
	}
	resp.Pieces = redacted
	if resp.Base64 {
		for i, p := range redacted {
			resp.Pieces[i] = base64.StdEncoding.EncodeToString([]byte(p))
		}
	}
	return &exchange{Request: req, Response: resp}, nil
}

// canonical returns a request in the one form in which it is kept and compared:
// JSON without space and with its members in order.
func canonical(r *redactor, method, path string, body []byte) (request, error) {
	req := request{Method: method, Path: r.text(cmp.Or(path, "/"))}
	if len(body) == 0 {
		return req, nil
	}
	v, err := strictapi.Parse(body)
	if err != nil {
		v = base64.StdEncoding.EncodeToString([]byte(r.text(string(body))))
	} else {
		v = r.value(v)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return request{}, fmt.Errorf("encoding the body: %w", err)
	}
	req.Body = bytes.TrimSpace(out.Bytes())
	return req, nil
}

// check reports secrets that redacting did not find because a stream spreads
// them over events or encodes them.
func (r *redactor) check(contentType string, before, after []string) error {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.TrimSpace(media)
	whole, redacted := strings.Join(before, ""), strings.Join(after, "")
	for place, texts := range textsIn(media, whole) {
		if r.spread(texts) {
			return fmt.Errorf("a secret, or what looks like one, is spread over several events (%s): it cannot be redacted", place)
		}
	}
	if media == binaryStream && whole != redacted {
		return errors.New("a secret, or what looks like one, is in a binary stream: it cannot be redacted")
	}
	for place, texts := range textsIn(media, redacted) {
		for _, text := range texts {
			if len(r.find(text)) > 0 {
				return fmt.Errorf("a secret, or what looks like one, is encoded (%s): it cannot be redacted", place)
			}
		}
	}
	return nil
}

// spread reports whether something to hide goes over the end of a text.
func (r *redactor) spread(texts []string) bool {
	spans := r.find(strings.Join(texts, ""))
	at := 0
	for _, text := range texts {
		at += len(text)
		for len(spans) > 0 && spans[0].from < at {
			if spans[0].to > at {
				return true
			}
			spans = spans[1:]
		}
	}
	return false
}

// textsIn returns the texts in the events of a body by the place where they stand.
func textsIn(media, body string) map[string][]string {
	texts := map[string][]string{}
	for _, event := range eventsIn(media, body) {
		if v, err := strictapi.Parse(event); err == nil {
			gather("event", v, texts)
		}
	}
	return texts
}

func gather(place string, v any, texts map[string][]string) {
	switch v := v.(type) {
	case string:
		texts[place] = append(texts[place], v)
	case []any:
		for _, x := range v {
			gather(place, x, texts)
		}
	case strictapi.Object:
		for k, x := range v {
			gather(place+"."+k, x, texts)
		}
	}
}
