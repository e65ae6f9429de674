package eventstream

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// frame writes a message. Headers are pairs of names and strings.
func frame(payload string, headers ...string) string {
	var h []byte
	for i := 0; i < len(headers); i += 2 {
		h = append(h, byte(len(headers[i])))
		h = append(append(h, headers[i]...), stringType)
		h = binary.BigEndian.AppendUint16(h, uint16(len(headers[i+1])))
		h = append(h, headers[i+1]...)
	}
	return framed(h, payload)
}

func framed(headers []byte, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(prelude+len(headers)+len(payload)+checksum))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func chunk(event string) string {
	return frame(fmt.Sprintf(`{"bytes":"%s","p":"abcdef"}`, base64.StdEncoding.EncodeToString([]byte(event))),
		":event-type", "chunk", ":content-type", "application/json", ":message-type", "event")
}

// chunks reads all of a stream.
func chunks(r io.Reader, limit int) (all []string, err error) {
	reader := NewReader(r, limit)
	for {
		data, err := reader.Chunk()
		if err != nil {
			if _, again := reader.Chunk(); again != err {
				return all, fmt.Errorf("%v and then %v", err, again)
			}
			return all, err
		}
		all = append(all, string(data))
	}
}

func TestChunk(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for _, tt := range []struct {
		name, stream string
		want         string
		err          string // "" for a clean end
	}{
		{"nothing", "", "[]", ""},
		{"two", chunk("one") + chunk(""), "[one ]", ""},
		{"long", chunk(long), "[" + long + "]", ""},
		{"other kinds are skipped", frame("{}", ":message-type", "event", ":event-type", "initial-response") + frame("hm", ":message-type", "novel") + frame("x") + chunk("a"), "[a]", ""},
		{"other order of members", frame(`{"p":"x", "bytes":"YQ=="}`, ":message-type", "event", ":event-type", "chunk"), "[a]", ""},
		{"escapes in base64", frame(`{"bytes":"\u0059Q=\u003d"}`, ":message-type", "event", ":event-type", "chunk"), "[a]", ""},
		{"exception", chunk("a") + frame(`{"message":"slow down"}`, ":message-type", "exception", ":exception-type", "throttlingException"), "[a]", "throttlingException: slow down"},
		{"exception in capitals", frame(`{"Message":"odd","originalStatusCode":500}`, ":message-type", "exception", ":exception-type", "ModelStreamErrorException"), "[]", "modelStreamErrorException: odd"},
		{"exception that is not JSON", frame("oops", ":message-type", "exception", ":exception-type", "x"), "[]", "x: oops"},
		{"error", frame("", ":message-type", "error", ":error-code", "InternalError", ":error-message", "broken"), "[]", "internalError: broken"},
		{"chunk without bytes", frame(`{"p":"x"}`, ":message-type", "event", ":event-type", "chunk"), "[]", "corrupt event stream: a chunk without bytes"},
		{"chunk that is not JSON", frame(`{"bytes":"YQ=="`, ":message-type", "event", ":event-type", "chunk"), "[]", "corrupt event stream: a chunk: unexpected end of JSON input"},
		{"chunk that is not base64", frame(`{"bytes":"!!!"}`, ":message-type", "event", ":event-type", "chunk"), "[]", "corrupt event stream: a chunk: illegal base64 data at input byte 0"},
		{"header of an unknown type", framed([]byte("\x01a\x0a"), ""), "[]", "corrupt event stream: a header"},
		{"header without a name", framed([]byte("\x00\x00"), ""), "[]", "corrupt event stream: a header"},
		{"header that is cut", framed([]byte("\x01a\x07\x00\x05abc"), ""), "[]", "corrupt event stream: a header"},
		{"headers longer than the message", lengths(20, 100), "[]", "corrupt event stream: lengths 20 and 100"},
		{"message shorter than its frame", lengths(3, 0), "[]", "corrupt event stream: lengths 3 and 0"},
		{"too long", lengths(1<<31, 0), "[]", "event stream message longer than 1048576 bytes"},
		{"server-sent events", "event: message_start\ndata: {}\n\n", "[]", "corrupt event stream: checksum of the prelude"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader, "with the error": iotest.DataErrReader} {
				got, err := chunks(wrap(strings.NewReader(tt.stream)), 1<<20)
				want := tt.err
				if want == "" {
					want = "EOF"
				}
				if fmt.Sprint(got) != tt.want || err.Error() != want {
					t.Errorf("%s: %.200q, %v; want %.200s, %s", name, got, err, tt.want, want)
				}
			}
		})
	}
}

