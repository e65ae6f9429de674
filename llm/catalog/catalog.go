// Package catalog knows models: their windows, their prices with the date on which they
// were read, and the features that their APIs accept.
//
//	var table catalog.Table // knows the built-in models too
//	err := table.Register(catalog.Entry{Name: "my-model", Provider: "openai", Window: 32_768})
//	client := &openai.Client{Catalog: &table}
package catalog

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// An Entry describes a model. Only Name is required; zero fields are unknown,
// and false says that the model is not known to refuse anything.
type Entry struct {
	Name      string     `json:"name"`                 // as its provider knows it, without a date
	Provider  string     `json:"provider"`             // anthropic, openai …; "" stands for any
	Aliases   []string   `json:"aliases,omitempty"`    // other names of the model
	Window    int        `json:"window,omitempty"`     // context window in tokens
	MaxOutput int        `json:"max_output,omitempty"` // most output tokens of a reply
	Price     *llm.Price `json:"price,omitempty"`      // nil: unknown

	DisplayName string `json:"display_name,omitempty"` // for people; "": Name
	Description string `json:"description,omitempty"`  // for people, a line
	// Efforts are the words that change how much it thinks. Nil: by Thinking.
	Efforts []string `json:"efforts,omitempty"`
	// Fast: its provider offers it faster, at a higher price. Anthropic's were read at
	// platform.claude.com/docs/en/build-with-claude/fast-mode on 2026-11-21; Opus 4.8 loses
	// it on 2026-11-30.
	Fast bool `json:"fast,omitempty"`
	// FastFactor multiplies Price in fast mode, caches included; 0: unknown.
	FastFactor float64 `json:"fast_factor,omitempty"`

	// Thinking is how a request sets how much it thinks. none: not at all; budget: a number of
	// tokens, of 1,024 or more (Anthropic); adaptive: a word, and the model decides (Anthropic);
	// effort: a word (OpenAI). "": unknown.
	Thinking            string `json:"thinking,omitempty"`
	NoSamplers          bool   `json:"no_samplers,omitempty"`           // refuses a temperature other than 1
	NoForcedTool        bool   `json:"no_forced_tool,omitempty"`        // refuses a tool choice other than auto and none
	MaxCompletionTokens bool   `json:"max_completion_tokens,omitempty"` // OpenAI: wants this name for max_tokens
	NoImages            bool   `json:"no_images,omitempty"`             // reads no images
	NoPDF               bool   `json:"no_pdf,omitempty"`                // reads no PDF documents
	NoTools             bool   `json:"no_tools,omitempty"`              // calls no tools by itself; see llm/prompttools
	Formats             bool   `json:"formats,omitempty"`               // takes a JSON Schema for its answer, beside tools too

	// Edits is how it changes files best: replace (old text and new text) or patch (see the tool
	// ApplyPatch). "": by its name.
	Edits string `json:"edits,omitempty"`

	Source string `json:"source,omitempty"` // where the price was read
	Date   string `json:"date,omitempty"`   // and when: YYYY-MM-DD
}

// Info returns the [llm.Info] of e.
func (e Entry) Info() llm.Info {
	return llm.Info{Provider: e.Provider, Window: e.Window, MaxOutput: e.MaxOutput, Price: e.Price, Patches: e.patches(), Formats: e.Formats, ThinksInside: e.Thinking == llmconst.ThinkingBudget}
}

// FastPrice returns the price of e in fast mode, nil if that is not known.
func (e Entry) FastPrice() *llm.Price {
	if e.Price == nil || e.FastFactor == 0 {
		return nil
	}
	p, f := *e.Price, e.FastFactor
	p.CacheWriteHour = p.WriteHour()
	for _, v := range []*float64{&p.Input, &p.Output, &p.CacheRead, &p.CacheWrite, &p.CacheWriteHour} {
		*v *= f
	}
	return &p
}

// efforts are the words for how much a model is to think, the least first.
var efforts = []string{"low", "medium", "high", "max"}

// patches tells for models whose entry does not: those named gpt-… were trained on
// patches, but for gpt-4… and the open ones.
func (e Entry) patches() bool {
	if e.Edits != "" {
		return e.Edits == llmconst.EditsPatch
	}
	name := strings.ToLower(e.Name[strings.LastIndexByte(e.Name, '/')+1:])
	return strings.HasPrefix(name, "gpt-") && !strings.HasPrefix(name, "gpt-4") && !strings.Contains(name, "oss")
}

