package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	agent "github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/promptcache"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// long is a tool whose description alone is long enough to be kept by a cache.
func long(name string) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: name + strings.Repeat(" describes something at length", 200)}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		return tool.Text(strings.Repeat("a result ", 60)), nil
	})
}

// breaks runs a prompt and returns what broke the cache.
func breaks(t *testing.T, s *agent.Session, prompt string) (list []event.CacheBroken) {
	t.Helper()
	for e, err := range s.Stream(t.Context(), prompt) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Data.(event.CacheBroken); ok {
			list = append(list, b)
		}
	}
	return list
}

// Every change that breaks a provider's cache is reported, against a server that counts as
// a cache does. Other changes are not reported.
func TestCacheBreaks(t *testing.T) {
	for name, tt := range map[string]struct {
		cache  llm.Cache
		change func(t *testing.T, s *agent.Session, model func(string) llm.Model)
		want   event.CacheBroken
	}{
		"nothing": {change: func(*testing.T, *agent.Session, func(string) llm.Model) {}},
		"a pause": {change: func(*testing.T, *agent.Session, func(string) llm.Model) { time.Sleep(4 * time.Minute) }},
		"a long pause": {
			change: func(*testing.T, *agent.Session, func(string) llm.Model) { time.Sleep(6 * time.Minute) },
			want:   event.CacheBroken{Cause: "expired", Text: "6m0s went by since the last request, the cache is kept for 5m0s"}},
		"a long pause, kept for an hour": {
			cache:  llm.Cache{TTL: time.Hour},
			change: func(*testing.T, *agent.Session, func(string) llm.Model) { time.Sleep(50 * time.Minute) }},
		"another model": {
			change: func(t *testing.T, s *agent.Session, model func(string) llm.Model) {
				if err := s.SetModel(t.Context(), model("claude-opus-4-6")); err != nil {
					t.Fatal(err)
				}
			},
			want: event.CacheBroken{Cause: "model", Text: "the model was switched from claude-sonnet-4-6 to claude-opus-4-6, and no model reads another's cache"}},
		"a tool described otherwise": {
			change: func(t *testing.T, s *agent.Session, _ func(string) llm.Model) {
				other := tool.New(tool.Spec{Name: "second", Description: "second" + strings.Repeat(" describes something at lengths", 200)}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
					return tool.Text("other"), nil
				})
				if err := s.ReplaceTool(t.Context(), other); err != nil {
					t.Fatal(err)
				}
			},
			want: event.CacheBroken{Cause: "tools", Tool: "second", Byte: 36, Text: "the description of the tool second changed at byte 36"}},
		"thinking": {
			change: func(t *testing.T, s *agent.Session, _ func(string) llm.Model) {
				if err := s.SetThinking(t.Context(), llm.Thought{Effort: "high"}); err != nil {
					t.Fatal(err)
				}
			},
			want: event.CacheBroken{Cause: "settings", Text: "thinking was set otherwise"}},
		"a compaction": {
			change: func(t *testing.T, s *agent.Session, _ func(string) llm.Model) {
				if err := s.Compact(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			},
			want: event.CacheBroken{Cause: "messages", Text: "the conversation was compacted"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := llmtest.NewPipe(t)
				server.Cache = true
				server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
					switch {
					case wantsSummary(&r.Request):
						return llmtest.Say("<summary>It was done.</summary>")
					case len(r.Results()) == 0:
						return llmtest.Call(llmtest.Use("", "first", map[string]any{}))
					}
					return llmtest.Say("done")
				}
				model := func(name string) llm.Model {
					return (&anthropic.Client{APIKey: "k", BaseURL: server.URL, HTTP: server.Client()}).Model(name)
				}
				a := &agent.Agent{Model: model("claude-sonnet-4-6"), System: "You are careful.", Tools: []tool.Tool{long("first"), long("second")}, Cache: tt.cache}
				a.Permissions.Mode = "bypassPermissions"
				s := a.Session("")
				defer s.Close()
				if list := breaks(t, s, "one"); len(list) > 0 {
					t.Fatalf("the first prompt: %+v", list)
				}
				tt.change(t, s, model)
				list := breaks(t, s, "two")
				if tt.want.Cause == "" {
					if len(list) > 0 {
						t.Errorf("got %+v", list)
					}
					return
				}
				if len(list) != 1 {
					t.Fatalf("got %+v, want one", list)
				}
				got := list[0]
				if got.Cause != tt.want.Cause || got.Text != tt.want.Text || got.Tool != tt.want.Tool || got.Byte != tt.want.Byte || got.CostUSD == nil || *got.CostUSD <= 0 || got.Read >= got.Held {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

// A cache that the provider lost is reported as lost: the request only extends the last
// one.
func TestCacheLostOrChanged(t *testing.T) {
	use := func(read, write int) llm.Usage {
		return llm.Usage{Input: 10, Output: 5, CacheRead: read, CacheWrite: write}
	}
	m := llmtest.Script(llmtest.Step{Text: "a", Usage: use(0, 5000)}, llmtest.Step{Text: "b", Usage: use(0, 5100)}, llmtest.Step{Text: "c", Usage: use(5000, 200)})
	s := (&agent.Agent{Model: m}).Session("")
	defer s.Close()
	for i, want := range []event.CacheCause{"", "lost", ""} {
		got := breaks(t, s, fmt.Sprint("prompt ", i))
		if cause := first(got).Cause; cause != want {
			t.Errorf("prompt %d: %+v", i, got)
		}
	}
}

func first(list []event.CacheBroken) event.CacheBroken {
	if len(list) == 0 {
		return event.CacheBroken{}
	}
	return list[0]
}

// A turn of more blocks than a provider looks back over is found again all the same.
func TestCacheOfLongTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.NewPipe(t)
		server.Cache = true
		server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
			if len(r.Results()) > 0 {
				return llmtest.Say("done")
			}
			var step llmtest.Step
			for range 30 {
				step.Calls = append(step.Calls, llmtest.Use("", "first", map[string]any{}))
			}
			return step
		}
		m := (&anthropic.Client{APIKey: "k", BaseURL: server.URL, HTTP: server.Client()}).Model("claude-sonnet-4-6")
		s := (&agent.Agent{Model: m, System: "You are careful.", Tools: []tool.Tool{long("first")}, Permissions: permission.Policy{Mode: permission.Bypass}}).Session("")
		defer s.Close()
		for i := range 3 {
			if list := breaks(t, s, fmt.Sprint("prompt ", i)); len(list) > 0 {
				t.Errorf("prompt %d: %+v", i, list)
			}
		}
		cache, held := new(promptcache.Cache), 0
		for n, r := range server.Requests() {
			u := cache.Usage(r.Body)
			if u.CacheRead != held {
				t.Errorf("request %d read %d tokens, and %d were kept", n, u.CacheRead, held)
			}
			held = u.CacheRead + u.CacheWrite
		}
	})
}

