package llmtest

import (
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// A Step is the answer of a [Model] or a [Server] to one request. The zero Step is an empty
// message that ends the turn.
type Step struct {
	// The model's output, in this order. Thinking gets a signature by which a [Server] sees
	// later whether the text was changed.
	Thinking string
	Text     string        // of the answer
	Calls    []llm.ToolUse // a call with Invalid set streams that text as its input

	Content llm.Blocks                      // instead of the three above: any blocks in any order
	Reply   func(*llm.Request) llm.Response // instead of all above: made from the request
	Stop    llm.StopReason                  // default: tool_use if there are calls, else end_turn
	Usage   llm.Usage                       // as the provider counted; default: four bytes a token, of request and answer
	Pieces  int                             // pieces that a text or tool input is streamed in; default 4

	Delay      time.Duration // before anything is answered
	EventDelay time.Duration // before each event of a stream, each byte of any other body
	Stall      time.Duration // silence after StallAfter of them
	StallAfter int

	// CutAfter breaks the answer off in the way that Cut says, after that many
	// events of a stream, bytes of any other body, or deltas of a [Model]. -1 closes or
	// resets the connection before the reply's header.
	CutAfter int
	// Cut is a way to break a stream off. "": the connection is closed. reset: it is reset,
	// where it is TCP. end: the body ends as if it were complete. error: an error event says
	// Err, by default that the model is overloaded, and the body ends. garbage: an event that
	// is not JSON comes, and the stream continues.
	Cut string

	// Instead of an answer: a failure (see [Fail]), or a status (with the
	// provider's usual words, or Err's), or a raw body.
	Err    error
	Status int         // default 200
	Header http.Header // added to the reply
	Raw    []byte      // non-nil: the body, byte for byte, of type text/html unless Header says another
}

// Values of [Step].Cut.
const (
	cutClose   = ""
	cutReset   = "reset"
	cutEnd     = "end"
	cutError   = "error"
	cutGarbage = "garbage"
)

// atOnce as CutAfter closes or resets the connection before the reply's header.
const atOnce = -1

const defaultPieces = 4

// response returns the step's answer to req, with all missing parts filled in.
func (s Step) response(req *llm.Request, newID func() string) llm.Response {
	r := llm.Response{Message: llm.Message{Content: s.content()}, Stop: s.Stop, Usage: s.Usage}
	if s.Reply != nil {
		r = s.Reply(req)
	}
	r.Message.Role = llm.Assistant
	r.Message.Content = complete(r.Message.Content, newID)
	if r.Stop == "" {
		r.Stop = llm.EndTurn
		if len(r.Message.ToolUses()) > 0 {
			r.Stop = llm.UseTools
		}
	}
	return r
}

func (s Step) content() llm.Blocks {
	if s.Content != nil {
		return s.Content
	}
	var bs llm.Blocks
	if s.Thinking != "" {
		bs = append(bs, llm.Thinking{Text: s.Thinking})
	}
	if s.Text != "" {
		bs = append(bs, llm.Text{Text: s.Text})
	}
	for _, u := range s.Calls {
		bs = append(bs, u)
	}
	return bs
}

// complete returns bs with the ids, inputs and signatures that were left out.
func complete(bs llm.Blocks, newID func() string) llm.Blocks {
	out := make(llm.Blocks, len(bs))
	for i, b := range bs {
		switch c := b.(type) {
		case llm.ToolUse:
			if c.ID == "" {
				c.ID = newID()
			}
			if len(c.Input) == 0 || c.Invalid != "" {
				c.Input = json.RawMessage(`{}`)
			}
			b = c
		case llm.Thinking:
			if c.Signature == "" {
				c.Signature = strictapi.Sign(c.Text)
			}
			b = c
		}
		out[i] = b
	}
	return out
}

// inputText returns a call's input as the model writes it.
func inputText(u llm.ToolUse) string {
	if u.Invalid != "" {
		return u.Invalid
	}
	return string(u.Input)
}

// split cuts text into at most n pieces (default 4), never within a character.
func split(text string, n int) []string {
	if n <= 0 {
		n = defaultPieces
	}
	size := max(1, (len(text)+n-1)/n)
	var pieces []string
	for len(text) > size {
		end := size
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	if text != "" {
		pieces = append(pieces, text)
	}
	return pieces
}