// check refuses entries that would make costs or limits wrong.
func (e Entry) check() error {
	if strings.TrimSpace(e.Name) == "" {
		return errors.New("a model needs a name")
	}
	if e.Edits != "" && e.Edits != llmconst.EditsReplace && e.Edits != llmconst.EditsPatch {
		return fmt.Errorf("model %s: edits is %q; it must be %s or %s", e.Name, e.Edits, llmconst.EditsReplace, llmconst.EditsPatch)
	}
	for _, word := range e.Efforts {
		if !slices.Contains(efforts, word) {
			return fmt.Errorf("model %s: there is no effort %q; there are %s", e.Name, word, strings.Join(efforts, ", "))
		}
	}
	if e.Window < 0 || e.MaxOutput < 0 {
		return fmt.Errorf("model %s: a number of tokens must not be negative", e.Name)
	}
	if e.FastFactor < 0 || math.IsNaN(e.FastFactor) || math.IsInf(e.FastFactor, 0) {
		return fmt.Errorf("model %s: the factor %v must be a number of at least 0", e.Name, e.FastFactor)
	}
	if e.Price == nil {
		return nil
	}
	p := *e.Price
	for _, v := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheWriteHour, p.LongInput, p.LongOutput} {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("model %s: the price %v must be a number of at least 0", e.Name, v)
		}
	}
	if p.LongAt < 0 || p.LongAt > 0 && (p.LongInput == 0 || p.LongOutput == 0) {
		return fmt.Errorf("model %s: a long context needs both factors", e.Name)
	}
	return nil
}

// A Table holds entries. It looks up missing ones in [Embedded]. The zero Table is ready to
// use, a nil one has the entries of Embedded; it is safe for concurrent use.
type Table struct {
	mu     sync.RWMutex
	byName map[string]Entry // by name and by alias
	sealed bool
}

//go:embed models.json
var models []byte

var embedded = sync.OnceValue(func() *Table {
	var list []Entry
	if err := json.Unmarshal(models, &list); err != nil {
		panic("catalog: models.json: " + err.Error())
	}
	t := &Table{}
	for _, e := range list {
		if err := t.Register(e); err != nil {
			panic("catalog: models.json: " + err.Error())
		}
	}
	t.sealed = true
	return t
})

// Embedded returns the table that comes with this package. It is shared and
// cannot be changed.
func Embedded() *Table { return embedded() }

// Register adds e, in the place of an entry of the same provider and name. It
// refuses an entry without a name or with an impossible number.
func (t *Table) Register(e Entry) error {
	if t == nil || t.sealed {
		return errors.New("registering a model: this table is read-only")
	}
	if err := e.check(); err != nil {
		return fmt.Errorf("registering a model: %w", err)
	}
	if e.Price != nil {
		price := *e.Price
		e.Price = &price
	}
	e.Aliases, e.Efforts = slices.Clone(e.Aliases), slices.Clone(e.Efforts)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]Entry{}
	}
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		t.byName[key(e.Provider, name)] = e
		if _, taken := t.byName[key("", name)]; !taken || t.byName[key("", name)].Provider == e.Provider {
			t.byName[key("", name)] = e
		}
	}
	return nil
}

func key(provider, name string) string { return provider + "\x00" + name }

// Lookup returns the entry of a model. An empty provider stands for any. The name is
// compared as it is, then without the suffix of a snapshot: a date (-20250929, -2025-04-14,
// @20250929, -0613) or -latest. Any other name is unknown: a price is never guessed from a
// similar name.
func (t *Table) Lookup(provider, name string) (Entry, bool) {
	for _, n := range []string{name, undated(name)} {
		for _, table := range []*Table{t, Embedded()} {
			if e, ok := table.get(provider, n); ok {
				return e, true
			}
		}
	}
	return Entry{}, false
}

func (t *Table) get(provider, name string) (Entry, bool) {
	if t == nil {
		return Entry{}, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.byName[key(provider, name)]
	if !ok { // one of no provider stands for any
		e, ok = t.byName[key("", name)]
		ok = ok && e.Provider == ""
	}
	return e, ok
}

// undated returns name without the suffix of a snapshot.
func undated(name string) string {
	if base, ok := strings.CutSuffix(name, "-latest"); ok {
		return base
	}
	for _, shape := range []string{"-0000-00-00", "-00000000", "@00000000", "-0000"} {
		if cut := len(name) - len(shape); cut > 0 && shapeOf(name[cut:]) == shape {
			return name[:cut]
		}
	}
	return name
}

// shapeOf returns s with each digit replaced by 0.
func shapeOf(s string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '0'
		}
		return r
	}, s)
}

// Entries returns every entry of t and, where t does not replace it, of
// [Embedded], ordered by provider and name.
func (t *Table) Entries() []Entry {
	all := map[string]Entry{}
	for _, table := range []*Table{Embedded(), t} {
		if table == nil {
			continue
		}
		table.mu.RLock()
		for _, e := range table.byName {
			all[key(e.Provider, e.Name)] = e
		}
		table.mu.RUnlock()
	}
	var list []Entry
	for _, k := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[k])
	}
	return list
}
