package sse

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// read returns the events of r as "type|data|id" and the error that ended it.
func read(r *Reader) (events []string, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, fmt.Sprintf("%s|%s|%s", e.Type, e.Data, e.ID))
	}
}

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "data: a\n\n", []string{"|a|"}},
		{"crlf", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"x|a|", "|b|"}},
		{"cr", "data: a\r\rdata: b\r\r", []string{"|a|", "|b|"}},
		{"bom", "\xef\xbb\xbfdata: a\n\n", []string{"|a|"}},
		{"second bom is no field", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", nil},
		{"part of a bom", "\xef\xbbdata: a\n\ndata: b\n\n", []string{"|b|"}},
		{"multi line", "data: a\ndata:b\ndata\n\n", []string{"|a\nb\n|"}},
		{"no space, two spaces", "data:a\n\ndata:  b\n\n", []string{"|a|", "| b|"}},
		{"comment", ": hi\n\n: there\ndata: a\n: in between\ndata: b\n\n", []string{"|a\nb|"}},
		{"id lasts", "id: 7\ndata: a\n\ndata: b\n\n", []string{"|a|7", "|b|7"}},
		{"id with NUL", "id: 7\x00\ndata: a\n\n", []string{"|a|"}},
		{"type does not last", "event: x\n\ndata: a\n\n", []string{"|a|"}},
		{"empty data", "data\n\ndata:\n\n", []string{"||", "||"}},
		{"unknown field", "retry: 10\nfoo: x\ndata: a\n\n", []string{"|a|"}},
		{"unfinished", "data: a\n\ndata: b\n", []string{"|a|"}},
		{"unfinished line", "data: a\n\ndata: b", []string{"|a|"}},
		{"empty", "", nil},
		{"colon in value", "data: a:b\n\n", []string{"|a:b|"}},
		{"utf-8", "data: h\u00e9\U0001F600\n\n", []string{"|h\u00e9\U0001F600|"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)), iotest.DataErrReader(strings.NewReader(tt.in))} {
				got, err := read(NewReader(r, 0))
				if err != io.EOF || !slices.Equal(got, tt.want) {
					t.Errorf("got %q, %v, want %q", got, err, tt.want)
				}
			}
		})
	}
}

func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	got, err := read(NewReader(strings.NewReader("data: "+long+"\n\n"), 0))
	if err != io.EOF || len(got) != 1 || got[0] != "|"+long+"|" {
		t.Fatalf("a long line came back as %d events, %v", len(got), err)
	}
	for name, in := range map[string]string{
		"line":    "data: " + long + "\n\n",
		"endless": "data: " + long,
		"event":   strings.Repeat("data: 0123456789\n", 1000) + "\n",
	} {
		var tooLong *TooLongError
		if _, err := read(NewReader(strings.NewReader(in), 1000)); !errors.As(err, &tooLong) || tooLong.Limit != 1000 {
			t.Errorf("%s: got %v, want a TooLongError", name, err)
		}
	}
}

func TestSourceError(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 0)
	if got, err := read(r); !slices.Equal(got, []string{"|a|"}) || err != broken {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := NewReader(stuck{}, 0).Next(); err != io.ErrNoProgress {
		t.Errorf("a source that gives nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// chunked gives its text in pieces of the given sizes, in turn.
type chunked struct {
	rest  string
	sizes []byte
	turn  int
}

func (c *chunked) Read(p []byte) (int, error) {
	if c.rest == "" {
		return 0, io.EOF
	}
	n := 1
	if len(c.sizes) > 0 {
		n = max(1, int(c.sizes[c.turn%len(c.sizes)]))
		c.turn++
	}
	n = copy(p[:min(n, len(p))], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// FuzzChunking checks that the way the bytes arrive makes no difference.
func FuzzChunking(f *testing.F) {
	f.Add("event: a\r\ndata: \u00e9\r\n\r\n: c\n\ndata: x\rdata: y\r\r", []byte{1, 2, 7})
	f.Add("\xef\xbb\xbfdata: a\n\nid: 1\ndata: b\n\n", []byte{3})
	f.Add("data: 0123456789012345678901234567890123456789\n\n", []byte{40})
	f.Fuzz(func(t *testing.T, text string, sizes []byte) {
		whole, err1 := read(NewReader(strings.NewReader(text), 64))
		pieces, err2 := read(NewReader(&chunked{rest: text, sizes: sizes}, 64))
		if !slices.Equal(whole, pieces) || (err1 == io.EOF) != (err2 == io.EOF) {
			t.Errorf("whole: %q, %v; in pieces: %q, %v", whole, err1, pieces, err2)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	const event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" Urbanization\"}   }\n\n"
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	r := NewReader(&endless{event: event}, 0)
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// endless repeats an event for ever.
type endless struct {
	event string
	at    int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		m := copy(p[n:], e.event[e.at:])
		n, e.at = n+m, (e.at+m)%len(e.event)
	}
	return n, nil
}
