// Package lsp is a client of language servers: it talks the Language Server Protocol 3.17
// over the standard input and output of a program. Data from a server is bounded and
// checked; a server never changes anything through it.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// retryPause is how long an answer that was out of date is waited with.
	retryPause = 50 * time.Millisecond
	// parting bounds how long a server is waited for that was asked to end.
	parting = 2 * time.Second
	// maxErrorText is how much of the end of a server's standard error is kept, in bytes.
	maxErrorText = 4 << 10
)

var (
	// ErrEnded is matched by the error for a server that has ended, or whose
	// messages make no sense.
	ErrEnded = errors.New("the language server has ended")
	// ErrUnsupported is matched by the error for a question that a server cannot answer.
	ErrUnsupported = errors.New("the language server does not offer this")
)

// A Program is a language server that is running.
type Program struct {
	Stop func()          // ends it with all it has started, and returns at once
	Done <-chan struct{} // closed when all of it has ended
}

// A Config says how to open a server.
type Config struct {
	Name    string          // for errors
	Root    string          // the folder it works in, absolute
	Options json.RawMessage // the initializationOptions; nil for none
	// Start starts the program, which reads in and writes to out and errs.
	Start func(in io.Reader, out, errs io.Writer) (Program, error)
}

// A Server is a language server that has said hello. It is safe for concurrent use.
type Server struct {
	config       Config
	conn         *conn
	program      Program
	errors       *tail
	encoding     Encoding
	capabilities capabilities
	documents    documents
	busy         busy
	gone         chan struct{} // closed: the connection and the program have ended
	closing      sync.Once
}

// Open starts a server and greets it. ctx is for the greeting alone. The Server
// must be closed.
func Open(ctx context.Context, c Config) (*Server, error) {
	s := &Server{config: c, errors: &tail{}, encoding: UTF16, gone: make(chan struct{})}
	s.documents.open = map[string]*document{}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	program, err := c.Start(inRead, outWrite, s.errors)
	if err != nil {
		return nil, err
	}
	s.program = program
	s.conn = newConn(outRead, inWrite, s)
	go func() {
		defer close(s.gone)
		select {
		case <-program.Done:
			outWrite.Close() // the rest is read, then the connection ends
			inRead.Close()
		case <-s.conn.ended:
			program.Stop()
		}
		<-program.Done
		s.conn.working.Wait()
	}()
	if err := s.greet(ctx); err != nil {
		err = s.explain(err)
		s.abandon()
		return nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	return s, nil
}

// Encoding returns the unit of the server's positions.
func (s *Server) Encoding() Encoding { return s.encoding }

// Ended returns a channel that is closed when the server cannot answer any more.
func (s *Server) Ended() <-chan struct{} { return s.conn.ended }

// Err says why a server has ended, with the last that it wrote to its standard error.
func (s *Server) Err() error { return s.explain(s.conn.reason()) }

// Close asks the server to end, ends it if it does not, and waits for its end.
func (s *Server) Close() {
	s.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), parting)
		defer cancel()
		// The result does not matter: the program is stopped in any case.
		if s.conn.call(ctx, "shutdown", nil, nil) == nil && s.conn.notify(ctx, "exit", nil) == nil {
			select {
			case <-s.program.Done:
			case <-ctx.Done():
			}
		}
		s.abandon()
	})
	<-s.gone
}

// abandon ends the server without a word and waits for its end.
func (s *Server) abandon() {
	s.conn.fail(errClosed)
	s.program.Stop()
	<-s.gone
}

// explain makes the error of a connection that has ended say so.
func (s *Server) explain(err error) error {
	select {
	case <-s.conn.ended:
	default:
		return err
	}
	reason := s.conn.reason()
	if !errors.Is(err, reason) {
		return err
	}
	text := s.config.Name + ": " + ErrEnded.Error()
	if !errors.Is(reason, io.EOF) && !errors.Is(reason, io.ErrClosedPipe) {
		text += " (" + reason.Error() + ")"
	}
	select {
	case <-s.program.Done: // all that it wrote is here
	case <-time.After(retryPause):
	}
	if said := s.errors.String(); said != "" {
		text += "; the last it wrote: " + said
	}
	return &endedError{text}
}

