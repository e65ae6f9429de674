package a2aagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/log"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/sse"
	"github.com/openagent-go/agent/serve"
)

// A caller is a client's request. Its methods send requests to the API of the server as this client:
// with its headers, so that the server decides as it would for the client itself.
type caller struct {
	server  *serve.Server
	request *http.Request
	user    string
}

// api returns a request to the API.
func (c *caller) api(ctx context.Context, method, path string, body any) (*http.Request, error) {
	at, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	r := c.request.Clone(ctx)
	r.Method, r.URL, r.RequestURI, r.Body, r.ContentLength = method, at, path, http.NoBody, 0
	r.Form, r.PostForm, r.MultipartForm, r.Trailer, r.TransferEncoding = nil, nil, nil, nil, nil
	for _, name := range []string{"Accept", "Accept-Encoding", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Last-Event-Id"} {
		r.Header.Del(name)
	}
	if body != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // it must not become larger than what the client has sent
		if err := enc.Encode(body); err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Body, r.ContentLength = io.NopCloser(&b), int64(b.Len())
	}
	return r, nil
}

// do sends a request and reads the answer, unless out is nil. A failure is an [serve.Error].
func (c *caller) do(ctx context.Context, method, path string, in, out any) error {
	_, err := c.send(ctx, method, path, in, out)
	return err
}

// send is like do and returns the header of the answer too.
func (c *caller) send(ctx context.Context, method, path string, in, out any) (http.Header, error) {
	r, err := c.api(ctx, method, path, in)
	if err != nil {
		return nil, err
	}
	a := &answer{header: http.Header{}, unread: out == nil}
	c.server.ServeHTTP(a, r)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return a.header, a.read(out)
}

// An answer keeps the answer to a request.
type answer struct {
	header http.Header
	unread bool // its body is dropped, except that of a failure
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.unread && a.status < http.StatusBadRequest {
		return len(b), nil
	}
	return a.body.Write(b)
}

// read decodes the answer. out may be nil.
func (a *answer) read(out any) error {
	if a.status >= http.StatusBadRequest {
		return failure(a.status, a.body.Bytes())
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.body.Bytes(), out)
}

// failure returns the error of an answer.
func failure(status int, body []byte) error {
	var f struct{ Error *serve.Error }
	if json.Unmarshal(body, &f) != nil || f.Error == nil {
		f.Error = &serve.Error{Code: "internal", Message: "the server could not do this", Hint: "its log says why"}
	}
	f.Error.Status = status
	return f.Error
}

// A frame is an event of a stream of the API.
type frame struct {
	kind    string        // fact, signal, state or gone
	event   event.Event   // of a fact or a signal
	signals []event.Event // of a state
	reason  string        // of the end
}

// events yields the frames of a session after a fact, until ctx ends or the stream does.
func (c *caller) events(ctx context.Context, session string, after int64) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		r, err := c.api(ctx, http.MethodGet, fmt.Sprintf("%s/events?after=%d", sessionPath(session), after), nil)
		if err != nil {
			cancel()
			yield(frame{}, err)
			return
		}
		r.Header.Set("Accept", "text/event-stream")
		from, to := io.Pipe()
		a := &streamed{header: http.Header{}, to: to}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.server.ServeHTTP(a, r)
			_ = to.CloseWithError(a.failed())
		}()
		defer func() {
			cancel()
			_ = from.Close()
			<-done
		}()
		for in := sse.NewReader(from, 0); ; {
			e, err := in.Next()
			if err == nil {
				var f frame
				if f, err = decoded(e); err == nil {
					if !yield(f, nil) || f.kind == "gone" {
						return
					}
					continue
				}
			}
			if ctx.Err() != nil {
				err = ctx.Err()
			} else if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			yield(frame{}, err)
			return
		}
	}
}

// decoded reads a frame.
func decoded(e sse.Event) (f frame, err error) {
	f.kind = string(e.Type)
	switch f.kind {
	case "fact", "signal":
		err = json.Unmarshal(e.Data, &f.event)
	case "state":
		var st struct{ Signals []event.Event }
		err = json.Unmarshal(e.Data, &st)
		f.signals = st.Signals
	case "gone":
		var gone struct{ Reason string }
		err = json.Unmarshal(e.Data, &gone)
		f.reason = gone.Reason
	}
	return f, err
}

// streamed passes an answer on while it is written. The body of a failure is kept instead.
type streamed struct {
	header http.Header
	to     *io.PipeWriter
	status int
	body   bytes.Buffer
}

func (a *streamed) Header() http.Header { return a.header }

func (a *streamed) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *streamed) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.status >= http.StatusBadRequest {
		return a.body.Write(b)
	}
	return a.to.Write(b)
}

// Flush implements [http.Flusher]. Nothing waits.
func (a *streamed) Flush() {}

// failed returns the error of the answer, nil if there is none.
func (a *streamed) failed() error {
	if a.status >= http.StatusBadRequest {
		return failure(a.status, a.body.Bytes())
	}
	return nil
}

// sessionPath returns the path of a session in the API.
func sessionPath(id string) string { return "/v1/sessions/" + url.PathEscape(id) }

// apiError returns the error of the API that err is, or one about an internal error.
func apiError(err error) *serve.Error {
	var e *serve.Error
	if errors.As(err, &e) {
		return e
	}
	return &serve.Error{Status: http.StatusInternalServerError, Code: "internal", Message: "the server could not do this", Hint: "its log says why"}
}

// isCode reports whether err is an error of the API with one of the codes.
func isCode(err error, codes ...string) bool {
	var e *serve.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, code := range codes {
		if e.Code == code {
			return true
		}
	}
	return false
}

// protocolError returns an error of the API as one of the protocol.
func protocolError(ctx context.Context, err error) error {
	var e *serve.Error
	var own *a2a.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return err
	case !errors.As(err, &e):
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		log.Error(ctx, "a request of the A2A protocol failed", err)
		return a2a.NewError(a2a.ErrInternalError, "the server could not do this: its log says why")
	}
	kind := a2a.ErrInternalError
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		kind = a2a.ErrInvalidParams
	case http.StatusUnauthorized:
		kind = a2a.ErrUnauthenticated
	case http.StatusForbidden, http.StatusMisdirectedRequest:
		kind = a2a.ErrUnauthorized
	case http.StatusNotFound:
		kind = a2a.ErrTaskNotFound
	case http.StatusConflict, http.StatusUnprocessableEntity:
		kind = a2a.ErrUnsupportedOperation
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		kind = a2a.ErrServerError
	}
	if kind == a2a.ErrTaskNotFound {
		return noTask()
	}
	return a2a.NewError(kind, e.Message)
}
