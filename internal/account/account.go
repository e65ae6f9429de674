// Package account sums up the facts of a session: its cost by model, agent and tool, the
// use of the provider's prompt cache, and the contents of the context.
//
//	book, err := account.Read(store.Read(ctx, id, 0))
//	cost := book.Cost()
package account

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/tokens"
	"github.com/openagent-go/agent/llm"
)

// A Book is the account of a session, kept fact by fact. The zero Book is empty.
type Book struct {
	state      engine.State
	transcript engine.Transcript
	watch      engine.CacheWatch
	notes      map[string]bool

	runs   []event.RunEnd
	cache  Cache
	tools  map[string]*Tool
	inPlay map[string]int // tokens in the next request, by tool; "" is all the rest
	fixed  map[string]int // those of descriptions
}

// Read returns the account of a session's facts.
func Read(events iter.Seq2[event.Event, error]) (*Book, error) {
	b := new(Book)
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		b.Apply(e)
	}
	return b, nil
}

// A Cost is the cost of a session so far.
type Cost struct {
	USD     *float64  `json:"usd"` // nil: the price of a model is not known
	LostUSD float64   `json:"lost_usd,omitempty"`
	Usage   llm.Usage `json:"usage"`
	Prompts int       `json:"prompts"`
	Turns   int       `json:"turns"`
	Models  []Line    `json:"models"` // sub-agents of the session included
	Agents  []Line    `json:"agents"` // the session's own under ""
	Tools   []Tool    `json:"tools"`  // of the session's own agent
	Cache   Cache     `json:"cache"`  // likewise
}

// A Line is the share of a model or an agent, the dearest first.
type Line struct {
	Name  string    `json:"name"`
	Usage llm.Usage `json:"usage"`
	USD   *float64  `json:"usd"`
}

// A Tool is the cost of a tool: the input of all requests that carried its description and
// its results, by their estimated share of each request's input, and the digests of its
// results. The model's output of the calls is not included.
type Tool struct {
	Name    string   `json:"name"`
	Calls   int      `json:"calls"`
	Results int      `json:"result_tokens"`        // estimated, when they came
	Carried int      `json:"carried_tokens"`       // times the requests that they were in, descriptions included
	USD     *float64 `json:"usd"`                  // of descriptions, results and digests
	Digests float64  `json:"digest_usd,omitempty"` // the part of USD for digests
}

// A Cache is how the provider's prompt cache did.
type Cache struct {
	Requests int                 `json:"requests"` // answered
	Input    int                 `json:"input_tokens"`
	Read     int                 `json:"read_tokens"`
	Written  int                 `json:"written_tokens"`
	Hour     int                 `json:"written_hour_tokens,omitempty"`
	SavedUSD *float64            `json:"saved_usd"` // beside the same requests without a cache; nil: a price is not known
	Breaks   []event.CacheBroken `json:"breaks,omitempty"`
}

// Rate is the share of the input that was read from the cache.
func (c Cache) Rate() float64 {
	all := c.Input + c.Read + c.Written
	if all == 0 {
		return 0
	}
	return float64(c.Read) / float64(all)
}

// Apply enters a fact.
func (b *Book) Apply(e event.Event) {
	if b.tools == nil {
		b.open()
	}
	caller := ""
	if f, ok := e.Data.(event.ToolResult); ok {
		if c := b.transcript.Call(f.Call); c != nil {
			caller = c.Name
		}
	}
	if !b.state.Apply(e) {
		return
	}
	b.transcript.Apply(e)
	if broken := b.watch.Apply(e, &b.state, &b.transcript); broken != nil {
		b.cache.Breaks = append(b.cache.Breaks, *broken)
	}
	b.count(e, caller)
}