type endedError struct{ text string }

func (e *endedError) Error() string { return e.text }

func (e *endedError) Is(target error) bool { return target == ErrEnded }

// greet exchanges capabilities with the server.
func (s *Server) greet(ctx context.Context) error {
	type folder struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	params := struct {
		ProcessID    int             `json:"processId"`
		ClientInfo   map[string]any  `json:"clientInfo"`
		RootURI      string          `json:"rootUri"`
		RootPath     string          `json:"rootPath"`
		Folders      []folder        `json:"workspaceFolders"`
		Capabilities json.RawMessage `json:"capabilities"`
		Options      json.RawMessage `json:"initializationOptions,omitempty"`
	}{
		ProcessID:    os.Getpid(),
		ClientInfo:   map[string]any{"name": "openagent"},
		RootURI:      URI(s.config.Root),
		RootPath:     s.config.Root,
		Folders:      []folder{{URI(s.config.Root), "workspace"}},
		Capabilities: json.RawMessage(ourCapabilities),
		Options:      s.config.Options,
	}
	var hello struct {
		Capabilities capabilities `json:"capabilities"`
	}
	if err := s.conn.call(ctx, "initialize", params, &hello); err != nil {
		return err
	}
	s.capabilities = hello.Capabilities
	switch e := hello.Capabilities.PositionEncoding; e {
	case "", UTF16:
	case UTF8:
		s.encoding = UTF8
	default:
		return fmt.Errorf("the server counts positions in %.40q, which was not offered", string(e))
	}
	return s.conn.notify(ctx, "initialized", struct{}{})
}

// ask sends a request. An empty answer of a server that is still reading the
// workspace is asked for again when it has done so; empty may be nil.
func (s *Server) ask(ctx context.Context, method string, params, result any, empty func() bool) error {
	for {
		err := s.conn.call(ctx, method, params, result)
		if err != nil {
			var failed *ResponseError
			if errors.As(err, &failed) && failed.Code == codeMethodNotFound {
				return fmt.Errorf("%s: %w (%s)", s.config.Name, ErrUnsupported, method)
			}
			return s.explain(err)
		}
		if empty == nil || !empty() {
			return nil
		}
		idle := s.busy.idle()
		if idle == nil {
			return nil
		}
		select {
		case <-idle:
		case <-s.conn.ended:
			return s.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// request answers the server's requests. See [handler].
func (s *Server) request(method string, params json.RawMessage) (any, *ResponseError) {
	switch method {
	case "workspace/configuration": // no settings: the server's own defaults
		var p struct {
			Items []json.RawMessage `json:"items"`
		}
		_ = json.Unmarshal(params, &p) // a question that cannot be read has no answers
		return make([]any, len(p.Items)), nil
	case "workspace/workspaceFolders":
		return []map[string]string{{"uri": URI(s.config.Root), "name": "workspace"}}, nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "this client changes nothing"}, nil
	case "window/showDocument":
		return map[string]bool{"success": false}, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest",
		"workspace/codeLens/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/inlineValue/refresh",
		"workspace/diagnostic/refresh", "workspace/foldingRange/refresh":
		return nil, nil
	}
	return nil, &ResponseError{Code: codeMethodNotFound, Message: "not offered by this client"}
}

// notification handles the server's notifications. See [handler].
func (s *Server) notification(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		s.documents.published(params)
	case "$/progress":
		s.busy.progress(params)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A tail keeps the end of the data written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b[max(0, len(b)-maxErrorText):]...)
	if extra := len(t.data) - maxErrorText; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cleanText(t.data)
}
