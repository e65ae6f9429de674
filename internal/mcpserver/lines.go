package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxLine = 16 << 20 // bytes of a message

// lines is the connection to a client that sends a message a line. The SDK's own ends a
// session at a line that is not a message, and does not report the end of the input during
// calls.
type lines struct {
	in       io.Reader
	messages chan jsonrpc.Message
	ended    chan struct{} // closed: nothing more will come
	settled  chan struct{} // closed: and all that was asked has its answer
	closing  sync.Once
	closed   chan struct{}

	mu  sync.Mutex // of writing
	out io.Writer

	counting sync.Mutex
	open     int // requests that have no answer yet, and one more until the input has ended
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: in, out: out, messages: make(chan jsonrpc.Message), ended: make(chan struct{}), settled: make(chan struct{}), closed: make(chan struct{}), open: 1}
}

// Connect begins to read.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	go l.read()
	return l, nil
}

// read passes on messages until the input ends. It answers a line that is not a message, or
// too long, with an error.
func (l *lines) read() {
	defer l.count(-1)
	defer close(l.ended)
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		line, long, err := nextLine(r)
		line = bytes.TrimSpace(line)
		switch {
		case long:
			l.refuse(jsonrpc.CodeInvalidRequest, "the message is larger than 16 MB")
		case len(line) > 0:
			l.take(line)
		}
		if err != nil {
			return
		}
	}
}

// nextLine reads a line. One that is too long is read to its end and not kept.
func nextLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			line, long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

func (l *lines) take(line []byte) {
	if !json.Valid(line) { // it knows a limit of depth, too
		l.refuse(jsonrpc.CodeParseError, "the line is not JSON")
		return
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		l.refuse(jsonrpc.CodeInvalidRequest, "the line is not a message of JSON-RPC 2.0")
		return
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		l.count(1)
	}
	select {
	case l.messages <- m:
	case <-l.closed:
	}
}

// count changes the number of open requests.
func (l *lines) count(n int) {
	l.counting.Lock()
	defer l.counting.Unlock()
	if l.open += n; l.open == 0 {
		close(l.settled)
	}
}

// refuse answers a line without a readable id.
func (l *lines) refuse(code int64, why string) {
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why}})
	if err == nil {
		_ = l.write(data) // a lost connection is noticed elsewhere
	}
}

// Read returns the next message. After the last it returns [io.EOF], but not before
// all is answered: the SDK sends no answers then.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.messages:
		return m, nil
	case <-l.closed:
		return nil, io.EOF
	case <-l.settled:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message.
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if r, ok := m.(*jsonrpc.Response); ok && r.ID.IsValid() {
		defer l.count(-1)
	}
	return l.write(data)
}

func (l *lines) write(data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return io.ErrClosedPipe
	default:
	}
	_, err := l.out.Write(append(data, '\n'))
	return err
}

// Close ends the connection. The reader of the input ends as soon as that does.
func (l *lines) Close() error {
	l.closing.Do(func() {
		close(l.closed)
		if c, ok := l.in.(io.Closer); ok {
			_ = c.Close() // it is not read any more
		}
	})
	return nil
}

// SessionID is empty: a connection is one session.
func (l *lines) SessionID() string { return "" }