// count enters a fact that counts, a result by the tool that was called. A fact that
// the switch does not list is not known.
func (b *Book) count(e event.Event, caller string) (known bool) {
	switch f := e.Data.(type) {
	case fact.Configured, fact.ToolsChanged, fact.ToolChanged:
		b.noteTools()
	case event.UserMessage:
		if f.Delivery == fact.AsContext {
			b.notes[f.Message.Text()] = true
		}
		b.inPlay[""] += 4 + modelcall.Tokens(f.Message.Content)
	case event.ToolResult:
		n := 8 + modelcall.Tokens(f.Result.Content)
		b.tool(caller).Results += n
		b.tool(caller).Calls++
		b.inPlay[caller] += n
		b.noteTools()
	case event.Compacted:
		if f.Failed == "" {
			b.weigh()
		}
	case fact.ToolAmended:
		if f.CostUSD != nil {
			if c := b.transcript.Call(f.Call); c != nil {
				t := b.tool(c.Name)
				t.Digests = *sum(&t.Digests, f.CostUSD)
			}
		}
	case event.AssistantMessage:
		b.answered(f)
		b.inPlay[""] += modelcall.Tokens(f.Response.Message.Content)
	case event.RunEnd:
		b.runs = append(whole(b.runs), f)
	case fact.Delivered, fact.Retracted, fact.ModelStart, event.ModelFailed, fact.CompactionRequested, fact.Waited, fact.Authorized,
		fact.Answered, event.ToolStart, fact.ToolDone, fact.Checkpointed, event.ModeChanged, event.ModelChanged,
		fact.FallbacksChanged, fact.BudgetChanged, fact.CallbackChanged, event.PermissionsChanged, fact.Stopped,
		event.Resumed, event.Rewound, event.SessionNamed, fact.Hooked, fact.OutputChecked,
		event.AgentStart, fact.AgentSuspended, event.AgentEnd: // their cost is in the end of the run
	default:
		return false
	}
	return true
}

// open makes the maps of an empty book.
func (b *Book) open() {
	b.tools, b.inPlay, b.fixed, b.notes = map[string]*Tool{}, map[string]int{}, map[string]int{}, map[string]bool{}
	b.cache.SavedUSD = new(0.0)
}

// whole leaves out a last run that was suspended: it continues, and its next end counts
// all of it.
func whole(runs []event.RunEnd) []event.RunEnd {
	if n := len(runs); n > 0 && runs[n-1].Reason == event.Suspended {
		return runs[:n-1]
	}
	return runs
}

func (b *Book) tool(name string) *Tool {
	if b.tools[name] == nil {
		b.tools[name] = &Tool{Name: name, USD: new(0.0)}
	}
	return b.tools[name]
}

// noteTools takes note of the tools that are described in the next request.
func (b *Book) noteTools() {
	clear(b.fixed)
	for i := range b.transcript.Tools {
		b.fixed[b.transcript.Tools[i].Name] = modelcall.ToolTokens(b.transcript.Tools[i])
	}
}

// weigh measures the conversation again once it is shorter.
func (b *Book) weigh() {
	clear(b.inPlay)
	callers := map[string]string{}
	for _, m := range b.transcript.Messages {
		b.inPlay[""] += 4
		for _, c := range m.Content {
			caller := ""
			switch c := c.(type) {
			case llm.ToolUse:
				callers[c.ID] = c.Name
			case llm.ToolResult:
				caller = callers[c.ID]
			}
			b.inPlay[caller] += modelcall.Tokens(llm.Blocks{c})
		}
	}
}

// answered splits the input of a request among those who have filled it.
func (b *Book) answered(f event.AssistantMessage) {
	u := f.Response.Usage
	b.cache.Requests++
	b.cache.Input += u.Input
	b.cache.Read += u.CacheRead
	b.cache.Written += u.CacheWrite
	b.cache.Hour += u.CacheWriteHour
	price := b.state.Info(f.Model).Price
	if price == nil {
		b.cache.SavedUSD = nil
	} else if b.cache.SavedUSD != nil {
		b.cache.SavedUSD = sum(b.cache.SavedUSD, new(price.Cost(llm.Usage{Input: u.Context(), Output: u.Output})-price.Cost(u)))
	}
	total := tokens.Count(b.transcript.System)
	for _, n := range b.inPlay {
		total += n
	}
	for _, n := range b.fixed {
		total += n
	}
	if total == 0 {
		return
	}
	input := u
	input.Output, input.Reasoning = 0, 0
	for _, name := range names(b.fixed, b.inPlay) {
		n := b.fixed[name] + b.inPlay[name]
		if name == "" || n == 0 {
			continue
		}
		t := b.tool(name)
		t.Carried += n
		if price == nil {
			t.USD = nil
		} else if t.USD != nil {
			t.USD = sum(t.USD, new(price.Cost(input)*float64(n)/float64(total)))
		}
	}
}

