//go:build unix

package workspace

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestInputAndErrors(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 1<<16) // far more than a pipe holds
	for _, c := range []struct {
		name, script, input string
		errors              bool
		out, err            string
	}{
		{"cat", "cat", "hello", false, "hello", ""},
		{"end of input", "cat; echo over", "", false, "over\n", ""},
		{"long", "cat", long, false, long, ""},
		{"input that nobody reads", "echo done", long, false, "done\n", ""},
		{"errors apart", "echo a; echo b >&2; echo c", "", true, "a\nc\n", "b\n"},
		{"long errors", "cat >&2; echo end", long, true, "end\n", long},
		{"both", "tee /dev/stderr", "x", true, "x", "x"},
	} {
		for _, plain := range []bool{true, false} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				w := openWorkspace(t, plain)
				var out, errs bytes.Buffer
				command := Command{Args: []string{"sh", "-c", c.script}, Input: strings.NewReader(c.input), Output: &out}
				if c.errors {
					command.Errors = &errs
				}
				p, err := w.Start(t.Context(), command)
				if err != nil {
					t.Fatal(err)
				}
				if e := p.Wait(); e.Code != 0 || e.Left != 0 {
					t.Errorf("%+v", e)
				}
				if out.String() != c.out || errs.String() != c.err {
					t.Errorf("output %.80q, errors %.80q", out.String(), errs.String())
				}
			})
		}
	}
}

// TestInputThatBlocks: whatever the input does, the process ends and is waited for.
func TestInputThatBlocks(t *testing.T) {
	w := openWorkspace(t, true)
	free := make(chan struct{})
	for name, input := range map[string]io.Reader{
		"closer":    func() io.Reader { r, _ := io.Pipe(); return r }(),
		"no closer": waiting(free),
		"panic":     panickingReader{},
		"endless":   endless{},
	} {
		for how, script := range map[string]string{"exits": "exit 3", "is ended": "exec sleep 1000"} {
			ctx, cancel := context.WithCancel(t.Context())
			p, err := w.Start(ctx, Command{Args: []string{"sh", "-c", script}, Input: input, Grace: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if how == "is ended" {
				cancel()
			}
			e := p.Wait()
			if how == "exits" && e.Code != 3 || how == "is ended" && !e.Stopped {
				t.Errorf("%s, %s: %+v", name, how, e)
			}
			cancel()
		}
	}
	close(free)
}

// TestConversation: input can be written as answers come.
func TestConversation(t *testing.T) {
	w := openWorkspace(t, true)
	in, toProcess := io.Pipe()
	fromProcess, out := io.Pipe()
	p, err := w.Start(t.Context(), Command{Args: []string{"sh", "-c", `while read x; do echo "<$x>"; done`}, Input: in, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	for _, word := range []string{"a", "b"} {
		if _, err := io.WriteString(toProcess, word+"\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := fromProcess.Read(buf); err != nil || string(buf[:n]) != "<"+word+">\n" {
			t.Errorf("%q, %v", buf[:n], err)
		}
	}
	toProcess.Close()
	if e := p.Wait(); e.Code != 0 {
		t.Errorf("%+v", e)
	}
}

func TestStreamsOfFailedStart(t *testing.T) {
	w := openWorkspace(t, true)
	command := Command{Args: []string{"no-such-program"}, Input: strings.NewReader("x"), Errors: io.Discard}
	if _, err := w.Start(t.Context(), command); err == nil {
		t.Fatal("started")
	}
	before, _ := os.ReadDir("/dev/fd")
	for range 10 {
		if _, err := w.Start(t.Context(), command); err == nil {
			t.Fatal("started")
		}
	}
	if now, _ := os.ReadDir("/dev/fd"); len(now) > len(before) {
		t.Errorf("%d descriptors, were %d", len(now), len(before))
	}
}

// waiting is a reader that blocks until the channel is closed.
type waiting chan struct{}

func (w waiting) Read([]byte) (int, error) { <-w; return 0, io.EOF }

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("no") }

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
