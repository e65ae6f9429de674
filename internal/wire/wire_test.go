package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/llm"
)

// FuzzStrings checks the string codec against encoding/json.
func FuzzStrings(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "h\u00e9\u2028\U0001F600", "bad \xff \xed\xa0\x80", `\ud83d\ude00 \ud83d \u12`, "<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		encoded := AppendString(nil, s)
		var back string
		if err := json.Unmarshal(encoded, &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("%q became %s, %q, %v", s, encoded, back, err)
		}
		got, n, ok := AppendUnquoted(nil, encoded[1:])
		if !ok || string(got) != back || n != len(encoded)-1 {
			t.Fatalf("%s read as %q, %d, %v", encoded, got, n, ok)
		}
		// Any JSON string, whatever its escapes.
		raw := append([]byte(s), '"')
		got, n, ok = AppendUnquoted([]byte("x"), raw)
		if !ok {
			return
		}
		var want string
		if err := json.Unmarshal(append([]byte{'"'}, raw[:n]...), &want); err != nil || string(got) != "x"+want {
			t.Errorf("%s read as %q, encoding/json: %q, %v", raw[:n], got, want, err)
		}
	})
}

// What has to be escaped is found wherever it stands among what has not.
func TestEscapesAnywhere(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			s := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("~", 19-at)
			var back string
			if err := json.Unmarshal(AppendString(nil, s), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") {
				t.Fatalf("%q became %s, %v", s, AppendString(nil, s), err)
			}
		}
	}
}

func TestToolInput(t *testing.T) {
	for in, want := range map[string][2]string{
		"":                 {"{}", ""},
		" null ":           {"{}", ""},
		` {"a": 1} `:       {`{"a": 1}`, ""},
		`{"a":`:            {"{}", `{"a":`},
		`[1]`:              {"{}", `[1]`},
		`"x"`:              {"{}", `"x"`},
		"{\"a\":\"\xff\"}": {"{\"a\":\"\ufffd\"}", ""},
	} {
		if input, invalid := ToolInput([]byte(in)); string(input) != want[0] || invalid != want[1] {
			t.Errorf("%q: %s, %q, want %q", in, input, invalid, want)
		}
	}
}

