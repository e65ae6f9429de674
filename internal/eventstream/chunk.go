package eventstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// An Exception is an error that the service reports inside a stream.
type Exception struct {
	Type    string // begins with a small letter: throttlingException, modelStreamErrorException …
	Message string
}

func (e *Exception) Error() string { return e.Type + ": " + e.Message }

// Chunk returns the content of the next chunk of a model's answer: with Anthropic's models,
// one event of the Messages API. It is valid until the next call. Padding is dropped,
// messages of other kinds are skipped. Exceptions and errors of the service are an
// [*Exception]; the other errors are those of [Reader.Next]. Source:
// InvokeModelWithResponseStream in the API reference of Amazon Bedrock.
func (r *Reader) Chunk() ([]byte, error) {
	for {
		m, err := r.Next()
		if err != nil {
			return nil, err
		}
		switch m.Header(":message-type") {
		case "exception":
			r.err = m.exception(m.Header(":exception-type"), "")
			return nil, r.err
		case "error":
			r.err = m.exception(m.Header(":error-code"), m.Header(":error-message"))
			return nil, r.err
		case "event":
			if m.Header(":event-type") != "chunk" {
				continue
			}
			if r.err = r.open(m.Payload); r.err != nil {
				return nil, r.err
			}
			return r.data, nil
		}
	}
}

// maxWords bounds the service's words in an exception that are not JSON.
const maxWords = 2000

func (m Message) exception(kind, words string) *Exception {
	var body struct {
		Message string `json:"message"` // also read from Message: names match in any case
	}
	if words == "" && json.Unmarshal(m.Payload, &body) == nil {
		words = body.Message
	}
	if words == "" {
		words = string(m.Payload[:min(len(m.Payload), maxWords)])
	}
	first, n := utf8.DecodeRuneInString(kind)
	if n > 0 {
		kind = string(unicode.ToLower(first)) + kind[n:]
	}
	return &Exception{Type: kind, Message: words}
}

// bytesStart is how a chunk begins as the service writes it.
var bytesStart = []byte(`{"bytes":"`)

// open decodes the payload of a chunk into r.data.
func (r *Reader) open(payload []byte) error {
	if rest, ok := bytes.CutPrefix(payload, bytesStart); ok {
		if end := bytes.IndexByte(rest, '"'); end >= 0 && json.Valid(payload) {
			var err error
			if r.data, err = base64.StdEncoding.AppendDecode(r.data[:0], rest[:end]); err == nil {
				return nil
			}
		}
	}
	var chunk struct {
		Bytes []byte `json:"bytes"`
	}
	if err := json.Unmarshal(payload, &chunk); err != nil {
		return fmt.Errorf("%w: a chunk: %w", ErrCorrupt, err)
	}
	if chunk.Bytes == nil {
		return fmt.Errorf("%w: a chunk without bytes", ErrCorrupt)
	}
	r.data = append(r.data[:0], chunk.Bytes...)
	return nil
}
