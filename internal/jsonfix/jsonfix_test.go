package jsonfix

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func read(pieces ...string) string {
	var r Reader
	for _, p := range pieces {
		r.Add(p)
	}
	return string(r.JSON())
}

func TestJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{``, `null`},
		{` `, `null`},
		{`{`, `{}`},
		{` {"a`, ` {}`},
		{`{"a"`, `{}`},
		{`{"a":`, `{}`},
		{`{"a": "`, `{"a": ""}`},
		{`{"a":"b`, `{"a":"b"}`},
		{`{"a":"b"`, `{"a":"b"}`},
		{`{"a":"b",`, `{"a":"b"}`},
		{`{"a":"b", "c":[`, `{"a":"b", "c":[]}`},
		{`{"a":"b", "c":[{"d":[]`, `{"a":"b", "c":[{"d":[]}]}`},
		{`{"a":"b"} `, `{"a":"b"}`},
		{`{"a":12`, `{}`},
		{`{"a":12,`, `{"a":12}`},
		{`{"a":12 `, `{"a":12}`},
		{`{"a":-1.5e3}`, `{"a":-1.5e3}`},
		{`[tru`, `[]`},
		{`[true`, `[]`},
		{`[true,nul`, `[true]`},
		{`[true, null, false]`, `[true, null, false]`},
		{`12`, `null`},
		{"12\n", `12`},
		{`"a`, `"a"`},
		{`"a\`, `"a"`},
		{`"a\n`, `"a\n"`},
		{`"a\u00`, `"a"`},
		{`"a\u00e9`, `"a\u00e9"`},
		{`"a\ud83d`, `"a"`},
		{`"a\ud83d\ude0`, `"a"`},
		{`"a\ud83d\ude00`, `"a\ud83d\ude00"`},
		{`"a\ud83db`, `"a\ud83db"`},
		{`"a\ud83d\n`, `"a\ud83d\n"`},
		{`"a\ud83d"`, `"a\ud83d"`},
		{`"a\ud83d\ud83d`, `"a\ud83d"`},
		{`"a\ud83d\ud83d\ude00`, `"a\ud83d\ud83d\ude00"`},
		{`"a\ude00`, `"a\ude00"`},
		{"\"a\xe2\x82", `"a"`},
		{"\"a\xe2\x82\xac", "\"a\u20ac\""},
		{"\"a\xe2\x82b", "\"a\xe2\x82b\""},
		{"\"a\xe2\x82\"", "\"a\xe2\x82\""},
		{`{"\u00e9\"`, `{}`},
		{`{"\u00e9\"":"x`, `{"\u00e9\"":"x"}`},
		{`{"\ud83d\ud83d":"x`, `{"\ud83d\ud83d":"x"}`},

		// A breach of the grammar ends it.
		{`{"a":"b"}}`, `{"a":"b"}`},
		{`{"a":"b"} x`, `{"a":"b"}`},
		{`{"a":"b" "c":"d"`, `{"a":"b"}`},
		{`{"a":"b",}`, `{"a":"b"}`},
		{`{"a":"b",,"c":"d"}`, `{"a":"b"}`},
		{`{,"a":"b"`, `{}`},
		{`{"a"="b`, `{}`},
		{`["a",]`, `["a"]`},
		{`["a"}`, `["a"]`},
		{`{"a":["b"}`, `{"a":["b"]}`},
		{`[012,1]`, `[]`},
		{`[truth,1]`, `[]`},
		{`[1"`, `[1]`},
		{`{"a":"b\x`, `{"a":"b"}`},
		{`{"a":"b\u00zz`, `{"a":"b"}`},
		{"{\"a\":\"b\nc\"", `{"a":"b"}`},
		{`'a'`, `null`},
		{`}`, `null`},
	} {
		for _, got := range []string{read(tt.in), read(strings.Split(tt.in, "")...), read(bytewise(tt.in)...)} {
			if got != tt.want {
				t.Errorf("%q: %s, want %s", tt.in, got, tt.want)
			}
		}
	}
}

func bytewise(s string) []string {
	var pieces []string
	for i := range len(s) {
		pieces = append(pieces, s[i:i+1])
	}
	return pieces
}

func TestBounds(t *testing.T) {
	deep := read(strings.Repeat("[", MaxDepth+10))
	if deep != strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth) {
		t.Errorf("depth gives %d bytes", len(deep))
	}
	for _, in := range []string{`"xxx`, `{"kkk`, "[111", "    ", `"\n\n\n`} {
		r := Reader{size: MaxSize - 100}
		r.Add(in)
		r.Add(strings.Repeat(in[len(in)-2:], 200))
		if got := r.JSON(); len(got) > 110 || !json.Valid(got) || len(r.held) > 100 || !r.stuck {
			t.Errorf("%s: %d bytes, %d held", in, len(got), len(r.held))
		}
	}
}

