package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/llm"
)

const (
	cacheOtherModel event.CacheCause = "model"
	cacheExpired    event.CacheCause = "expired"
	cacheTools      event.CacheCause = "tools"
	cacheSystem     event.CacheCause = "system"
	cacheSettings   event.CacheCause = "settings"
	cacheMessages   event.CacheCause = "messages"
	cacheLost       event.CacheCause = "lost"
)

// A CacheWatch finds out when a provider's prompt cache was broken, and why. It looks at
// the tokens that the provider has read from the cache. Only if those are fewer than the
// cache held does it compare two requests. The zero CacheWatch is ready to use.
type CacheWatch struct {
	sent []sent // the last answered request to each model, the newest last
	call struct {
		key string
		sent
	}
	compacted bool // since the last answer
}

// sent is the cacheable content of a request.
type sent struct {
	model    string
	system   string
	tools    []llm.Tool
	messages []llm.Message
	thinking llm.Thought
	choice   llm.ToolChoice
	ttl      time.Duration
	at       time.Time // of the answer
	held     int       // tokens that the cache holds of it
}

// Apply takes a fact that s and t have applied. It returns the cache break that an answer
// reveals, nil if there is none.
func (w *CacheWatch) Apply(e event.Event, s *State, t *Transcript) *event.CacheBroken {
	switch f := e.Data.(type) {
	case fact.ModelStart:
		if f.Call != "" {
			break
		}
		n := len(t.Messages)
		c := &s.settings.cfg
		w.call.key = f.Key
		w.call.sent = sent{model: f.Model, system: t.System, tools: t.Tools, messages: t.Messages[:n:n], thinking: c.Thinking, ttl: 5 * time.Minute, at: e.Time}
		if modelcall.KeepsHour(c.Cache) {
			w.call.ttl = time.Hour
		}
		if s.run.turns == 0 {
			w.call.choice = c.ToolChoice
		}
	case event.Compacted:
		w.compacted = w.compacted || f.Failed == ""
	case event.AssistantMessage:
		if f.Key != w.call.key || f.Key == "" {
			break
		}
		now := w.call.sent
		w.call.key, w.call.sent = "", sent{}
		b := w.compare(&now, f.Response.Usage)
		if b != nil {
			b.Key, b.Model, b.Read = f.Key, f.Model, f.Response.Usage.CacheRead
			if b.Cause == cacheMessages && w.compacted {
				b.Text = "the conversation was compacted"
			}
			b.CostUSD = extra(s.Info(f.Model).Price, f.Response.Usage, b.Held-b.Read)
		}
		now.at, w.compacted = e.Time, false
		if now.held = f.Response.Usage.CacheRead + f.Response.Usage.CacheWrite; now.held > 0 {
			w.keep(now)
		}
		return b
	}
	return nil
}

// extra returns the additional cost of tokens that were not read from the cache.
func extra(p *llm.Price, u llm.Usage, tokens int) *float64 {
	if p == nil {
		return nil
	}
	price := p.Input
	if u.CacheWriteHour > 0 {
		price = p.WriteHour()
	} else if u.CacheWrite > 0 {
		price = p.CacheWrite
	}
	return new(amount((price - p.CacheRead) * float64(tokens) / 1e6))
}

// keep puts a request in the place of the last one to its model.
func (w *CacheWatch) keep(now sent) {
	all := w.sent
	n := order.Keep(len(all), func(i int) bool { return all[i].model != now.model }, func(to, from int) { all[to] = all[from] })
	clear(all[n:])
	w.sent = append(all[:n], now)
}

// compare returns why less was read than the cache held; nil if it was not.
func (w *CacheWatch) compare(now *sent, u llm.Usage) *event.CacheBroken {
	if len(w.sent) == 0 {
		return nil
	}
	old := w.sent[len(w.sent)-1]
	if i := order.Find(len(w.sent), func(i int) bool { return w.sent[i].model == now.model }); i >= 0 {
		old = w.sent[i]
	}
	if old.held == 0 || (old.held-u.CacheRead)*20 <= old.held {
		return nil
	}
	b := &event.CacheBroken{Held: old.held, Message: -1}
	idle := now.at.Sub(old.at)
	switch {
	case old.model != now.model:
		b.Cause, b.Text = cacheOtherModel, fmt.Sprintf("the model was switched from %s to %s, and no model reads another's cache", old.model, now.model)
	case idle > old.ttl && u.CacheRead == 0:
		b.Cause, b.Text = cacheExpired, fmt.Sprintf("%v went by since the last request, the cache is kept for %v", idle.Round(time.Second), old.ttl)
	default:
		old.differ(now, b)
	}
	return b
}

