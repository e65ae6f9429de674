package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a language server in this process that does as a test wants.
type fake struct {
	t      *testing.T
	out    io.Writer
	errs   io.Writer
	answer func(f *fake, m message) (result any, fail *ResponseError) // nil: null
	hello  string                                                     // its capabilities

	mu       sync.Mutex
	received []string // methods and params
	ended    chan struct{}
	stop     func()
}

// unanswered makes a fake answer nothing.
type unanswered struct{}

const everything = `{"definitionProvider":true,"referencesProvider":{},"hoverProvider":true,"documentSymbolProvider":true,"workspaceSymbolProvider":true,
	"implementationProvider":true,"callHierarchyProvider":true,"renameProvider":{"prepareProvider":true}}`

func (f *fake) start(in io.Reader, out, errs io.Writer) (Program, error) {
	f.out, f.errs, f.ended = out, errs, make(chan struct{})
	stopped := make(chan struct{})
	f.stop = sync.OnceFunc(func() { close(stopped) })
	reading, feed := io.Pipe()
	go func() { // the program's standard input ends when it is stopped
		io.Copy(feed, in)
		feed.Close()
	}()
	go func() {
		<-stopped
		reading.Close()
		in.(io.Closer).Close()
	}()
	go func() {
		defer close(f.ended)
		defer f.stop()
		f.live(bufio.NewReader(reading))
	}()
	return Program{Stop: f.stop, Done: f.ended}, nil
}

func (f *fake) live(in *bufio.Reader) {
	for {
		data, err := readFrame(in)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			f.t.Error(err)
		}
		f.mu.Lock()
		if m.Method == "" {
			f.received = append(f.received, fmt.Sprintf("answer %s %s%s", m.ID, m.Result, encode(m.Error)))
		} else {
			f.received = append(f.received, m.Method+" "+string(m.Params))
		}
		f.mu.Unlock()
		var result any
		var fail *ResponseError
		switch m.Method {
		case "initialize":
			result = map[string]json.RawMessage{"capabilities": json.RawMessage(f.hello)}
		case "exit":
			return
		}
		if f.answer != nil {
			if r, e := f.answer(f, m); r != nil || e != nil {
				result, fail = r, e
			}
		}
		if _, none := result.(unanswered); m.ID == nil || m.Method == "" || none {
			continue
		}
		if raw, ok := result.(json.RawMessage); ok { // it need not be well-formed
			f.say(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, raw))
			continue
		}
		reply := message{ID: m.ID, Error: fail}
		if fail == nil {
			reply.Result = encode(result)
		}
		f.say(encodeMessage(reply))
	}
}

func (f *fake) say(data []byte) { _ = writeFrame(f.out, data) }

func (f *fake) notify(method, params string) {
	f.say(encodeMessage(message{Method: method, Params: json.RawMessage(params)}))
}

// heard returns the messages to the server whose method begins with prefix.
func (f *fake) heard(prefix string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []string
	for _, r := range f.received {
		if strings.HasPrefix(r, prefix) {
			found = append(found, r)
		}
	}
	return found
}