func TestAppendObject(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "{}",
		"[]":                         "{}",
		`{"a":`:                      "{}",
		`{"a":1} {}`:                 "{}",
		`{"a":"\ud800"} {}`:          "{}",
		"{ \"b\": [1, 2],\n\"a\":0}": `{"b":[1,2],"a":0}`,
		`{"a":"\ud800<"}`:            "{\"a\":\"\ufffd<\"}",
		`{"a":12345678901234567890,"b":"\uD83D\uDE00"}`: "{\"a\":12345678901234567890,\"b\":\"\U0001F600\"}",
	} {
		if got := string(AppendObject([]byte("before"), json.RawMessage(in))); got != "before"+want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestObjectSchema(t *testing.T) {
	for in, want := range map[string]string{
		"":   `{"type":"object","properties":{}}`,
		`{}`: `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":{}}}`:                                        `{"type":"object","properties":{"a":{}}}`,
		`{"type":["object"],"properties":{}}`:                                            `{"properties":{},"type":"object"}`,
		`{"type":"object","anyOf":[{"required":["a"]}],"properties":{"a":{"anyOf":[]}}}`: `{"properties":{"a":{"anyOf":[]}},"type":"object"}`,
		`{"type":"string"}`: "",
		`[]`:                "",
		`null`:              "",
		`{`:                 "",
	} {
		got, err := ObjectSchema(json.RawMessage(in))
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
}

func TestPicture(t *testing.T) {
	jpeg := "\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x20\x00\x40\x03"
	webp := func(kind, rest string) string {
		return "RIFF\x00\x00\x00\x00WEBP" + kind + "\x00\x00\x00\x00" + rest + strings.Repeat("\x00", 20)
	}
	for name, tt := range map[string]struct {
		data, media string
		w, h        int
	}{
		"png":           {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x05\x00\x00\x01\x00", "image/png", 5, 256},
		"gif":           {"GIF87a\x05\x00\x00\x01", "image/gif", 5, 256},
		"jpeg":          {jpeg, "image/jpeg", 64, 32},
		"jpeg, cut":     {jpeg[:10], "image/jpeg", 0, 0},
		"jpeg, padded":  {"\xff\xd8\xff\xff\xff\xd0" + jpeg[8:], "image/jpeg", 64, 32},
		"webp lossy":    {webp("VP8 ", "\x00\x00\x00\x9d\x01\x2a\x05\x00\x07\x00"), "image/webp", 5, 7},
		"webp lossless": {webp("VP8L", "\x2f\x04\x80\x01\x00"), "image/webp", 5, 7},
		"webp extended": {webp("VP8X", "\x00\x00\x00\x00\x04\x00\x00\x06\x00\x00"), "image/webp", 5, 7},
		"webp, cut":     {"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp", 0, 0},
		"text":          {"hello, this is no image at all", "", 0, 0},
		"empty":         {"", "", 0, 0},
	} {
		if media, w, h := Picture([]byte(tt.data)); media != tt.media || w != tt.w || h != tt.h {
			t.Errorf("%s: %s, %d x %d", name, media, w, h)
		}
	}
}

func FuzzPicture(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xe0\x00\x00\xff"))
	f.Add([]byte("RIFF____WEBPVP8X0000000000000000"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, w, h := Picture(data); w < 0 || h < 0 {
			t.Errorf("%d x %d", w, h)
		}
	})
}

// bare is a codec that shows what it is given.
type bare struct{}

func (bare) Block(t *Turn, b llm.Block, id string, _ bool) {
	switch b := b.(type) {
	case llm.Text:
		t.Add(Words, []byte(b.Text))
	case llm.ToolUse:
		t.Add(Call, []byte("call "+id))
	case llm.ToolResult:
		t.Add(Answer, []byte("answer "+id))
	}
}

func (bare) Turn(dst []byte, t *Turn, _ bool) []byte {
	dst = append(append(dst, t.Role...), ':')
	for _, p := range t.Parts {
		dst = append(append(dst, ' '), p.Data...)
	}
	return append(dst, ';')
}

func whole(s Snapshot) string { return string(s.Closed) + "|" + string(s.Open) }

func TestHistoryStartsAfresh(t *testing.T) {
	h := &History{Codec: bare{}, IDs: IDs{Max: 40}}
	text := func(s string) llm.Message { return llm.UserText(s) }
	a, b := []llm.Message{text("a"), {Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "x"}}}, text("b")}, []llm.Message{text("other")}
	first := h.Snapshot(a)
	want := "user: a;,assistant: x;|user: b;"
	if got := whole(first); got != want {
		t.Fatalf("got %s", got)
	}
	if got := whole(h.Snapshot(b)); got != "|user: other;" {
		t.Errorf("another transcript: %s", got)
	}
	if got := whole(h.Snapshot(a[:1])); got != "|user: a;" {
		t.Errorf("a shorter one: %s", got)
	}
	if got := whole(h.Snapshot(a)); got != want || whole(first) != want {
		t.Errorf("again: %s; the first is now %s", got, whole(first))
	}
}

// TestHistoryForks checks that requests of one transcript at once, longer and
// shorter ones, do not disturb each other.
func TestHistoryForks(t *testing.T) {
	h := &History{Codec: bare{}, IDs: IDs{Max: 40, Once: true}}
	var msgs []llm.Message
	for range 50 {
		msgs = append(msgs, llm.UserText("q"), llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.ToolUse{ID: "same"}}}, llm.Message{Role: llm.User, Content: llm.Blocks{llm.ToolResult{ID: "same"}}})
	}
	want := make([]string, len(msgs)+1)
	for n := 1; n <= len(msgs); n++ {
		fresh := &History{Codec: bare{}, IDs: h.IDs}
		want[n] = whole(fresh.Snapshot(msgs[:n]))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := 1 + g; n <= len(msgs); n += 1 + g {
				if got := whole(h.Snapshot(msgs[:n])); got != want[n] {
					t.Errorf("%d messages: %s, want %s", n, got, want[n])
				}
			}
		})
	}
	wg.Wait()
	if !bytes.Contains([]byte(want[len(msgs)]), []byte("call same_49")) {
		t.Errorf("ids repeat: %s", want[len(msgs)])
	}
}

func BenchmarkAppendString(b *testing.B) {
	s := strings.Repeat("a line of text with \"quotes\" and h\u00e9\n", 100)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendString(buf[:0], s)
	}
}