// grown reports whether b is a with nothing taken back: longer strings, more members.
func grown(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return true
	case string:
		s, ok := b.(string)
		return ok && strings.HasPrefix(s, a)
	case []any:
		s, ok := b.([]any)
		if !ok || len(a) > len(s) {
			return false
		}
		for i := range a {
			if a[i] == nil && s[i] != nil || !grown(a[i], s[i]) || i < len(a)-1 && !reflect.DeepEqual(a[i], s[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		m, ok := b.(map[string]any)
		for k, v := range a {
			if w, has := m[k]; !ok || !has || v == nil && w != nil || !grown(v, w) {
				return false
			}
		}
		return ok
	}
	return reflect.DeepEqual(a, b)
}

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// random makes a value whose text has all that JSON has.
func random(rnd *rand.Rand, depth int) any {
	words := []string{"", "plain", "h\u00e9", "\U0001F600 \"quoted\" \\", "\x01\n\t/", "\ufffd", strings.Repeat("long ", 20)}
	switch n := rnd.IntN(9); {
	case n < 2 && depth > 0:
		list := []any{}
		for range rnd.IntN(4) {
			list = append(list, random(rnd, depth-1))
		}
		return list
	case n < 5 && depth > 0:
		m := map[string]any{}
		for range rnd.IntN(4) {
			m[words[rnd.IntN(len(words))]] = random(rnd, depth-1)
		}
		return m
	case n == 5:
		return []any{float64(0), -12.5, 1e300, float64(rnd.IntN(1000))}[rnd.IntN(4)]
	case n == 6:
		return []any{true, false, nil}[rnd.IntN(3)]
	}
	return words[rnd.IntN(len(words))]
}

// written returns v as JSON in one of the ways in which it can be written.
func written(rnd *rand.Rand, v any) string {
	data, _ := json.Marshal(v)
	if rnd.IntN(2) == 0 {
		data, _ = json.MarshalIndent(v, " ", "  ")
	}
	if rnd.IntN(2) == 0 {
		return string(data)
	}
	var b strings.Builder // with escapes for all but ASCII
	for _, c := range string(data) {
		if c < utf8.RuneSelf {
			b.WriteRune(c)
			continue
		}
		for _, u := range utf16s(c) {
			b.WriteString(`\u`)
			b.WriteString(u)
		}
	}
	return b.String()
}

func utf16s(c rune) []string {
	hex := func(n rune) string {
		const digits = "0123456789aBcDeF"
		return string([]byte{digits[n>>12&15], digits[n>>8&15], digits[n>>4&15], digits[n&15]})
	}
	if c < 0x10000 {
		return []string{hex(c)}
	}
	c -= 0x10000
	return []string{hex(0xd800 + c>>10), hex(0xdc00 + c&0x3ff)}
}

// For every prefix of any JSON the text given parses, and nothing of it is ever
// taken back.
func TestEveryPrefix(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		v := random(rnd, 5)
		in := written(rnd, v)
		var r Reader
		var before any
		for i := range len(in) {
			r.Add(in[i : i+1])
			now := parsed(t, r.JSON())
			if !grown(before, now) || !grown(now, v) {
				t.Fatalf("%q\nat %d: %v after %v", in, i, now, before)
			}
			before = now
		}
		r.Add(" ")
		if got := parsed(t, r.JSON()); !reflect.DeepEqual(got, v) {
			t.Fatalf("%q: %v", in, got)
		}
	}
}

// FuzzReader checks that any text, JSON or not, gives JSON at any time, that the
// pieces make no difference, that nothing is taken back, and that all of it is
// there at the end where it was JSON.
func FuzzReader(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\ud83d\ude00\ud83d",{"b":null}],"c":"x\ny"}`, `["\u00e9`, "\"\xe2\x82\"", `{"a":1e9 ,"a":true}`, ` 12 `, "[[[{}]]]"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, in string, piece int) {
		if len(in) > 1<<12 {
			return
		}
		piece = max(1, piece%10)
		var r, bytewise Reader
		var before any
		for i := 0; i < len(in); i += piece {
			p := in[i:min(len(in), i+piece)]
			r.Add(p)
			for j := range len(p) {
				bytewise.Add(p[j : j+1])
			}
			if a, b := string(r.JSON()), string(bytewise.JSON()); a != b {
				t.Fatalf("%q and byte by byte %q", a, b)
			}
			now := parsed(t, r.JSON())
			if !strings.Contains(in, `"`) && !grown(before, now) { // with keys that are there twice members change
				t.Fatalf("%v after %v", now, before)
			}
			before = now
		}
		var whole any
		if json.Unmarshal([]byte(in), &whole) == nil {
			r.Add(" ")
			if got := parsed(t, r.JSON()); !reflect.DeepEqual(got, whole) {
				t.Errorf("%q: %v, want %v", in, got, whole)
			}
		}
	})
}

// BenchmarkAdd shows that the cost of a piece does not depend on earlier ones.
func BenchmarkAdd(b *testing.B) {
	for name, size := range map[string]int{"short": 1 << 10, "long": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			pieces := strings.SplitAfter(`{"path":"a","content":"`+strings.Repeat(`some words\n`, size/12), " ")
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				var r Reader
				for _, p := range pieces {
					r.Add(p)
					n += len(r.JSON())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(pieces)), "ns/piece")
		})
	}
}