// lengths is a prelude that says so.
func lengths(total, headers uint32) string {
	b := binary.BigEndian.AppendUint32(nil, total)
	b = binary.BigEndian.AppendUint32(b, headers)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// Headers of every type are stepped over.
func TestHeaders(t *testing.T) {
	h := []byte("\x01a\x00\x01b\x01\x01c\x02x\x01d\x03xx\x01e\x04xxxx\x01f\x05xxxxxxxx\x01g\x06\x00\x02yy\x01h\x08xxxxxxxx\x01i\x09xxxxxxxxxxxxxxxx\x01z\x07\x00\x03end")
	m, err := NewReader(strings.NewReader(framed(h, "p")), 0).Next()
	if err != nil || m.Header("z") != "end" || m.Header("g") != "" || m.Header("none") != "" || string(m.Payload) != "p" {
		t.Errorf("got %+v, %v", m, err)
	}
}

// A stream that is cut inside of a message, or has a bit changed, never ends as
// if it were complete and never gives a chunk that was not sent.
func TestCutAndChanged(t *testing.T) {
	stream := chunk("first") + chunk("second")
	boundary := len(chunk("first"))
	for n := range len(stream) {
		got, err := chunks(strings.NewReader(stream[:n]), 0)
		want := io.ErrUnexpectedEOF
		if n == 0 || n == boundary {
			want = io.EOF
		}
		if err != want || len(got) != n/boundary {
			t.Fatalf("cut after %d bytes: %q, %v", n, got, err)
		}
		for bit := range 8 {
			changed := []byte(stream)
			changed[n] ^= 1 << bit
			got, err := chunks(bytes.NewReader(changed), 0)
			if err == io.EOF || len(got) > n/boundary {
				t.Fatalf("bit %d of byte %d changed: %q, %v", bit, n, got, err)
			}
		}
	}
}

// A message that announces more than comes costs what came.
func TestLyingLength(t *testing.T) {
	r := NewReader(strings.NewReader(lengths(DefaultLimit, 0)+"abc"), 0)
	if _, err := r.Next(); err != io.ErrUnexpectedEOF || cap(r.buf) > 4*piece {
		t.Errorf("%v, with %d bytes", err, cap(r.buf))
	}
}

func TestSourceError(t *testing.T) {
	broken := errors.New("reset")
	for n, want := range map[int]string{0: "[]", 5: "[]", len(chunk("a")): "[a]"} {
		got, err := chunks(io.MultiReader(strings.NewReader(chunk("a")[:n]), iotest.ErrReader(broken)), 0)
		if !errors.Is(err, broken) || fmt.Sprint(got) != want {
			t.Errorf("after %d bytes: %q, %v", n, got, err)
		}
	}
}

// FuzzChunk checks that nothing makes the reader panic, and that the way the
// bytes arrive makes no difference.
func FuzzChunk(f *testing.F) {
	f.Add([]byte(chunk("a") + frame(`{"message":"m"}`, ":message-type", "exception", ":exception-type", "e")))
	f.Add([]byte(lengths(20, 1)))
	f.Add([]byte(framed([]byte("\x01a\x06\x00\x01"), `{"bytes":"`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		// The checksums are made right, or nothing would get past them.
		corrected := bytes.Clone(data)
		for at := 0; len(corrected)-at >= prelude+checksum; {
			binary.BigEndian.PutUint32(corrected[at+8:], crc32.ChecksumIEEE(corrected[at:at+8]))
			size := int(binary.BigEndian.Uint32(corrected[at:]))
			if size < prelude+checksum || size > len(corrected)-at {
				break
			}
			binary.BigEndian.PutUint32(corrected[at+size-checksum:], crc32.ChecksumIEEE(corrected[at:at+size-checksum]))
			at += size
		}
		for _, data := range [][]byte{data, corrected} {
			a, err1 := chunks(bytes.NewReader(data), 1<<16)
			b, err2 := chunks(iotest.OneByteReader(bytes.NewReader(data)), 1<<16)
			if fmt.Sprint(a) != fmt.Sprint(b) || err1.Error() != err2.Error() {
				t.Errorf("whole: %q, %v; by bytes: %q, %v", a, err1, b, err2)
			}
		}
	})
}

func BenchmarkChunk(b *testing.B) {
	one := chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words"}}`)
	stream := strings.NewReader(strings.Repeat(one, 1000))
	r := NewReader(stream, 0)
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for b.Loop() {
		if stream.Len() == 0 {
			stream.Seek(0, io.SeekStart)
		}
		if _, err := r.Chunk(); err != nil {
			b.Fatal(err)
		}
	}
}
