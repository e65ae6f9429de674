package modelinfo_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/openai"
)

type nameless struct{}

func (nameless) Name() string { return "some-model" }
func (nameless) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {}
}

func TestOf(t *testing.T) {
	remote, local := &openai.Client{BaseURL: "https://models.example/v1"}, &openai.Client{BaseURL: "http://localhost:11434/v1"}
	for _, tt := range []struct {
		m       llm.Model
		window  int
		assumed bool
	}{
		{nameless{}, llmconst.AssumedWindow, true},
		{remote.Model("some-model"), llmconst.AssumedWindow, true},
		{local.Model("some-model"), llmconst.AssumedLocalWindow, true},
		{(&anthropic.Client{BaseURL: "http://127.0.0.1:8080"}).Model("some-model"), llmconst.AssumedLocalWindow, true},
		{local.Model("gpt-4o-mini"), 128_000, false},
		{anthropic.Model("claude-sonnet-4-5-20250929"), 200_000, false},
	} {
		i := modelinfo.Of(tt.m)
		if i.Value != tt.m.Name() || i.DisplayName == "" || i.Window != tt.window || i.Assumed != tt.assumed {
			t.Errorf("%s: %+v, want a window of %d", tt.m.Name(), i, tt.window)
		}
		if w, assumed := llm.InfoOf(tt.m).Room(); w != i.Window || assumed != i.Assumed {
			t.Errorf("%s: the info says %d, %v", tt.m.Name(), w, assumed)
		}
		if i.Assumed && i.Price != nil {
			t.Errorf("%s: a price is guessed", i.Value)
		}
	}
	if i := modelinfo.Of(anthropic.Model("claude-opus-4-6")); i.Price != nil {
		i.Price.Input = 0
		if llm.InfoOf(anthropic.Model("claude-opus-4-6")).Price.Input == 0 {
			t.Error("the price is shared")
		}
	}
}

func TestOfEntry(t *testing.T) {
	e, _ := catalog.Embedded().Lookup("", llmconst.DefaultModel)
	i := modelinfo.OfEntry(e)
	if i.Value != llmconst.DefaultModel || i.DisplayName == "" || !i.Adaptive || !slices.Equal(i.Efforts, []string{"low", "medium", "high", "max"}) || i.Window != e.Window || i.Assumed || i.Date == "" {
		t.Errorf("%+v", i)
	}
	i.Efforts[0] = "changed"
	if again := modelinfo.OfEntry(e); again.Efforts[0] != "low" {
		t.Error("the efforts are shared")
	}
	if i := modelinfo.OfEntry(catalog.Entry{Name: "own"}); i.DisplayName != "own" || i.Window != llmconst.AssumedWindow || !i.Assumed || i.Efforts != nil || i.Price != nil {
		t.Errorf("of what is not known: %+v", i)
	}
}
