package streamjson

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/llm"
)

func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"type":"user","message":{"role":"user","content":"hi"}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"set_model","model":null}}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{}}}}`,
		`{"type":"keep_alive"}`, `{}`, `[]`, `null`, `{"type":1}`, `{"type":"user"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		in, err := parseLine(line)
		if err != nil || in.Type != "user" {
			return
		}
		text, blocks, err := parseContent(in.Message.Content)
		if err != nil {
			return
		}
		// What was taken in can be shown.
		if _, err := cli.EncodeLine(userLine{Message: userMessage{"user", contentjson.Short(llm.UserText(text, blocks...).Content)}}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestReadLine(t *testing.T) {
	r := bufio.NewReaderSize(strings.NewReader("one\n"+strings.Repeat("x", 100)+"\nlast"), 16)
	for _, want := range []string{"one\n", strings.Repeat("x", 100) + "\n"} {
		if line, err := ReadLine(r, 200); err != nil || string(line) != want {
			t.Errorf("%q, %v", line, err)
		}
	}
	if line, err := ReadLine(r, 200); err != io.EOF || string(line) != "last" {
		t.Errorf("%q, %v", line, err)
	}
	if _, err := ReadLine(bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 300)), 16), 200); err == nil {
		t.Error("a line that is too long was taken")
	}
}

// A gate is a writer that writes when it is told to.
type gate struct {
	open    chan struct{}
	written []string
	err     error
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.written = append(g.written, strings.TrimSpace(string(p)))
	return len(p), g.err
}

func TestControlOvertakesData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := NewWriter(g, func(err error) { t.Error(err) })
		l.Put(0)
		synctest.Wait() // it is being written
		go func() {
			for i := range maxData + 5 {
				l.Put(i + 1)
			}
		}()
		synctest.Wait() // the writer of data waits
		l.answer("answer")
		close(g.open)
		synctest.Wait()
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(g.written) != maxData+7 || g.written[0] != "0" || g.written[1] != `"answer"` {
			t.Errorf("%v", g.written)
		}
	})
}

func TestLinesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), err: errors.New("broken pipe")}
		close(g.open)
		var failed error
		l := NewWriter(g, func(err error) { failed = err })
		for i := range 3 * maxData {
			l.Put(i) // does not hang
		}
		if err := l.Close(t.Context()); err == nil || failed == nil {
			t.Errorf("%v, %v", err, failed)
		}
	})
}

func TestLinesGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := NewWriter(g, func(err error) { t.Error(err) })
		ctx, cancel := context.WithCancel(t.Context())
		defer l.StopWaiting(ctx)()
		done := make(chan error)
		go func() {
			for i := range 3 * maxData {
				l.Put(i)
			}
			done <- l.Close(ctx)
		}()
		synctest.Wait()
		cancel()
		if err := <-done; err == nil {
			t.Error("a reader that does not read was waited for")
		}
		close(g.open)
	})
}

// Questions about a call wait for its line by looking for the call.
func TestCallsAreKnownOnceShown(t *testing.T) {
	var r *Report
	shown := false
	r = NewReport("s", "p", func(v any) {
		if _, ok := v.(assistantLine); ok {
			shown = true
			if _, known := r.calls.Get(CallID(3, 0)); known {
				t.Error("the call is known before its line")
			}
		}
	})
	r.Event(event.Event{Seq: 3, Data: event.AssistantMessage{Response: llm.Response{
		Message: llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.ToolUse{ID: "t1", Name: "Read", Input: []byte(`{}`)}}}}}})
	if _, known := r.calls.Get(CallID(3, 0)); !shown || !known {
		t.Errorf("shown %v, known %v", shown, known)
	}
}