func names(sets ...map[string]int) []string {
	var list []string
	for _, m := range sets {
		list = slices.AppendSeq(list, maps.Keys(m))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Cost returns the cost of the session, including an open run.
func (b *Book) Cost() Cost {
	c := Cost{USD: new(0.0), Cache: b.cache}
	runs := b.runs
	if end, open := b.state.SoFar(); open {
		runs = append(slices.Clip(whole(runs)), end)
	}
	models, agents := map[string]*Line{}, map[string]*Line{}
	for _, r := range runs {
		c.Prompts++
		c.Turns += r.Turns
		c.LostUSD = *sum(&c.LostUSD, &r.LostUSD)
		c.Usage = c.Usage.Add(r.Usage)
		c.USD = sum(c.USD, r.CostUSD)
		own := Line{Usage: r.Usage, USD: r.CostUSD}
		for name, s := range r.Models {
			enter(models, name, s.Usage, s.CostUSD)
		}
		for name, s := range r.Agents {
			enter(agents, name, s.Usage, s.CostUSD)
			own.Usage = less(own.Usage, s.Usage)
			if own.USD != nil && s.CostUSD != nil {
				own.USD = sum(own.USD, new(-*s.CostUSD))
			}
		}
		enter(agents, "", own.Usage, own.USD)
	}
	c.Models, c.Agents = sorted(models), sorted(agents)
	for _, t := range b.tools {
		tool := *t
		if tool.USD != nil {
			tool.USD = sum(tool.USD, &tool.Digests)
		}
		if tool.Name != "" {
			c.Tools = append(c.Tools, tool)
		}
	}
	slices.SortFunc(c.Tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(value(b.USD), value(a.USD)), cmp.Compare(b.Carried, a.Carried), strings.Compare(a.Name, b.Name))
	})
	return c
}

// Cache returns how the provider's prompt cache did.
func (b *Book) Cache() Cache { return b.cache }

// Context describes the next request, without asking the provider.
func (b *Book) Context() engine.ContextUsage {
	return b.state.ContextUsage(&b.transcript, func(text string) bool { return b.notes[text] }, 0, 0)
}

func enter(lines map[string]*Line, name string, u llm.Usage, usd *float64) {
	l := lines[name]
	if l == nil {
		l = &Line{Name: name, USD: new(0.0)}
		lines[name] = l
	}
	l.Usage, l.USD = l.Usage.Add(u), sum(l.USD, usd)
}

// sum adds amounts, of which nil is not known.
func sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	bounded := func(usd float64) float64 { return min(max(usd, -llmconst.MaxCost), llmconst.MaxCost) } // even in a damaged journal
	return new(bounded(*a) + bounded(*b))
}

// less returns u without v, and nothing less than 0.
func less(u, v llm.Usage) llm.Usage {
	return llm.Usage{Input: max(0, u.Input-v.Input), Output: max(0, u.Output-v.Output), CacheRead: max(0, u.CacheRead-v.CacheRead),
		CacheWrite: max(0, u.CacheWrite-v.CacheWrite), Reasoning: max(0, u.Reasoning-v.Reasoning), CacheWriteHour: max(0, u.CacheWriteHour-v.CacheWriteHour)}
}

func value(usd *float64) float64 {
	if usd == nil {
		return -1
	}
	return *usd
}

func sorted(lines map[string]*Line) []Line {
	var list []Line
	for _, l := range lines {
		list = append(list, *l)
	}
	slices.SortFunc(list, func(a, b Line) int {
		return cmp.Or(cmp.Compare(value(b.USD), value(a.USD)), cmp.Compare(b.Usage.Context(), a.Usage.Context()), strings.Compare(a.Name, b.Name))
	})
	return list
}
