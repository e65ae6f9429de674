package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// This file is what adapters share about their clients: streams of events, and conversations as prompts.

// An eventStream writes events to a client.
type eventStream struct{ *stream }

// lines begins a stream of events of a protocol.
func lines(c *call) eventStream { return eventStream{newStream(c.w, 0)} }

// event writes data as JSON.
func (s eventStream) event(data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return s.raw(string(b))
}

// typed writes an event of a type, with more members by name.
func (s eventStream) typed(kind string, members ...any) error {
	m := map[string]any{"type": kind}
	for i := 0; i < len(members); i += 2 {
		m[members[i].(string)] = members[i+1]
	}
	return s.event(m)
}

// raw writes data as it is.
func (s eventStream) raw(data string) error {
	if err := s.write(frame{data: []byte("data: " + data + "\n\n")}); err != nil {
		return err
	}
	return s.flush()
}

// quiet writes a comment.
func (s eventStream) quiet() error {
	if err := s.write(frame{data: []byte(": \n\n")}); err != nil {
		return err
	}
	return s.flush()
}

// readLoose reads the body of a request of another protocol, which may have fields that the server
// does not know.
func (c *call) readLoose(into any) error {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &Error{http.StatusUnsupportedMediaType, "not_json", "the body must be JSON", "send Content-Type: application/json"}
	}
	b, err := io.ReadAll(c.r.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return bad("the body is not valid: %v", err)
	}
	return nil
}

// dataURL returns the content of a data URL. Other addresses are refused: the server loads nothing for
// a client.
func dataURL(address string) (kind string, data []byte, err error) {
	rest, ok := strings.CutPrefix(address, "data:")
	head, body, found := strings.Cut(rest, ",")
	head, encoded := strings.CutSuffix(head, ";base64")
	if !ok || !found || !encoded {
		return "", nil, bad("send images and files as data URLs in base64: the server loads no addresses")
	}
	kind, _, err = mime.ParseMediaType(head)
	if err == nil {
		data, err = base64.StdEncoding.DecodeString(body)
	}
	if err != nil {
		return "", nil, bad("a data URL is not valid")
	}
	return kind, data, nil
}

// block returns a file of a client as content of a prompt.
func block(kind, name string, data []byte) (llm.Block, error) {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return llm.Image{MediaType: kind, Data: data}, nil
	case "application/pdf":
		return llm.Document{MediaType: kind, Title: name, Data: data}, nil
	case "text/plain", "text/markdown", "text/csv", "application/json":
		return llm.Document{MediaType: "text/plain", Title: name, Data: data}, nil
	}
	return nil, bad("files may be images (PNG, JPEG, GIF, WebP), PDFs and texts")
}

// A turn is a message of a client's history.
type turn struct {
	role   string // user or assistant
	text   string
	blocks llm.Blocks
}

// promptOf makes a prompt of a conversation: of the messages of the user at its end, with the ones before
// as a text if the session does not have them.
func promptOf(turns []turn, hasPast bool) (past []turn, in agent.Input) {
	n := len(turns)
	for n > 0 && turns[n-1].role == "user" {
		n--
	}
	var texts []string
	if !hasPast && n > 0 {
		var b strings.Builder
		b.WriteString("The conversation so far, which took place elsewhere:\n")
		for _, t := range turns[:n] {
			b.WriteString("\n" + t.role + ": " + t.text + "\n")
		}
		b.WriteString("\nThe message to answer now:")
		texts = append(texts, b.String())
	}
	for _, t := range turns[n:] {
		if t.text != "" {
			texts = append(texts, t.text)
		}
		in.Blocks = append(in.Blocks, t.blocks...)
	}
	in.Text = strings.Join(texts, "\n\n")
	return turns[:n], in
}

// instructions puts instructions of a client before a prompt.
func instructions(system, prompt string) string {
	return "Instructions of the program that the user writes with:\n" + system + "\n\n" + prompt
}

// addFile adds a file that a client sends as a data URL. kind is what the client calls it; "": as the address says.
func (t *turn) addFile(kind, name, address string) error {
	said, data, err := dataURL(address)
	if err != nil {
		return err
	}
	b, err := block(cmp.Or(kind, said), name, data)
	if err != nil {
		return err
	}
	t.blocks = append(t.blocks, b)
	return nil
}

// addTurn adds a message to a conversation, unless it has nothing for the agent.
func addTurn(turns []turn, t turn) []turn {
	if t.role == "user" || t.role == "assistant" && t.text != "" {
		return append(turns, t)
	}
	return turns
}

// errNoPrompt is for a conversation that asks nothing.
var errNoPrompt = bad("the last message must be the user's, or answer questions")

// nextPrompt makes a prompt of the last message of a conversation, and of those before it if the session
// does not exist yet. has: it exists.
func (l *live) nextPrompt(ctx context.Context, turns []turn) (in agent.Input, has bool, err error) {
	if n := len(turns); n == 0 || turns[n-1].role != "user" {
		return in, false, errNoPrompt
	}
	if has, err = l.exists(ctx); err != nil {
		return in, false, err
	}
	if has {
		turns = turns[len(turns)-1:]
	}
	_, in = promptOf(turns, has)
	return in, has, nil
}

// errKnown refuses a message that the session has had already.
var errKnown = &Error{http.StatusConflict, "known", "the session has had this message already", "get the stream of the chat"}

// promptOnce begins the run of a prompt that the session has not had.
func (l *live) promptOnce(c *call, in agent.Input) error {
	known, err := l.prompt(c.ctx(), "", in)
	if known {
		return errKnown
	}
	if err == nil {
		l.server.log().Info("message accepted", "session", l.at.id, "message", in.ID, "by", c.by)
	}
	return err
}

// exists reports whether the session is on record.
func (l *live) exists(ctx context.Context) (bool, error) {
	_, err := session.Stat(ctx, l.store, l.at.id)
	if errors.Is(err, session.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// runEnd says why a run did not complete, nil if it did.
func runError(d event.RunEnd) *Error {
	switch d.Reason {
	case event.Completed, event.ToolEnded, event.MaxTokens, event.Refused, event.Interrupted:
		return nil
	}
	message := d.Message
	if message == "" {
		message = "the run ended: " + string(d.Reason)
	}
	return &Error{http.StatusUnprocessableEntity, string(d.Reason), message, "the events of the session have more"}
}

// compactJSON returns JSON on one line.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "{}"
	}
	return b.String()
}
