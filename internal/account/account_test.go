package account_test

import (
	"context"
	"math"
	"strings"
	"testing"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// The account of a session agrees with the results of its prompts, and says who spent it.
func TestAccount(t *testing.T) {
	price := &llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	m := llmtest.Script(
		llmtest.Step{Calls: []llm.ToolUse{llmtest.Use("a", "big", map[string]any{}), llmtest.Use("b", "small", map[string]any{})}, Usage: llm.Usage{CacheWrite: 5000, Output: 50}},
		llmtest.Step{Text: "one", Usage: llm.Usage{CacheRead: 5000, CacheWrite: 4000, Output: 20}},
		llmtest.Step{Text: "two", Usage: llm.Usage{CacheRead: 0, CacheWrite: 9100, Output: 20}},
		llmtest.Step{Text: "three", Usage: llm.Usage{Input: 100, CacheRead: 9100, Output: 20}},
	)
	m.Facts = llm.Info{Price: price, Window: 200_000}
	reply := func(name, text string) tool.Tool {
		return tool.New(tool.Spec{Name: name, Description: "Does " + name, ReadOnly: true}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
			return tool.Text(text), nil
		})
	}
	store := session.Memory()
	a := &agent.Agent{Model: m, System: "You are careful.", Sessions: store, Tools: []tool.Tool{reply("big", strings.Repeat("words ", 2000)), reply("small", "ok"), reply("never", "")}}
	s := a.Session("")
	defer s.Close()
	usd := 0.0
	var used llm.Usage
	for _, prompt := range []string{"first", "second", "third"} {
		res, err := s.Prompt(t.Context(), prompt)
		if err != nil {
			t.Fatal(err)
		}
		usd += *res.CostUSD
		used = used.Add(res.Usage)
	}
	book, err := account.Read(store.Read(t.Context(), s.ID, 0))
	if err != nil {
		t.Fatal(err)
	}
	c := book.Cost()
	if math.Abs(*c.USD-usd) > 1e-12 || c.Usage != used || c.Prompts != 3 || c.Turns != 4 {
		t.Errorf("cost %+v, want $%v and %+v", c, usd, used)
	}
	if len(c.Models) != 1 || c.Models[0].Name != "script" || math.Abs(*c.Models[0].USD-usd) > 1e-12 {
		t.Errorf("models %+v", c.Models)
	}
	if len(c.Agents) != 1 || c.Agents[0].Name != "" || math.Abs(*c.Agents[0].USD-usd) > 1e-12 {
		t.Errorf("agents %+v", c.Agents)
	}
	if len(c.Tools) != 3 || c.Tools[0].Name != "big" || c.Tools[0].Calls != 1 || c.Tools[0].Results < 2000 || c.Tools[0].Carried < 3*2000 || c.Tools[2].Calls+c.Tools[1].Calls != 1 {
		t.Errorf("tools %+v", c.Tools)
	}
	sum := 0.0
	for _, tool := range c.Tools {
		sum += *tool.USD
	}
	if sum <= 0 || sum >= usd {
		t.Errorf("the tools have cost $%v of $%v", sum, usd)
	}
	cache := book.Cache()
	without := 0.0
	for _, u := range []llm.Usage{{Input: 5000, Output: 50}, {Input: 9000, Output: 20}, {Input: 9100, Output: 20}, {Input: 9200, Output: 20}} {
		without += price.Cost(u)
	}
	if cache.Requests != 4 || cache.Read != 14100 || math.Abs(*cache.SavedUSD-(without-usd)) > 1e-12 || math.Abs(cache.Rate()-14100.0/32300) > 1e-9 {
		t.Errorf("cache %+v, rate %v", cache, cache.Rate())
	}
	if len(cache.Breaks) != 1 || cache.Breaks[0].Cause != "lost" || cache.Breaks[0].Held != 9000 {
		t.Errorf("breaks %+v", cache.Breaks)
	}
	if u := book.Context(); u.Tokens < 9200 || u.Tokens > 9400 || u.Window != 200_000 {
		t.Errorf("context %+v", u)
	}
}
