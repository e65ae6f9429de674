package event

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/fill"
)

// declared returns the types of table.go that have the marker method named so.
func declared(t *testing.T, marker string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == marker {
			found[f.Recv.List[0].Type.(*ast.Ident).Name] = true
		}
	}
	return found
}

// Every fact and signal is in the table, under its own name in snake case.
func TestNames(t *testing.T) {
	facts, signals, data := declared(t, "fact"), declared(t, "signal"), declared(t, "data")
	both := maps.Clone(facts)
	maps.Copy(both, signals)
	if len(facts) == 0 || len(signals) == 0 || !maps.Equal(both, data) || len(both) != len(facts)+len(signals) {
		t.Errorf("%d facts and %d signals, but %d kinds of data", len(facts), len(signals), len(data))
	}
	upper := regexp.MustCompile("[A-Z]")
	table := map[string]bool{}
	for name, d := range names {
		typ := reflect.TypeOf(d).Name()
		table[typ] = true
		snake := strings.TrimPrefix(strings.ToLower(upper.ReplaceAllString(typ, "_$0")), "_")
		if name != snake || Type(d) != name {
			t.Errorf("%s is called %q, want %q", typ, name, snake)
		}
		f, fact := d.(Fact)
		if fact != facts[typ] {
			t.Errorf("%s is a fact: %v", typ, fact)
		}
		if fact && SyncOf(f) == undecided {
			t.Errorf("event/table.go does not decide when %s has to be on disk", typ)
		}
	}
	if !maps.Equal(table, data) {
		t.Errorf("the table has %v\nbut there are %v", slices.Sorted(maps.Keys(table)), slices.Sorted(maps.Keys(data)))
	}
}

// Every type survives JSON with every field set, and with none.
func TestRoundTrip(t *testing.T) {
	fill.Interfaces[reflect.TypeFor[Data]()] = TextDelta{Key: "k", Text: "t"}
	for name, d := range names {
		filled := fill.New(reflect.TypeOf(d)).Interface().(Data)
		if of, ok := filled.(AgentEvent); ok {
			of.Event.Call = nil // not part of the JSON
		}
		for _, d := range []Data{filled, d} {
			in := Event{Seq: 2, Prev: 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Session: "s", Data: d}
			text, err := json.Marshal(in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var out Event
			if err := json.Unmarshal(text, &out); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if d := cmpJSON(in, out); d != "" {
				t.Errorf("%s came back changed:\n%s", name, d)
			}
		}
		text, err := json.Marshal(filled)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := Decode(name, text); err != nil || !reflect.DeepEqual(got, filled) {
			t.Errorf("%s came back changed, %v:\n got %#v\nwant %#v", name, err, got, filled)
		}
	}
}

// cmpJSON returns the JSON of both where it differs.
func cmpJSON(a, b Event) string {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) == string(y) {
		return ""
	}
	return string(x) + "\n" + string(y)
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ name, data string }{
		{"", "{}"}, {"nothing", "{}"}, {"Resumed", "{}"}, {"resumed", ""}, {"resumed", "[]"}, {"run_end", `{"turns":"x"}`},
		{"user_message", `{"message":{"content":[{"type":"from_the_future"}]}}`},
	} {
		if d, err := Decode(c.name, []byte(c.data)); err == nil {
			t.Errorf("%q %s is decoded as %#v", c.name, c.data, d)
		}
	}
	for _, text := range []string{"", "[]", "{}", `{"type":"resumed"}`, `{"type":"x","data":{}}`} {
		var e Event
		if err := json.Unmarshal([]byte(text), &e); err == nil {
			t.Errorf("%s is read as %#v", text, e)
		}
	}
	if text, err := json.Marshal(Event{}); err == nil {
		t.Errorf("an event without data is written as %s", text)
	}
	for _, d := range []Data{nil, &Resumed{}} {
		if name := Type(d); name != "" {
			t.Errorf("%T has the name %q", d, name)
		}
	}
}

// Members of a later version are passed over.
func TestUnknownMembers(t *testing.T) {
	var e Event
	text := `{"seq":1,"new":[],"time":"2026-01-02T03:04:05Z","type":"waited","data":{"key":"k","new":{}}}`
	if err := json.Unmarshal([]byte(text), &e); err != nil || !reflect.DeepEqual(e.Data, Waited{Key: "k"}) {
		t.Errorf("%#v, %v", e, err)
	}
}

func TestUUID(t *testing.T) {
	shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]Event{}
	for _, session := range []string{"", "s", "t", "01890a5d-ac96-774b-bcce-b302099a8057", strings.Repeat("ü", 100)} {
		for _, seq := range []int64{0, 1, 2, 255, 256, 1 << 32, 1 << 40} {
			e := Event{Seq: seq, Session: session}
			id := e.UUID()
			if !shape.MatchString(id) || id != (Event{Seq: seq, Session: session, Data: Resumed{}}).UUID() {
				t.Errorf("fact %d of %q has the UUID %s", seq, session, id)
			}
			if old, ok := seen[id]; ok {
				t.Errorf("%+v and %+v are both %s", old, e, id)
			}
			seen[id] = e
		}
	}
	// The first digits are those of the session's SHA-256: 043a7187… for "s".
	if got := (Event{Seq: 258, Session: "s"}).UUID(); got != "043a7187-74c5-82bd-8000-000000000102" {
		t.Errorf("the UUID has changed: %s", got)
	}
}

func FuzzEvent(f *testing.F) {
	for _, d := range names {
		text, err := json.Marshal(Event{Seq: 1, Data: fill.New(reflect.TypeOf(d)).Interface().(Data)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var in, out Event
		if json.Unmarshal(text, &in) != nil {
			return
		}
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		if err := json.Unmarshal(again, &out); err != nil {
			t.Fatalf("written, but not read: %v\n%s", err, again)
		}
		if d := cmpJSON(in, out); d != "" {
			t.Fatalf("changed:\n%s", d)
		}
	})
}