// open opens a server that is gone after the test.
func (f *fake) open(t *testing.T) *Server {
	t.Helper()
	f.t = t
	if f.hello == "" {
		f.hello = everything
	}
	s, err := Open(t.Context(), Config{Name: "fake", Root: "/work", Options: json.RawMessage(`{"a":1}`), Start: f.start})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGreeting(t *testing.T) {
	f := &fake{}
	s := f.open(t)
	hello := f.heard("initialize ")
	if len(hello) != 1 || !strings.Contains(hello[0], `"rootUri":"file:///work"`) || !strings.Contains(hello[0], `"initializationOptions":{"a":1}`) ||
		!strings.Contains(hello[0], fmt.Sprintf(`"processId":%d`, os.Getpid())) {
		t.Errorf("%s", hello)
	}
	if s.Encoding() != UTF16 {
		t.Errorf("encoding %s", s.Encoding())
	}
	s.Close()
	s.Close()
	if got := append(f.heard("shutdown"), f.heard("exit")...); len(got) != 2 || len(f.heard("initialized")) != 1 {
		t.Errorf("parted with %q", got)
	}
	if _, err := s.Definition(t.Context(), "/work/a", Position{}); !errors.Is(err, ErrEnded) {
		t.Errorf("after Close: %v", err)
	}
}

func TestGreetingFails(t *testing.T) {
	for name, c := range map[string]struct {
		fake *fake
		want string
		gone bool
	}{
		"exits": {&fake{answer: func(f *fake, m message) (any, *ResponseError) {
			fmt.Fprint(f.errs, strings.Repeat("x", 2*maxErrorText)+"no toolchain")
			f.stop()
			return unanswered{}, nil
		}}, "no toolchain", true},
		"babbles": {&fake{answer: func(f *fake, m message) (any, *ResponseError) {
			io.WriteString(f.out, "this is no language server\n")
			return unanswered{}, nil
		}}, "is not a header line", true},
		"promises too much": {&fake{answer: func(f *fake, m message) (any, *ResponseError) {
			io.WriteString(f.out, "Content-Length: 999999999999\r\n\r\n{}")
			return unanswered{}, nil
		}}, "999999999999", true},
		"refuses":        {&fake{answer: func(*fake, message) (any, *ResponseError) { return nil, &ResponseError{Code: 1, Message: "not today"} }}, "not today", false},
		"other position": {&fake{hello: `{"positionEncoding":"utf-32"}`}, "utf-32", false},
	} {
		f := c.fake
		f.t = t
		if f.hello == "" {
			f.hello = everything
		}
		_, err := Open(t.Context(), Config{Name: "fake", Root: "/work", Start: f.start})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrEnded) != c.gone || len(err.Error()) > maxErrorText+500 {
			t.Errorf("%s: %v", name, err)
		}
		<-f.ended
	}
	refused := errors.New("no such program")
	_, err := Open(t.Context(), Config{Name: "fake", Start: func(io.Reader, io.Writer, io.Writer) (Program, error) { return Program{}, refused }})
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

// TestServerAsks: the server's questions are answered, and never with a change.
func TestServerAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open(t)
		for i, c := range []struct{ method, params, want string }{
			{"workspace/configuration", `{"items":[{"section":"a"},{"section":"b"}]}`, `[null,null]null`},
			{"client/registerCapability", `{}`, `nullnull`},
			{"window/workDoneProgress/create", `{"token":1}`, `nullnull`},
			{"workspace/applyEdit", `{"edit":{}}`, `{"applied":false,"failureReason":"this client changes nothing"}null`},
			{"workspace/workspaceFolders", `null`, `[{"name":"workspace","uri":"file:///work"}]null`},
			{"window/showDocument", `{"uri":"https://example.com"}`, `{"success":false}null`},
			{"sampling/whatever", `{}`, `{"code":-32601,"message":"not offered by this client"}`},
		} {
			id := fmt.Sprintf(`"q%d"`, i)
			f.say(encodeMessage(message{ID: json.RawMessage(id), Method: c.method, Params: json.RawMessage(c.params)}))
			synctest.Wait()
			if got := f.heard("answer " + id); len(got) != 1 || got[0] != "answer "+id+" "+c.want {
				t.Errorf("%s: %s, want %s", c.method, got, c.want)
			}
		}
		s.Close()
	})
}

func TestCancelTellsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(_ *fake, m message) (any, *ResponseError) {
			if m.Method == "textDocument/hover" {
				return unanswered{}, nil
			}
			return nil, nil
		}}
		s := f.open(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Hover(ctx, "/work/a", Position{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if got := f.heard("$/cancelRequest"); len(got) != 1 || got[0] != `$/cancelRequest {"id":2}` {
			t.Errorf("told %q", got)
		}
		if n := len(s.conn.pending); n != 0 {
			t.Errorf("%d requests are remembered", n)
		}
		f.say([]byte(`{"jsonrpc":"2.0","id":2,"result":{"contents":"late"}}`)) // no caller waits
		s.Close()
	})
}

func TestOutOfDateAnswersAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		f := &fake{answer: func(_ *fake, m message) (any, *ResponseError) {
			if m.Method != "textDocument/hover" {
				return nil, nil
			}
			if asked++; asked < 3 {
				return nil, &ResponseError{Code: codeContentModified, Message: "content modified"}
			}
			return map[string]string{"contents": "here"}, nil
		}}
		s := f.open(t)
		if text, err := s.Hover(t.Context(), "/work/a", Position{}); err != nil || text != "here" {
			t.Errorf("%q, %v", text, err)
		}
		asked = -100
		if _, err := s.Hover(t.Context(), "/work/a", Position{}); err == nil || !strings.Contains(err.Error(), "content modified") {
			t.Errorf("got %v", err)
		}
		s.Close()
	})
}

