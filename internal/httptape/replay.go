package httptape

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/internal/text"
)

// A Replayer is an http.RoundTripper that answers from a recording: each request
// with the response to the first equal one that is not used yet. It is safe for
// concurrent use.
type Replayer struct {
	file string

	mu       sync.Mutex
	redactor redactor
	left     []*exchange
	failed   error
}

// Open reads a recording. Secrets are those of its [Recorder].
func Open(file string, secrets ...string) (*Replayer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("llmtest: reading a recording: %w", err)
	}
	var rec tape
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, fmt.Errorf("llmtest: reading the recording %s: %w", file, err)
	}
	if rec.Version != recordingVersion {
		return nil, fmt.Errorf("llmtest: the recording %s has version %d, but this program reads version %d", file, rec.Version, recordingVersion)
	}
	r := &Replayer{file: file, left: rec.Exchanges}
	r.redactor.add(secrets...)
	return r, nil
}

// Err returns the failure so far: the first request that was not recorded, or else the
// number of recorded requests that were not made. At the end of a test it should be nil.
func (r *Replayer) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	if n := len(r.left); n > 0 {
		return fmt.Errorf("llmtest: %d requests of the recording %s were not made, the first is %s %s", n, r.file, r.left[0].Request.Method, r.left[0].Request.Path)
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (r *Replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	_, body, err := withBody(req)
	if err != nil {
		return nil, err
	}
	x, err := r.find(req, body)
	if err != nil {
		return nil, err
	}
	if x.Response.Status == 0 {
		return nil, errors.New(x.Response.Error)
	}
	resp := &http.Response{
		StatusCode: x.Response.Status, Status: strconv.Itoa(x.Response.Status) + " " + http.StatusText(x.Response.Status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, ContentLength: -1,
		Header: http.Header{"Content-Type": {x.Response.ContentType}},
	}
	for name, v := range x.Response.Header {
		resp.Header.Set(name, v)
	}
	resp.Body, err = x.Response.body(req)
	return resp, err
}

// find takes the exchange for a request out of those that are left.
func (r *Replayer) find(req *http.Request, body []byte) (*exchange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.redactor.learn(req.URL.String(), req.Header)
	now, err := canonical(&r.redactor, req.Method, req.URL.Path, body)
	if err != nil {
		return nil, err
	}
	for i, x := range r.left {
		if difference(x.Request, now) == "" {
			r.left = slices.Delete(r.left, i, i+1)
			return x, nil
		}
	}
	wrong := Mismatched("the recording %s has no request left, but %s %s was made", r.file, now.Method, now.Path)
	if len(r.left) > 0 {
		wrong = Mismatched("a request is not that of the recording %s: %s", r.file, difference(r.left[0].Request, now))
	}
	if r.failed == nil {
		r.failed = wrong.Err
	}
	return nil, wrong
}

// body returns a reader that gives the pieces one by one.
func (x response) body(req *http.Request) (io.ReadCloser, error) {
	b := &replayedBody{req: req}
	for _, p := range x.Pieces {
		if x.Base64 {
			data, err := base64.StdEncoding.DecodeString(p)
			if err != nil {
				return nil, fmt.Errorf("llmtest: a recorded body: %w", err)
			}
			p = string(data)
		}
		b.pieces = append(b.pieces, p)
	}
	b.end = io.EOF
	if x.Error != "" {
		b.end = errors.New(x.Error)
	}
	return b, nil
}

type replayedBody struct {
	req    *http.Request
	pieces []string
	end    error
}

func (b *replayedBody) Read(p []byte) (int, error) {
	for {
		switch {
		case b.req.Context().Err() != nil:
			return 0, b.req.Context().Err()
		case len(b.pieces) == 0:
			return 0, b.end
		case len(p) == 0:
			return 0, nil
		}
		n := copy(p, b.pieces[0])
		if b.pieces[0] = b.pieces[0][n:]; b.pieces[0] == "" {
			b.pieces = b.pieces[1:]
		}
		if n > 0 {
			return n, nil
		}
	}
}

func (b *replayedBody) Close() error { return nil }

// difference says where two requests first differ, "" if they do not.
func difference(recorded, now request) string {
	if recorded.Method != now.Method || recorded.Path != now.Path {
		return fmt.Sprintf("recorded is %s %s, now it is %s %s", recorded.Method, recorded.Path, now.Method, now.Path)
	}
	if string(recorded.Body) == string(now.Body) {
		return ""
	}
	a, err1 := strictapi.Parse(recorded.Body)
	b, err2 := strictapi.Parse(now.Body)
	if err1 != nil || err2 != nil {
		return unequal("body", string(recorded.Body), string(now.Body))
	}
	return differ("body", a, b)
}

// differ compares two JSON values.
func differ(path string, a, b any) string {
	switch a := a.(type) {
	case strictapi.Object:
		b, ok := b.(strictapi.Object)
		if !ok {
			break
		}
		names := slices.Sorted(maps.Keys(a))
		for _, k := range slices.Sorted(maps.Keys(b)) {
			if _, ok := a[k]; !ok {
				names = append(names, k)
			}
		}
		for _, k := range names {
			x, old := a[k]
			y, present := b[k]
			switch {
			case !present:
				return fmt.Sprintf("%s.%s is gone: it was %s", path, k, shortened(x))
			case !old:
				return fmt.Sprintf("%s.%s is new: %s", path, k, shortened(y))
			}
			if d := differ(path+"."+k, x, y); d != "" {
				return d
			}
		}
		return ""
	case []any:
		b, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(a), len(b)) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= len(b):
				return fmt.Sprintf("%s is gone: it was %s", at, shortened(a[i]))
			case i >= len(a):
				return fmt.Sprintf("%s is new: %s", at, shortened(b[i]))
			}
			if d := differ(at, a[i], b[i]); d != "" {
				return d
			}
		}
		return ""
	case string:
		if b, ok := b.(string); ok {
			return unequal(path, a, b)
		}
	}
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s was %s, now it is %s", path, shortened(a), shortened(b))
}

// excerpt is how much is shown of a text, around the place where it differs.
const excerpt = 60

func unequal(path, a, b string) string {
	if a == b {
		return ""
	}
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	from := max(0, at-excerpt/2)
	for from > 0 && !utf8.RuneStart(a[from]) {
		from--
	}
	show := func(s string) string {
		end := min(len(s), at+excerpt)
		dots := [2]string{}
		if from > 0 {
			dots[0] = "…"
		}
		if end < len(s) {
			dots[1] = "…"
		}
		return dots[0] + strconv.Quote(strings.ToValidUTF8(s[min(from, end):end], "")) + dots[1]
	}
	return fmt.Sprintf("%s differs at byte %d: it was %s, now it is %s", path, at, show(a), show(b))
}

// shortened returns a value as JSON, not too much of it.
func shortened(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text.Bytes(string(data), 2*excerpt)
}
