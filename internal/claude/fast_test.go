package claude

import (
	"bytes"
	"math"
	"net/http"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/llmtest"
)

// TestFast asks for the fast mode: of the models that have one, at its price.
func TestFast(t *testing.T) {
	var table catalog.Table
	if err := table.Register(catalog.Entry{Name: "own", Provider: provider, Fast: true, Price: &llm.Price{Input: 1, Output: 2}}); err != nil {
		t.Fatal(err)
	}
	mine := http.Header{"Anthropic-Beta": {"some-beta-2026-01-01"}}
	for _, c := range []struct {
		client  Client
		name    string
		fast    bool
		output  float64 // 0: not known
		headers string
	}{
		{Client{Fast: true}, "claude-opus-5-5", true, 40, fastBeta},
		{Client{Fast: true}, "claude-opus-5", true, 50, fastBeta},
		{Client{Fast: true, Header: mine}, "claude-opus-5", true, 50, "some-beta-2026-01-01," + fastBeta},
		{Client{Fast: true, Header: http.Header{"Anthropic-Beta": {fastBeta}}}, "claude-opus-5", true, 50, fastBeta},
		{Client{Fast: true}, "claude-sonnet-4-6", false, 15, ""},
		{Client{Fast: true, Header: mine}, "claude-opus-4-7", false, 25, "some-beta-2026-01-01"},
		{Client{Fast: true, Catalog: &table}, "own", true, 0, fastBeta},
		{Client{}, "claude-opus-5-5", false, 20, ""},
	} {
		s := llmtest.NewServer(t, llmtest.Say("fine"), llmtest.Say("fine"))
		c.client.APIKey, c.client.BaseURL = "k", s.URL
		m := c.client.Model(c.name)
		for _, blocking := range []bool{false, true} {
			if _, err := llm.Collect(t.Context(), m, &llm.Request{Messages: []llm.Message{user(say("q"))}, Blocking: blocking}); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range s.Requests() {
			if got := r.Header.Get("Anthropic-Beta"); bytes.Contains(r.Body, []byte(`"speed":"fast"`)) != c.fast || got != c.headers || len(r.Header.Values("Anthropic-Beta")) > 1 {
				t.Errorf("%s of %+v: betas %q, %s", c.name, c.client, got, r.Body)
			}
		}
		output := 0.0
		if p := llm.InfoOf(m).Price; p != nil {
			output = p.Output
		}
		if output != c.output {
			t.Errorf("%s of %+v costs %v", c.name, c.client, output)
		}
	}
	if len(mine["Anthropic-Beta"]) != 1 || mine.Get("Anthropic-Beta") != "some-beta-2026-01-01" {
		t.Error("the client's header was changed")
	}
	p := llm.InfoOf((&Client{Fast: true}).Model("claude-opus-5-5")).Price
	if got, want := p.Cost(llm.Usage{Input: 1e6, CacheRead: 1e6, CacheWrite: 2e6, CacheWriteHour: 1e6}), 8+0.4+10+16.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("input and caches cost %v, want %v", got, want)
	}
	at := &Platform{Name: "place", Base: func(s string) string { return s }}
	if m := (&Client{Fast: true}).ModelAt(at, "claude-opus-5-5").(*model); m.fast() || m.Info().Price.Output != 20 {
		t.Error("a platform has a fast mode")
	}
}