// TestBusyServer: nothing found means nothing while the server still reads.
func TestBusyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		f := &fake{answer: func(_ *fake, m message) (any, *ResponseError) {
			if m.Method == "textDocument/definition" {
				if asked++; asked > 1 {
					return []Location{{URI: "file:///work/b"}}, nil
				}
			}
			return nil, nil
		}}
		s := f.open(t)
		f.notify("$/progress", `{"token":"t","value":{"kind":"begin","title":"Indexing"}}`)
		f.notify("$/progress", `{"token":7,"value":{"kind":"begin"}}`)
		f.notify("$/progress", `{"token":8,"value":"partial"}`)
		synctest.Wait()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if found, err := s.Definition(t.Context(), "/work/a", Position{}); err != nil || len(found) != 1 {
				t.Errorf("%v, %v", found, err)
			}
		}()
		synctest.Wait()
		f.notify("$/progress", `{"token":"t","value":{"kind":"end"}}`)
		synctest.Wait()
		if asked != 1 {
			t.Errorf("asked %d times while the server was busy", asked)
		}
		f.notify("$/progress", `{"token":7,"value":{"kind":"end"}}`)
		<-done
		s.Close()
	})
}

func TestDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open(t)
		ctx := t.Context()
		sync := func(path, text string) {
			t.Helper()
			if err := s.Sync(ctx, path, "go", text); err != nil {
				t.Fatal(err)
			}
		}
		sync("/work/a b.go", "one")
		sync("/work/a b.go", "one")
		sync("/work/a b.go", "two")
		sync("/work/c.go", "c")
		files := map[string]string{"/work/a b.go": "three"}
		err := s.Refresh(ctx, map[string]FileChange{"/work/n.go": Created, "/work/c.go": Deleted}, func(path string) (string, error) {
			if text, ok := files[path]; ok {
				return text, nil
			}
			return "", fs.ErrNotExist
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{
			`textDocument/didOpen {"textDocument":{"languageId":"go","text":"one","uri":"file:///work/a%20b.go","version":1}}`,
			`textDocument/didChange {"contentChanges":[{"text":"two"}],"textDocument":{"uri":"file:///work/a%20b.go","version":2}}`,
			`textDocument/didOpen {"textDocument":{"languageId":"go","text":"c","uri":"file:///work/c.go","version":1}}`,
			`textDocument/didChange {"contentChanges":[{"text":"three"}],"textDocument":{"uri":"file:///work/a%20b.go","version":3}}`,
			`textDocument/didClose {"textDocument":{"uri":"file:///work/c.go"}}`,
		}
		if got := f.heard("textDocument/did"); !slices.Equal(got, want) {
			t.Errorf("heard\n%s", strings.Join(got, "\n"))
		}
		if got := f.heard("workspace/did"); len(got) != 1 || got[0] != `workspace/didChangeWatchedFiles {"changes":[{"uri":"file:///work/c.go","type":3},{"uri":"file:///work/n.go","type":1}]}` {
			t.Errorf("heard %s", got)
		}
		for i := range 2 * maxOpen {
			sync(fmt.Sprintf("/work/%d.go", i), "x")
		}
		synctest.Wait()
		if n := len(s.documents.open); n != maxOpen {
			t.Errorf("%d documents are open", n)
		}
		if got := f.heard("textDocument/didClose"); len(got) != 2+maxOpen || !strings.Contains(got[1], "a%20b.go") {
			t.Errorf("closed %d: %s", len(got), got)
		}
		s.Close()
	})
}

func TestDiagnosticsThatArePushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := 0
		f := &fake{answer: func(f *fake, m message) (any, *ResponseError) {
			if m.Method == "textDocument/didChange" {
				version++
			}
			return nil, nil
		}}
		s := f.open(t)
		ctx := t.Context()
		if _, err := s.Diagnostics(ctx, "/work/a.go"); err == nil {
			t.Error("a document that is not open")
		}
		if err := s.Sync(ctx, "/work/a.go", "go", "x"); err != nil {
			t.Fatal(err)
		}
		publish := func(after time.Duration, version, message string) {
			go func() {
				time.Sleep(after)
				f.notify("textDocument/publishDiagnostics", `{"uri":"file:///work/a.go",`+version+`"diagnostics":[{"message":"`+message+`"}]}`)
			}()
		}
		publish(0, `"version":1,`, "old")
		publish(time.Second, `"version":2,`, "first")
		publish(time.Second+settling/2, `"version":2,`, "second")
		publish(time.Hour, `"version":2,`, "too late")
		start := time.Now()
		found, err := s.Diagnostics(ctx, "/work/a.go")
		if err != nil || len(found) != 1 || found[0].Message != "second" {
			t.Errorf("%v, %v", found, err)
		}
		if took := time.Since(start); took != time.Second+settling/2+settling {
			t.Errorf("waited %s", took)
		}

		publish(time.Second, "", "without version")
		if found, err = s.Diagnostics(ctx, "/work/a.go"); err != nil || found[0].Message != "without version" {
			t.Errorf("%v, %v", found, err)
		}

		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if found, err = s.Diagnostics(limited, "/work/a.go"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("from a silent server: %v, %v", found, err)
		}
		f.notify("textDocument/publishDiagnostics", `{"uri":"file:///other","diagnostics":[{}]}`)
		f.notify("textDocument/publishDiagnostics", `{"uri":"https://x","diagnostics":[{}]}`)
		f.notify("textDocument/publishDiagnostics", `[]`)
		time.Sleep(2 * time.Hour)
		s.Close()
	})
}

func TestDiagnosticsThatAreAskedFor(t *testing.T) {
	f := &fake{hello: `{"diagnosticProvider":{}}`, answer: func(_ *fake, m message) (any, *ResponseError) {
		if m.Method == "textDocument/diagnostic" {
			return json.RawMessage(`{"kind":"full","items":[{"message":"m","severity":2}]}`), nil
		}
		return nil, nil
	}}
	s := f.open(t)
	defer s.Close()
	if found, err := s.Diagnostics(t.Context(), "/work/a.go"); err != nil || len(found) != 1 || found[0].Severity != Warning {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := s.Definition(t.Context(), "/work/a.go", Position{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// TestServerThatDoesNotRead: callers wait for it only as long as they want.
func TestServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		f := &fake{answer: func(_ *fake, m message) (any, *ResponseError) {
			if m.Method == "initialized" {
				<-hold
			}
			return nil, nil
		}}
		s := f.open(t)
		for range 2 * maxQueued {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := s.Hover(ctx, "/work/a", Position{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			cancel()
		}
		// And its questions cannot be answered.
		f.say([]byte(`{"jsonrpc":"2.0","id":1,"method":"workspace/workspaceFolders"}`))
		<-s.Ended()
		if err := s.Err(); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "does not read") {
			t.Errorf("got %v", err)
		}
		close(hold)
		s.Close()
	})
}

// TestDeafServer: a server that does not want to part is ended.
func TestDeafServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(_ *fake, m message) (any, *ResponseError) {
			if m.Method == "shutdown" {
				return unanswered{}, nil
			}
			return nil, nil
		}}
		s := f.open(t)
		start := time.Now()
		s.Close()
		if took := time.Since(start); took != parting {
			t.Errorf("waited %s", took)
		}
		<-f.ended
	})
}

// TestEndWhileAsked: a question to a server that ends is answered with the reason.
func TestEndWhileAsked(t *testing.T) {
	f := &fake{answer: func(f *fake, m message) (any, *ResponseError) {
		if m.Method == "textDocument/hover" {
			io.WriteString(f.errs, "panic: \x00 boom\n")
			f.stop()
			return unanswered{}, nil
		}
		return nil, nil
	}}
	s := f.open(t)
	_, err := s.Hover(t.Context(), "/work/a", Position{})
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
	s.Close()
}

func TestMessagesOfManyAtOnce(t *testing.T) {
	f := &fake{answer: func(_ *fake, m message) (any, *ResponseError) {
		if m.Method == "workspace/symbol" {
			var p struct{ Query string }
			_ = json.Unmarshal(m.Params, &p)
			return []map[string]any{{"name": p.Query, "kind": 12}}, nil
		}
		return nil, nil
	}}
	s := f.open(t)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			query := fmt.Sprint("q", i)
			found, err := s.WorkspaceSymbols(t.Context(), query)
			if err != nil || len(found) != 1 || found[0].Name != query || found[0].Kind != "function" {
				t.Errorf("%s: %v, %v", query, found, err)
			}
			if err := s.Sync(t.Context(), fmt.Sprintf("/work/%d", i%20), "go", query); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s.Close()
}
