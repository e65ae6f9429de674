package event_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventtable"
	"github.com/openagent-go/agent/internal/fact"
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

// Every fact and signal is in the tables, under its own name in snake case.
func TestNames(t *testing.T) {
	facts, signals, data := declared(t, "fact"), declared(t, "signal"), declared(t, "data")
	both := maps.Clone(facts)
	maps.Copy(both, signals)
	if len(facts) == 0 || len(signals) == 0 || !maps.Equal(both, data) || len(both) != len(facts)+len(signals) {
		t.Errorf("%d facts and %d signals, but %d kinds of data", len(facts), len(signals), len(data))
	}
	upper := regexp.MustCompile("[A-Z]")
	table := map[string]bool{"Bookkeeping": true}
	listed := map[reflect.Type]bool{}
	for _, f := range fact.All() {
		listed[reflect.TypeOf(f)] = true
	}
	for name, d := range all() {
		typ := reflect.TypeOf(d).Name()
		_, hidden := reflect.TypeOf(d).FieldByName("Bookkeeping")
		if !hidden {
			table[typ] = true
		}
		snake := strings.TrimPrefix(strings.ToLower(upper.ReplaceAllString(typ, "_$0")), "_")
		if name != snake || event.Type(d) != name {
			t.Errorf("%s is called %q, want %q", typ, name, snake)
		}
		f, isFact := d.(event.Fact)
		if !hidden && isFact != facts[typ] || listed[reflect.TypeOf(d)] != isFact {
			t.Errorf("%s is a fact: %v", typ, isFact)
		}
		if isFact && fact.SyncOf(f) == 0 {
			t.Errorf("internal/fact/table.go does not decide when %s has to be on disk", typ)
		}
	}
	if !maps.Equal(table, data) {
		t.Errorf("the table has %v\nbut there are %v", slices.Sorted(maps.Keys(table)), slices.Sorted(maps.Keys(data)))
	}
	if got, want := event.Types(), slices.Sorted(maps.Keys(eventtable.Zero)); !slices.Equal(got, want) {
		t.Errorf("Types returns %v\nwant %v", got, want)
	}
}

// all yields the zero value of each type by its name.
func all() iter.Seq2[string, event.Data] {
	return func(yield func(string, event.Data) bool) {
		for name, d := range eventtable.Zero {
			if !yield(name, d.(event.Data)) {
				return
			}
		}
	}
}

// A program without internal/fact reads and writes its facts, and need not know them.
func TestHiddenFacts(t *testing.T) {
	tested := 0
	for name, d := range maps.Clone(eventtable.Zero) {
		if _, hidden := reflect.TypeOf(d).FieldByName("Bookkeeping"); !hidden {
			continue
		}
		tested++
		text, err := json.Marshal(event.Event{Seq: 1, Data: fill.New(reflect.TypeOf(d)).Interface().(event.Data)})
		if err != nil {
			t.Fatal(err)
		}
		delete(eventtable.Zero, name)
		var e event.Event
		err = json.Unmarshal(text, &e)
		known := event.Types()
		eventtable.Zero[name] = d
		if err != nil || event.Type(e.Data) != name || !slices.Contains(known, name) {
			t.Errorf("%s is read as %q: %v", name, event.Type(e.Data), err)
			continue
		}
		if _, isFact := e.Data.(event.Fact); !isFact {
			t.Errorf("%s is read as a signal", name)
		}
		if again, err := json.Marshal(e); err != nil || string(again) != string(text) {
			t.Errorf("%s is written as %s, %v\nwant %s", name, again, err, text)
		}
	}
	if tested == 0 {
		t.Error("there are no hidden facts")
	}
}

// Every type survives JSON with every field set, and with none.
func TestRoundTrip(t *testing.T) {
	fill.Interfaces[reflect.TypeFor[event.Data]()] = event.TextDelta{Key: "k", Text: "t"}
	for name, d := range all() {
		filled := fill.New(reflect.TypeOf(d)).Interface().(event.Data)
		if of, ok := filled.(event.AgentEvent); ok {
			of.Event.Call = nil // not part of the JSON
		}
		for _, d := range []event.Data{filled, d} {
			in := event.Event{Seq: 2, Prev: 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Session: "s", Data: d}
			text, err := json.Marshal(in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var out event.Event
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
		if got, err := fact.Decode(name, text); err != nil || !reflect.DeepEqual(got, filled) {
			t.Errorf("%s came back changed, %v:\n got %#v\nwant %#v", name, err, got, filled)
		}
	}
}

// cmpJSON returns the JSON of both where it differs.
func cmpJSON(a, b event.Event) string {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) == string(y) {
		return ""
	}
	return string(x) + "\n" + string(y)
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ name, data string }{
		{"", "{}"}, {"nothing", "{}"}, {"event.Resumed", "{}"}, {"resumed", ""}, {"resumed", "[]"}, {"run_end", `{"turns":"x"}`},
		{"user_message", `{"message":{"content":[{"type":"from_the_future"}]}}`},
	} {
		if d, err := fact.Decode(c.name, []byte(c.data)); err == nil {
			t.Errorf("%q %s is decoded as %#v", c.name, c.data, d)
		}
	}
	for _, text := range []string{"", "[]", "{}", `{"type":"resumed"}`, `{"type":"x","data":{}}`} {
		var e event.Event
		if err := json.Unmarshal([]byte(text), &e); err == nil {
			t.Errorf("%s is read as %#v", text, e)
		}
	}
	if text, err := json.Marshal(event.Event{}); err == nil {
		t.Errorf("an event without data is written as %s", text)
	}
	for _, d := range []event.Data{nil, &event.Resumed{}} {
		if name := event.Type(d); name != "" {
			t.Errorf("%T has the name %q", d, name)
		}
	}
}

// Members of a later version are passed over.
func TestUnknownMembers(t *testing.T) {
	var e event.Event
	text := `{"seq":1,"new":[],"time":"2026-01-02T03:04:05Z","type":"waited","data":{"key":"k","new":{}}}`
	if err := json.Unmarshal([]byte(text), &e); err != nil || !reflect.DeepEqual(e.Data, fact.Waited{Key: "k"}) {
		t.Errorf("%#v, %v", e, err)
	}
}

func TestUUID(t *testing.T) {
	shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]event.Event{}
	for _, session := range []string{"", "s", "t", "01890a5d-ac96-774b-bcce-b302099a8057", strings.Repeat("ü", 100)} {
		for _, seq := range []int64{0, 1, 2, 255, 256, 1 << 32, 1 << 40} {
			e := event.Event{Seq: seq, Session: session}
			id := e.UUID()
			if !shape.MatchString(id) || id != (event.Event{Seq: seq, Session: session, Data: event.Resumed{}}).UUID() {
				t.Errorf("fact %d of %q has the UUID %s", seq, session, id)
			}
			if old, ok := seen[id]; ok {
				t.Errorf("%+v and %+v are both %s", old, e, id)
			}
			seen[id] = e
		}
	}
	// The first digits are those of the session's SHA-256: 043a7187… for "s".
	if got := (event.Event{Seq: 258, Session: "s"}).UUID(); got != "043a7187-74c5-82bd-8000-000000000102" {
		t.Errorf("the UUID has changed: %s", got)
	}
}

func FuzzEvent(f *testing.F) {
	for _, d := range all() {
		text, err := json.Marshal(event.Event{Seq: 1, Data: fill.New(reflect.TypeOf(d)).Interface().(event.Data)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var in, out event.Event
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
