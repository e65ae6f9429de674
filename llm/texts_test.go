package llm

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// What texts reads is what encoding/json reads; all else is left to that.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"", "plain", "a \"b\" \\ /\n\t\r\b\f", "é \u2028 <&>", "\x00\x7f", "\xff", `\`} {
		data, err := Blocks{Text{text}, Text{"more"}}.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, data := range []string{
		`[`, `[]`, `[{"type":"text","text":"`, `[{"type":"text","text":"a`, `[{"type":"text","text":"a"`, `[{"type":"text","text":"a"}`,
		`[{"type":"text","text":"a\`, `[{"type":"text","text":"a\"`, `[{"type":"text","text":"a\"}]`, `[{"type":"text","text":"\x"}]`,
		`[{"type":"text","text":"\ud83d\ude00 \/"}]`, `[{"type":"text","text":"a","text":"b"}]`, `[{"type":"text","text":"a"},]`,
		"[{\"type\":\"text\",\"text\":\"a\nb\"}]", "[{\"type\":\"text\",\"text\":\"\xff\"}]", `[{"type":"text","text":"a"}] `,
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		got, ok := texts([]byte(data))
		if !ok {
			return
		}
		var want Blocks
		if !json.Valid([]byte(data)) {
			t.Fatalf("%q is taken", data)
		}
		if err := want.any([]byte(data)); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is %q, want %q, %v", data, got, want, err)
		}
	})
}

// Texts as they are written are read in the short way.
func TestTexts(t *testing.T) {
	want := Blocks{Text{"one\n\"two\"\t\\"}, Text{""}, Text{"é < & >"}}
	data, err := want.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := texts(data); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %q, %v", data, got, ok)
	}
	long := `[{"type":"text","text":"` + strings.Repeat(`line of text\n`, 200) + `"}]`
	if n := testing.AllocsPerRun(10, func() { texts([]byte(long)) }); n > 5 {
		t.Errorf("reading a text takes %v allocations", n)
	}
}
