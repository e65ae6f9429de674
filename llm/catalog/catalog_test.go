package catalog

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

func TestLookup(t *testing.T) {
	for _, tt := range []struct{ provider, name, want string }{
		{"", "claude-sonnet-4-6", "claude-sonnet-4-6"},
		{"anthropic", "claude-sonnet-4-6-20260115", "claude-sonnet-4-6"},
		{"anthropic", "claude-sonnet-4-20250514", "claude-sonnet-4"},
		{"anthropic", "claude-sonnet-4-0", "claude-sonnet-4"},
		{"anthropic", "claude-3-7-sonnet@20250219", "claude-3-7-sonnet"},
		{"anthropic", "claude-3-5-haiku-latest", "claude-3-5-haiku"},
		{"openai", "gpt-4.1-2025-04-14", "gpt-4.1"},
		{"openai", "gpt-5-chat-latest", "gpt-5-chat-latest"},
		{"openai", "o3-2025-04-16", "o3"},
		{"", "gpt-4o-mini", "gpt-4o-mini"},
		{"", "gpt-4o-0806", "gpt-4o"},
		// Unknown stays unknown.
		{"", "", ""},
		{"", "claude-sonnet-4-9", ""},
		{"", "claude-sonnet", ""},
		{"", "claude-sonnet-4-6-turbo", ""},
		{"", "gpt-4o-audio-preview", ""},
		{"", "my-gpt-4o", ""},
		{"", "-20250101", ""},
		{"openai", "claude-sonnet-4-6", ""},
	} {
		e, ok := Embedded().Lookup(tt.provider, tt.name)
		if ok != (tt.want != "") || e.Name != tt.want {
			t.Errorf("Lookup(%q, %q) = %q, want %q", tt.provider, tt.name, e.Name, tt.want)
		}
	}
}

func TestEmbedded(t *testing.T) {
	if e, ok := Embedded().Lookup("anthropic", llmconst.DefaultModel); !ok || e.Price == nil {
		t.Fatal("the default model is not in the table")
	}
	for _, e := range Embedded().Entries() {
		if _, err := time.Parse(time.DateOnly, e.Date); err != nil || !strings.HasPrefix(e.Source, "https://") {
			t.Errorf("%s: date %q, source %q", e.Name, e.Date, e.Source)
		}
		if e.Window < e.MaxOutput || e.MaxOutput == 0 || e.Thinking == "" {
			t.Errorf("%s: window %d, output %d, thinking %q", e.Name, e.Window, e.MaxOutput, e.Thinking)
		}
		if p := e.Price; p == nil || p.CacheRead > p.Input || p.Output < p.Input {
			t.Errorf("%s: implausible price %+v", e.Name, p)
		}
	}
	if err := Embedded().Register(Entry{Name: "x"}); err == nil {
		t.Error("the shared table could be changed")
	}
}

func TestCost(t *testing.T) {
	e, _ := Embedded().Lookup("", "claude-sonnet-4-5")
	u := llm.Usage{Input: 1_000, Output: 2_000, CacheRead: 100_000, CacheWrite: 10_000}
	if got, want := e.Price.Cost(u), 0.003+0.030+0.030+0.0375; math.Abs(got-want) > 1e-9 {
		t.Errorf("cost %v, want %v", got, want)
	}
	u.CacheWriteHour = 4_000 // of the 10,000
	if got, want := e.Price.Cost(u), 0.003+0.030+0.030+0.0225+0.024; math.Abs(got-want) > 1e-9 {
		t.Errorf("cost with some kept for an hour %v, want %v", got, want)
	}
	if own := (llm.Price{CacheWrite: 1}); math.Abs(own.WriteHour()-1.6) > 1e-9 {
		t.Errorf("an hour costs %v where the price does not say", own.WriteHour())
	}
	u.CacheWriteHour = 0
	u.CacheRead = 190_000
	if got, want := e.Price.Cost(u), 2*(0.003+0.057+0.0375)+1.5*0.030; math.Abs(got-want) > 1e-9 {
		t.Errorf("cost of a long context %v, want %v", got, want)
	}
}

func TestRegister(t *testing.T) {
	var table Table
	price := &llm.Price{Input: 1, Output: 2}
	if err := table.Register(Entry{Name: "own", Provider: "openai", Aliases: []string{"mine"}, Window: 5, Price: price}); err != nil {
		t.Fatal(err)
	}
	price.Input = 99
	for _, name := range []string{"own", "mine", "own-20250101"} {
		if e, ok := table.Lookup("openai", name); !ok || e.Window != 5 || e.Price.Input != 1 {
			t.Errorf("Lookup(%q) = %+v", name, e)
		}
	}
	if err := table.Register(Entry{Name: "gpt-4o", Provider: "openai", Window: 7}); err != nil {
		t.Fatal(err)
	}
	if e, _ := table.Lookup("", "gpt-4o-2024-08-06"); e.Window != 7 {
		t.Error("an own entry does not replace the embedded one")
	}
	if e, _ := Embedded().Lookup("", "gpt-4o"); e.Window == 7 {
		t.Error("an own entry changed the embedded table")
	}
	if _, ok := table.Lookup("", "claude-opus-4-6"); !ok {
		t.Error("an own table does not fall through")
	}
	if !slices.ContainsFunc(table.Entries(), func(e Entry) bool { return e.Name == "own" }) {
		t.Error("Entries lacks the own entry")
	}
	for _, bad := range []Entry{
		{}, {Name: " "}, {Name: "x", Window: -1}, {Name: "x", Price: &llm.Price{Input: -1}},
		{Name: "x", Price: &llm.Price{Output: math.NaN()}}, {Name: "x", Price: &llm.Price{LongAt: 5}},
	} {
		if err := table.Register(bad); err == nil {
			t.Errorf("Register(%+v) succeeded", bad)
		}
	}
	var none *Table
	if _, ok := none.Lookup("", "gpt-4o"); !ok || none.Register(Entry{Name: "x"}) == nil {
		t.Error("a nil table is not the embedded one")
	}
}

func TestConcurrent(t *testing.T) {
	var table Table
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				_ = table.Register(Entry{Name: "x", Provider: "p"})
				table.Lookup("p", "x")
				table.Entries()
			}
		})
	}
	wg.Wait()
}

func TestUnknownEffort(t *testing.T) {
	if err := new(Table).Register(Entry{Name: "own", Efforts: []string{"extreme"}}); err == nil {
		t.Error("an effort that there is not")
	}
}
