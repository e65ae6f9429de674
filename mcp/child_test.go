package mcp

import (
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What a server asks without reading the answers does not pile up: beyond a bound it
// is refused, until there are answers. Messages that want none are passed on.
func TestQuestionsWithoutEnd(t *testing.T) {
	t.Parallel()
	c := newChild(nil, Config{}, true)
	passed := 0
	say := func(format string, args ...any) {
		c.line(fmt.Appendf(nil, format, args...))
		select {
		case <-c.out:
			passed++
		default:
		}
	}
	for i := range 10_000 {
		say(`{"jsonrpc":"2.0","id":"q%d","method":"roots/list"}`, i)
	}
	if refused := len(c.input.queue); passed != maxOpen || refused != cap(c.input.queue) {
		t.Errorf("%d passed, %d refused", passed, refused)
	}
	say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
	say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if passed != maxOpen+2 {
		t.Error("what is no question is held back")
	}
	for range len(c.input.queue) {
		<-c.input.queue
	}
	id, err := jsonrpc.MakeID("q1")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		say(`{"jsonrpc":"2.0","id":"r%d","method":"roots/list"}`, i)
	}
	if passed != maxOpen+5 || len(c.input.queue) != 3+2 {
		t.Errorf("%d passed, %d in the queue", passed, len(c.input.queue))
	}
}

// A server that does not read the answers to its requests holds up no other message.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	c := newChild(nil, Config{}, true)
	id, err := jsonrpc.MakeID("q")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 * cap(c.input.queue) { // a write that waits never returns
		if err := c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.input.queue); n != cap(c.input.queue) {
		t.Errorf("%d answers are kept", n)
	}
}
