package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFramer(t *testing.T) {
	t.Parallel()
	const text = "one\n\ntwo\r\nfar too long for the limit\nthree\nfar too long, and not ended"
	for size := 1; size <= len(text); size++ {
		var got []string
		f := &framer{limit: 10, line: func(l []byte) { got = append(got, string(l)) }, long: func(head, tail []byte) { got = append(got, "long:"+string(head)+"|"+string(tail)) }}
		for p := range slices.Chunk([]byte(text), size) {
			if n, err := f.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if len(got) != 5 || got[0] != "one" || got[1] != "" || got[2] != "two\r" || !strings.HasPrefix(got[3], "long:far too lon") || !strings.HasSuffix(got[3], "the limit") || got[4] != "three" {
			t.Fatalf("in pieces of %d: %q", size, got)
		}
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*keptHead)
	for _, c := range []struct {
		text string
		want any
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"x":"` + long + `"}}`, 7.0},
		{`{"id":"a\"b","result":"` + long + `"}`, `a"b`},
		{`{"result":{"x":"` + long + `"},"jsonrpc":"2.0","id":12}`, 12.0},
		{`{"result":{"x":"` + long + `"},"jsonrpc":"2.0","id":"q"} `, "q"},
		{`{"result":{"id":5,"x":"` + long + `","id":6}}`, nil},
		{`{"result":"` + long + `,\"id\":5}"}`, nil},
		{`{"method":"sampling/createMessage","id":3,"params":"` + long + `"}`, nil},
		{`{"jsonrpc":"2.0","method":"x","params":"` + long + `","id":3}`, nil},
		{`[` + long, nil},
		{long, nil},
	} {
		got := answered([]byte(c.text[:min(len(c.text), keptHead)]), []byte(c.text[max(0, len(c.text)-keptTail):]))
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%.40s…%s: %v", c.text, c.text[len(c.text)-20:], got)
		}
	}
}

func FuzzFramer(f *testing.F) {
	f.Add([]byte("a\nb"), 3)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		fr := &framer{limit: 100, line: func(l []byte) {
			if len(l) > 100 {
				t.Errorf("a line of %d bytes", len(l))
			}
		}, long: func(head, tail []byte) { answered(head, tail) }}
		for p := range slices.Chunk(data, 1+(size&0xff)) {
			if _, err := fr.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if len(fr.buf) > 100+256 || len(fr.tail) > keptTail {
			t.Errorf("%d bytes kept", len(fr.buf)+len(fr.tail))
		}
	})
}
