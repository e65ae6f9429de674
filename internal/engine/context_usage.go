package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/tokens"
	"github.com/openagent-go/agent/llm"
)

// ContextUsage describes the content of the next request to the model.
type ContextUsage struct {
	Model   string `json:"model"`
	Window  int    `json:"window"` // tokens that the model reads
	Assumed bool   `json:"window_assumed,omitempty"`
	Tokens  int    `json:"tokens"` // of the request; the categories sum up to it
	// Counted says who counted them.
	Counted    Counting       `json:"counted"`
	Off        int            `json:"off_percent"` // by how much Tokens may be wrong
	Categories []ContextShare `json:"categories"`
	Reserve    int            `json:"reserve"`            // for the answer, within the window
	Free       int            `json:"free"`               // the rest of the window
	Deferred   ContextShare   `json:"deferred,omitzero"`  // tools that are not sent until they are found
	Heaviest   []ContextShare `json:"heaviest,omitempty"` // tools by their descriptions and results, at most ten
}

// A ContextShare is a part of a request.
type ContextShare struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Count  int    `json:"count"` // tools, messages or blocks
}

// A Counting is a way in which tokens were counted.
type Counting string

const (
	ByProvider Counting = "provider" // its end point has counted this very request
	ByUsage    Counting = "usage"    // the last answer's count, and an estimate of everything after it
	ByEstimate Counting = "estimate" // an estimate only
)

// Categories of a request, in the order in which they are shown.
const (
	InSystem       = "system"
	InTools        = "tools"
	InMCP          = "mcp"
	InSkills       = "skills"
	InAgents       = "agents"
	InInstructions = "instructions" // AGENTS.md and other notes about the place
	InFiles        = "files"        // contents of read files, attachments
	InResults      = "results"      // of other tools
	InThinking     = "thinking"
	InMessages     = "messages" // texts of user and model, calls
)

var categories = []string{InSystem, InTools, InMCP, InSkills, InAgents, InInstructions, InFiles, InResults, InThinking, InMessages}

// A weighing adds up the estimated parts of a request.
type weighing struct {
	shares map[string]*ContextShare
	tools  map[string]*ContextShare
}

func (w *weighing) add(category string, tokens int) {
	s := w.shares[category]
	s.Tokens += tokens
	s.Count++
}

func (w *weighing) heavy(name string, tokens int) {
	if w.tools[name] == nil {
		w.tools[name] = &ContextShare{Name: name}
	}
	w.tools[name].Tokens += tokens
	w.tools[name].Count++
}

// categoryOf sorts a tool by its name.
func categoryOf(tool string) string {
	switch {
	case strings.HasPrefix(tool, "mcp__"):
		return InMCP
	case tool == "Skill":
		return InSkills
	case tool == "Agent" || tool == "Task":
		return InAgents
	}
	return InTools
}

// reads are the tools whose results are parts of files.
var reads = []string{"Read", "NotebookRead", "ReadMcpResource"}

