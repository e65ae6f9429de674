package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/openagent-go/agent/internal/eventstream"
	"github.com/openagent-go/agent/internal/strictapi"
)

// A platform serves the Messages API in its own way: Amazon Bedrock, whose streams
// are frames, and Vertex AI.
type platform struct {
	bedrock bool
	model   string
	stream  bool
	version string
}

// platformOf tells by the path whose request it is; nil: Anthropic's own, or another
// API's.
func platformOf(u *url.URL) *platform {
	path := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	last := path[len(path)-1]
	switch {
	case len(path) >= 3 && path[len(path)-3] == "model" && (last == "invoke" || last == "invoke-with-response-stream"):
		model, err := url.PathUnescape(path[len(path)-2])
		if err != nil {
			return nil
		}
		return &platform{bedrock: true, model: model, stream: last != "invoke", version: "bedrock-2023-05-31"}
	case len(path) >= 2 && path[len(path)-2] == "models":
		name, verb, _ := strings.Cut(last, ":")
		model, err := url.PathUnescape(name)
		if err != nil || verb != "rawPredict" && verb != "streamRawPredict" {
			return nil
		}
		return &platform{model: model, stream: verb == "streamRawPredict", version: "vertex-2023-10-16"}
	}
	return nil
}

// translate turns a platform's request into one of the Messages API, and w into a writer of
// the platform's form. It returns the violation in the request.
func (p *platform) translate(w http.ResponseWriter, hr *http.Request) (http.ResponseWriter, *http.Request, []strictapi.Violation, *refusal) {
	out := &platformWriter{ResponseWriter: w, platform: p}
	body, unread := readBody(hr)
	if unread != nil {
		return out, hr, nil, unread
	}
	var broken []strictapi.Violation
	wrong := func(rule, path, text string) {
		broken = append(broken, strictapi.Violation{Rule: rule, Path: path, Message: path + ": " + text})
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		if fields["model"] != nil {
			wrong("A02", "model", "Extra inputs are not permitted")
		}
		if _, streams := fields["stream"]; streams && p.bedrock {
			wrong("A02", "stream", "Extra inputs are not permitted")
		} else if !p.bedrock && streams != p.stream {
			wrong("A02", "stream", "it is not what the path says")
		}
		if string(fields["anthropic_version"]) != `"`+p.version+`"` {
			wrong("A01", "anthropic_version", "Field required")
		}
		delete(fields, "anthropic_version")
		delete(fields, "anthropic_beta")
		delete(fields, "stream")
		fields["model"], _ = json.Marshal(p.model)
		if p.stream {
			fields["stream"] = json.RawMessage("true")
		}
		body, _ = json.Marshal(fields)
	}
	r := hr.Clone(hr.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Anthropic-Version", "2023-06-01")
	return out, r, broken, nil
}

// platformWriter writes replies of the Messages API in the form of a platform.
type platformWriter struct {
	http.ResponseWriter
	platform *platform
	frames   bool // the reply is a stream of them
	status   int
	rest     []byte // an event that is not yet whole
}

func (w *platformWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *platformWriter) WriteHeader(status int) {
	h := w.Header()
	if w.platform.bedrock {
		if id := h.Get("Request-Id"); id != "" {
			h.Del("Request-Id")
			h.Set("X-Amzn-Requestid", id)
		}
		if status < 300 && strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
			w.frames = true
			h.Set("Content-Type", eventstream.MediaType)
		}
	}
	if w.status = status; status >= 400 && strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		h.Del("Content-Length")
		if w.platform.bedrock {
			h.Set("X-Amzn-Errortype", exceptionOf(status)+":http://internal.amazon.com/coral/com.amazon.bedrock/")
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *platformWriter) Write(data []byte) (int, error) {
	switch {
	case w.frames:
		return len(data), w.reframe(data)
	case w.status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "application/json"):
		_, err := w.ResponseWriter.Write(w.failure(data))
		return len(data), err
	}
	return w.ResponseWriter.Write(data)
}

// failure returns the body of an error as the platform writes it.
func (w *platformWriter) failure(data []byte) []byte {
	var e struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(data, &e) != nil || e.Error.Message == "" {
		return data
	}
	if w.platform.bedrock {
		out, _ := json.Marshal(strictapi.Object{"message": e.Error.Message})
		return out
	}
	status := map[int]string{401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}[w.status]
	if status == "" {
		return data // Vertex passes on the answers of the Messages API
	}
	out, _ := json.Marshal(strictapi.Object{"error": strictapi.Object{"code": w.status, "message": e.Error.Message, "status": status}})
	return out
}

// reframe writes server-sent events as frames.
func (w *platformWriter) reframe(data []byte) error {
	w.rest = append(w.rest, data...)
	for {
		at := bytes.Index(w.rest, []byte("\n\n"))
		if at < 0 {
			return nil
		}
		event := w.rest[:at]
		w.rest = w.rest[at+2:]
		if _, err := w.ResponseWriter.Write(frameOf(event)); err != nil {
			return err
		}
	}
}

func frameOf(event []byte) []byte {
	failed := bytes.HasPrefix(event, []byte("event: error\n"))
	at := bytes.Index(event, []byte("data: "))
	if at < 0 {
		return nil
	}
	data := event[at+len("data: "):]
	if failed {
		var e struct {
			Error struct{ Type, Message string }
		}
		_ = json.Unmarshal(data, &e)
		kind := map[string]string{"rate_limit_error": "throttlingException", "overloaded_error": "serviceUnavailableException",
			"invalid_request_error": "validationException"}[e.Error.Type]
		if kind == "" {
			kind = "internalServerException"
		}
		payload, _ := json.Marshal(strictapi.Object{"message": e.Error.Message})
		return eventstream.Append(nil, payload, ":exception-type", kind, ":content-type", "application/json", ":message-type", "exception")
	}
	payload := fmt.Appendf(nil, `{"bytes":%q,"p":"abcdefgh"}`, base64.StdEncoding.EncodeToString(data))
	return eventstream.Append(nil, payload, ":event-type", "chunk", ":content-type", "application/json", ":message-type", "event")
}

// exceptionOf returns Bedrock's name of an error of a status.
func exceptionOf(status int) string {
	switch status {
	case 401:
		return "UnrecognizedClientException"
	case 402, 403:
		return "AccessDeniedException"
	case 404:
		return "ResourceNotFoundException"
	case 408:
		return "ModelTimeoutException"
	case 424:
		return "ModelErrorException"
	case 429:
		return "ThrottlingException"
	case 503, 529:
		return "ServiceUnavailableException"
	}
	if status >= 500 {
		return "InternalServerException"
	}
	return "ValidationException"
}