// differ says where two requests of one model differ first.
func (old *sent) differ(now *sent, b *event.CacheBroken) {
	if old.toolsDiffer(now, b) {
		return
	}
	if old.system != now.system {
		b.Cause = cacheSystem
		setChange(b, old.system, now.system)
		b.Text = fmt.Sprintf("the system prompt changed at byte %d", b.Byte)
		return
	}
	if old.thinking != now.thinking || old.choice != now.choice {
		b.Cause, b.Text = cacheSettings, "thinking was set otherwise"
		if old.thinking == now.thinking {
			b.Text = "the tool choice was set otherwise"
		}
		return
	}
	for i, m := range old.messages {
		switch {
		case i >= len(now.messages):
			b.Cause, b.Message, b.Text = cacheMessages, i, fmt.Sprintf("message %d and what follows it are gone", i)
			return
		case sameMessage(m, now.messages[i]):
			continue
		}
		b.Cause, b.Message = cacheMessages, i
		at, was, is := firstDifference(m.Content, now.messages[i].Content)
		b.Block = at
		setChange(b, was, is)
		b.Text = fmt.Sprintf("message %d changed, in block %d at byte %d", i, at, b.Byte)
		return
	}
	b.Cause, b.Text = cacheLost, "the request begins as the last one did: the provider did not find what it had kept"
}

func (old *sent) toolsDiffer(now *sent, b *event.CacheBroken) bool {
	for i := range max(len(old.tools), len(now.tools)) {
		b.Cause = cacheTools
		switch {
		case i >= len(now.tools):
			b.Tool = old.tools[i].Name
			b.Text = fmt.Sprintf("the tool %s is gone", b.Tool)
		case i >= len(old.tools):
			b.Tool = now.tools[i].Name
			b.Text = fmt.Sprintf("the tool %s was added", b.Tool)
		case old.tools[i].Name != now.tools[i].Name:
			b.Tool = now.tools[i].Name
			b.Text = fmt.Sprintf("the tool %s stands where %s was", b.Tool, old.tools[i].Name)
			if len(old.tools) != len(now.tools) {
				b.Text += fmt.Sprintf(", of %d tools for %d", len(now.tools), len(old.tools))
			}
		case toolText(old.tools[i]) != toolText(now.tools[i]):
			b.Tool = now.tools[i].Name
			setChange(b, toolText(old.tools[i]), toolText(now.tools[i]))
			b.Text = fmt.Sprintf("the description of the tool %s changed at byte %d", b.Tool, b.Byte)
		default:
			b.Cause = ""
			continue
		}
		return true
	}
	return false
}

func toolText(t llm.Tool) string { return t.Description + "\n" + string(t.Input) }

func sameMessage(a, b llm.Message) bool {
	if a.Role != b.Role || len(a.Content) != len(b.Content) {
		return false
	}
	if len(a.Content) == 0 || &a.Content[0] == &b.Content[0] {
		return true
	}
	at, _, _ := firstDifference(a.Content, b.Content)
	return at < 0
}

// firstDifference returns the index of the first block in which a and b differ, and both
// blocks as text; -1 if they are equal.
func firstDifference(a, b llm.Blocks) (at int, was, is string) {
	for i := range max(len(a), len(b)) {
		was, is = "", ""
		if i < len(a) {
			was = blockText(a[i])
		}
		if i < len(b) {
			is = blockText(b[i])
		}
		if was != is {
			return i, was, is
		}
	}
	return -1, "", ""
}

func blockText(b llm.Block) string {
	switch b := b.(type) {
	case llm.Text:
		return b.Text
	case llm.ToolResult:
		texts := make([]string, len(b.Content))
		for i, c := range b.Content {
			texts[i] = blockText(c)
		}
		return strings.Join(texts, "\n")
	}
	data, _ := json.Marshal(llm.Blocks{b})
	return string(data)
}