// ContextUsage describes the content of the next request. note reports whether a text is a
// note about the place. total is the provider's count of the request, fixed that of its
// tools and system prompt. Both are 0 if the provider was not asked.
func (s *State) ContextUsage(t *Transcript, note func(text string) bool, total, fixed int) ContextUsage {
	model := s.Model()
	info := s.settings.info(model)
	w := weighing{shares: map[string]*ContextShare{}, tools: map[string]*ContextShare{}}
	for _, name := range categories {
		w.shares[name] = &ContextShare{Name: name}
	}
	if t.System != "" {
		w.add(InSystem, 3+tokens.Count(t.System))
	}
	for i := range t.Tools {
		tokens := modelcall.ToolTokens(t.Tools[i])
		w.add(categoryOf(t.Tools[i].Name), tokens)
		w.heavy(t.Tools[i].Name, tokens)
	}
	if len(t.Tools) > 0 && strings.Contains(model, "claude") {
		w.shares[InTools].Tokens += tokens.ClaudeTools
	}
	said := w.sum()
	calls := map[string]string{}
	for _, m := range t.Messages {
		w.message(m, calls, note)
	}
	u := ContextUsage{Model: model, Counted: ByEstimate, Off: 30}
	u.Window, u.Assumed = info.Room()
	u.Tokens = w.sum()
	switch estimate := u.Tokens; {
	case total > 0:
		u.Tokens, u.Counted, u.Off = total, ByProvider, 0
		if fixed > 0 && fixed < total {
			w.scale(func(name string) bool { return isFixed(name) }, said, fixed)
			w.scale(func(name string) bool { return !isFixed(name) }, estimate-said, total-fixed)
			break
		}
		w.scale(nil, estimate, total)
	case s.context.size.model == model && s.context.size.counted > 0 && estimate > 0:
		u.Tokens, u.Counted = s.context.size.counted+s.context.size.added*3/4, ByUsage // the estimate of the new parts is high
		u.Off = min(30, 2+30*s.context.size.added*3/4/max(u.Tokens, 1))
		w.scale(nil, estimate, u.Tokens)
	}
	for _, name := range categories {
		if c := w.shares[name]; c.Count > 0 || c.Tokens > 0 {
			u.Categories = append(u.Categories, *c)
		}
	}
	u.round()
	for _, tool := range t.tools {
		if tool.Deferred && !slices.Contains(t.enabled, tool.Name) {
			u.Deferred.Name = "deferred"
			u.Deferred.Count++
			u.Deferred.Tokens += modelcall.ToolTokens(tool.Tool)
		}
	}
	for _, h := range w.tools {
		u.Heaviest = append(u.Heaviest, *h)
	}
	slices.SortFunc(u.Heaviest, func(a, b ContextShare) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), strings.Compare(a.Name, b.Name))
	})
	u.Heaviest = u.Heaviest[:min(len(u.Heaviest), 10)]
	if u.Window > 0 {
		u.Reserve = min(max(s.settings.cfg.MaxTokens, 10_000), u.Window/2)
		if info.MaxOutput > 0 {
			u.Reserve = min(u.Reserve, max(info.MaxOutput, 10_000))
		}
		u.Free = max(0, u.Window-u.Reserve-u.Tokens)
	}
	return u
}

func isFixed(category string) bool {
	return slices.Contains([]string{InSystem, InTools, InMCP, InSkills, InAgents}, category)
}

func (w *weighing) sum() int {
	n := 0
	for _, s := range w.shares {
		n += s.Tokens
	}
	return n
}

// scale makes the shares that are meant sum up to another number than they do.
func (w *weighing) scale(meant func(string) bool, from, to int) {
	if from <= 0 {
		return
	}
	for name, s := range w.shares {
		if meant == nil || meant(name) {
			s.Tokens = s.Tokens * to / from
		}
	}
	if meant == nil {
		for _, s := range w.tools {
			s.Tokens = s.Tokens * to / from
		}
	}
}

// round adds the remainder of the division to the largest share.
func (u *ContextUsage) round() {
	sum, largest := 0, 0
	for i, c := range u.Categories {
		sum += c.Tokens
		if c.Tokens > u.Categories[largest].Tokens {
			largest = i
		}
	}
	if len(u.Categories) > 0 {
		u.Categories[largest].Tokens += u.Tokens - sum
	}
}

// message adds a message. calls are the names of tools by the id of the call.
func (w *weighing) message(m llm.Message, calls map[string]string, note func(string) bool) {
	category := InMessages
	if m.Role == llm.User && note != nil && note(m.Text()) {
		category = InInstructions
	}
	first := true
	for _, b := range m.Content {
		tokens := modelcall.Tokens(llm.Blocks{b})
		if first {
			tokens, first = tokens+4, false
		}
		switch b := b.(type) {
		case llm.Thinking, llm.RedactedThinking:
			w.add(InThinking, tokens)
		case llm.Image, llm.Document:
			w.add(InFiles, tokens)
		case llm.ToolUse:
			calls[b.ID] = b.Name
			w.add(InMessages, tokens)
		case llm.ToolResult:
			name := cmp.Or(calls[b.ID], "unknown")
			w.heavy(name, tokens)
			if slices.Contains(reads, name) {
				w.add(InFiles, tokens)
			} else {
				w.add(InResults, tokens)
			}
		default:
			w.add(category, tokens)
		}
	}
}

// IsNote returns a function that tells notes about the place from other texts, using the
// facts of a session.
func IsNote(facts func(yield func(event.Event) bool)) func(text string) bool {
	notes := map[string]bool{}
	for e := range facts {
		if f, ok := e.Data.(event.UserMessage); ok && f.Delivery == fact.AsContext {
			notes[f.Message.Text()] = true
		}
	}
	return func(text string) bool { return notes[text] }
}