// A child keeps no prompts where its parent keeps none. An hour is the parent's own.
func TestChildCache(t *testing.T) {
	for _, c := range []struct{ parent, own, want llm.Cache }{
		{llm.Cache{Off: true}, llm.Cache{}, llm.Cache{Off: true}},
		{llm.Cache{TTL: time.Hour}, llm.Cache{}, llm.Cache{}},
		{llm.Cache{}, llm.Cache{TTL: time.Hour}, llm.Cache{TTL: time.Hour}},
	} {
		m := llmtest.Script(say("done"))
		a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end")), Cache: c.parent, Tools: []tool.Tool{delegate(&agent.Agent{Name: "helper", Model: m, Cache: c.own}, false)}}
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		got := m.Requests()[0].Cache
		if got != c.want {
			t.Errorf("of %+v and %+v the child has %+v", c.parent, c.own, got)
		}
	}
}

// What is shown of a change holds no secrets, not even parts of them.
func TestCacheBreakSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "hunter2-0123456789-0123456789-of-the-vault"
		server := llmtest.NewPipe(t)
		server.Cache = true
		server.Rule = func(*llmtest.Request, int) llmtest.Step { return llmtest.Step{Text: "ok"} }
		described := func(last string) tool.Tool {
			return tool.New(tool.Spec{Name: "look", Description: strings.Repeat("describes something at length ", 200) + secret + " " + last}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("ok"), nil })
		}
		a := &agent.Agent{Model: (&anthropic.Client{APIKey: "k", BaseURL: server.URL, HTTP: server.Client()}).Model("claude-sonnet-4-6"), Tools: []tool.Tool{described("before")},
			Permissions: permission.Policy{Mode: permission.Bypass}, Secrets: []string{secret}}
		s := a.Session("")
		defer s.Close()
		breaks(t, s, "one")
		if err := s.ReplaceTool(t.Context(), described("after")); err != nil {
			t.Fatal(err)
		}
		got := first(breaks(t, s, "two"))
		if !strings.HasPrefix(got.Was, "*** before") || !strings.HasPrefix(got.Is, "*** after") {
			t.Errorf("%q, %q", got.Was, got.Is)
		}
	})
}
