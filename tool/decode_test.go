package tool

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type shouted string

func (s *shouted) UnmarshalText(text []byte) error { *s = shouted(text) + "!"; return nil }

type word string

type everything struct {
	S     string        `json:"s"`
	W     word          `json:"w,omitempty"`
	B     bool          `json:"b"`
	I     int           `json:"i"`
	I32   int32         `json:"i32"`
	F     float64       `json:"f"`
	D     time.Duration `json:"d"`
	Loud  shouted       `json:"loud"`
	Text  int           `json:"text,string"`
	Num   json.Number   `json:"num"`
	P     *int          `json:"p"`
	List  []string      `json:"list"`
	Plain string
	None  string `json:"-"`
}

// FuzzDecode compares with encoding/json, which it is in place of.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, `{"s":"a","w":"b","b":true,"i":-3,"i32":7,"f":2.5}`, `{"i":1e3}`, `{"i32":4294967296}`, `{"f":1e999}`, `{"s":null}`, `{"S":"case"}`,
		`{"s":"a\nb"}`, "{\"s\":\"\xff\"}", `{"loud":"x"}`, `{"text":"4"}`, `{"num":1.50}`, `{"num":"2"}`, `{"p":3,"list":["a","b"]}`, `{"Plain":"x","-":"y","own":"z","other":1}`,
		`{"s":"a","s":"b"}`, ` { "s" : "a" , "i" : 4 } `, `{"d":1000}`, `{"b":"true"}`, `{"i":"4"}`, `{"f":-0}`, `{"i":-0}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if !json.Valid([]byte(input)) || kindOf([]byte(input)[space([]byte(input), 0):]) != kindObject {
			t.Skip()
		}
		trimmed := []byte(input)[space([]byte(input), 0):]
		var got, want everything
		err, wantErr := decode(trimmed, &got), json.Unmarshal([]byte(input), &want)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v (%v), want %+v (%v)", input, got, err, want, wantErr)
		}
	})
}

// Fields of embedded structs compete for names, which is left to encoding/json.
func TestDecodeEmbedded(t *testing.T) {
	type inner struct{ A, B string }
	type outer struct {
		inner
		A string
	}
	var got outer
	if err := decode([]byte(`{"A":"x","B":"y"}`), &got); err != nil || got.A != "x" || got.B != "y" || got.inner.A != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	type in struct {
		Path   string `json:"path"`
		Offset int    `json:"offset,omitempty"`
		Limit  int    `json:"limit,omitempty"`
	}
	input := []byte(`{"path":"internal/wire/history.go","offset":120,"limit":80}`)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v in
			if err := decode(input, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v in
			if err := json.Unmarshal(input, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
