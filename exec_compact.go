package agent

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// A Compaction says when and how a conversation is made shorter that comes near the end
// of the model's context window. First old results of tools are cleared, without a
// model; where that is not enough a model summarises all but the newest messages. The
// user's pending request, what was told of the place, the list of steps and the names of
// the files stay. Everything stays on record. Nil and zero fields are the defaults.
type Compaction struct {
	Off     bool      // never by itself, and not when the provider finds a request too long
	At      float64   // share of the window from which on, if that is earlier than the reserve
	Reserve int       // tokens of the window to keep free; 0: 10,000, or MaxTokens if that is more
	Keep    int       // tokens of the newest messages that a summary leaves as they are; 0: 20,000
	Protect int       // newest tokens of results that are not cleared; 0: 40,000
	Model   llm.Model // that writes summaries; nil: the one in use, which has most of the conversation cached
}

func (c *Compaction) configured() *event.Compaction {
	if c == nil {
		return nil
	}
	out := event.Compaction{Off: c.Off, At: c.At, Reserve: c.Reserve, Keep: c.Keep, Protect: c.Protect}
	if c.Model != nil {
		out.Model = c.Model.Name()
	}
	return &out
}

func (c *Compaction) check() error {
	if c != nil && (c.At < 0 || c.At > 1 || c.At != c.At || c.Reserve < 0 || c.Keep < 0 || c.Protect < 0) {
		return errors.New("Compaction has a negative number, or an At beyond 1")
	}
	return nil
}

// Compact has the conversation summarised. The instructions say what matters, "" for
// nothing in particular. Without a run that goes on it waits for the end of it, which is
// a run of its own in the session's record and can be resumed like any other; an
// [*EndError] says why nothing has become shorter. A session whose run is suspended is
// not compacted ([ErrSuspended]): its question would be lost. Else it returns once the wish is on
// record: it is fulfilled before the next call of the model.
func (s *Session) Compact(ctx context.Context, instructions string) error {
	in := Input{ID: session.NewID(), Text: instructions, Compact: true}
	for {
		err := s.withRun(ctx, func(l *activeRun) error { return l.commitHost(in.compactRequest()) })
		if !errors.Is(err, ErrNotRunning) {
			return err
		}
		if _, err = s.Do(ctx, in); !errors.Is(err, ErrBusy) {
			return err
		}
	}
}

func (in Input) compactRequest() event.CompactionRequested {
	return event.CompactionRequested{ID: cmp.Or(in.ID, session.NewID()), Instructions: in.Text}
}

// compactPrompt asks for a summary.
//
//go:embed compact.md
var compactPrompt string

const (
	maxInstructions = 10_000   // bytes of what hooks say of a summary
	maxMemory       = 4000 * 3 // bytes of all that is remembered
	maxMemoryItem   = 500      // bytes
	maxNotedFiles   = 60
	maxNotedSteps   = 60
	maxNotedSkills  = 24 << 10 // bytes
)

// shortening is what a compaction works on.
type shortening struct {
	engine.SummaryPlan
	request *llm.Request
	notes   string
}

// shorten prepares a compaction.
func (f *sessionState) shorten(e engine.Compact) *shortening {
	t := &f.transcript
	s := &shortening{SummaryPlan: t.Shorten(e), notes: f.notes()}
	var ask strings.Builder
	ask.WriteString(strings.TrimSpace(compactPrompt))
	if len(s.Memory) > 0 {
		ask.WriteString("\n\nOn the list of memory already:")
		for _, m := range s.Memory {
			ask.WriteString("\n- " + m)
		}
	}
	if e.Instructions != "" {
		ask.WriteString("\n\nThe user says of this summary: " + e.Instructions)
	}
	if e.Wishes != "" {
		ask.WriteString("\n\nA hook says of this summary: " + e.Wishes)
	}
	if e.Again {
		fmt.Fprintf(&ask, "\n\nThe last try was too long and was cut off. Write at most %d words in all, and come to the end: what is to be done next matters more than how it came to this.", e.MaxTokens/2)
	}
	// Providers have what came before in their caches only while the request is as those
	// for answers are, the choice of tools and the thinking included.
	r := f.request(engine.CallModel{MaxTokens: e.MaxTokens})
	r.Messages = append(slices.Clip(s.Request), llm.UserText(ask.String()))
	r.Thinking, r.Format, r.Stop, r.Temperature, r.Memo = e.Thinking, nil, nil, nil, nil
	if (e.Less > 0 || r.ToolChoice.Mode != llm.ChooseAuto) && len(r.Tools) > 0 {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ChooseNone}
	}
	s.request = r
	return s
}

// notes say how things stand beside what was said: the list of steps, files, skills.
func (f *sessionState) notes() string {
	var parts []string
	if steps := stepsOf(f.transcript.Slot("todos")); steps != "" {
		parts = append(parts, "The list of steps, as it is now:\n"+steps)
	}
	if files := slices.Sorted(maps.Keys(f.transcript.Slot("files"))); len(files) > 0 {
		more := ""
		if n := len(files) - maxNotedFiles; n > 0 {
			files, more = files[:maxNotedFiles], fmt.Sprintf("\n- and %d more", n)
		}
		parts = append(parts, "Files that were read or changed in this session; read again what you need of them:\n- "+strings.Join(files, "\n- ")+more)
	}
	told := f.transcript.Skills()
	for _, sc := range f.state.Scopes() {
		text := ""
		for _, b := range told {
			if b.Name == sc.Skill {
				text = b.Text
			}
		}
		if text != "" && len(text) <= maxNotedSkills {
			parts = append(parts, fmt.Sprintf("The skill %s is in force:\n<skill>\n%s\n</skill>", sc.Skill, text))
		} else {
			parts = append(parts, fmt.Sprintf("The skill %s is in force.", sc.Skill))
		}
	}
	return strings.Join(parts, "\n\n")
}

// stepsOf lists what the tools of steps keep in their slot.
func stepsOf(slot map[string]json.RawMessage) string {
	var steps []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	if json.Unmarshal(slot["todos"], &steps) != nil {
		return ""
	}
	var lines []string
	for i, step := range steps {
		if i == maxNotedSteps {
			lines = append(lines, fmt.Sprintf("- and %d more", len(steps)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("- [%s] %s", step.Status, unmarked(text.OneLine(step.Content))))
	}
	return strings.Join(lines, "\n")
}

// compact has the conversation summarised.
func (x *executor) compact(ctx context.Context, e engine.Compact, j *effectInput) event.Fact {
	start := time.Now()
	f := event.Compacted{Key: e.Key(), Trigger: e.Trigger, Instructions: e.Instructions, Before: e.Before, After: e.Before}
	if j.short.Until == 0 {
		f.Failed = engine.NothingToCompact
		return f
	}
	if j.model == nil {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.NotFound, Message: fmt.Sprintf("the agent has no model %q", e.Model)}
	}
	var res *llm.Response
	streamed, first := 0, false
	for d, err := range j.model.Stream(ctx, j.short.request) {
		if err != nil {
			failed := x.failure(engine.CallModel{Model: e.Model, Tries: e.Tries}, err)
			failed.Key, failed.Duration = e.Key(), time.Since(start)
			if first {
				failed.Usage = llm.Usage{Input: j.short.request.Estimate(), Output: (streamed + 3) / 4}
				failed.CostUSD = cost(llm.InfoOf(j.model).Price, failed.Usage)
			}
			return failed
		}
		first = true
		streamed += len(d.Text)
		if d.Done != nil {
			res = d.Done
		}
	}
	if res == nil {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.Truncated, Message: "the stream ended without a final event", Duration: time.Since(start)}
	}
	text := res.Message.Text()
	f.Model, f.Usage, f.CostUSD, f.Duration = e.Model, res.Usage, cost(llm.InfoOf(j.model).Price, res.Usage), time.Since(start)
	if res.Stop == llm.Overflow {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.TooLong, Message: "the context window is full before the summary is whole", Usage: f.Usage, CostUSD: f.CostUSD, Duration: f.Duration}
	}
	summary, memory, whole := parseSummary(x.secrets.text(text))
	f.Cut = res.Stop == llm.MaxTokens && !whole
	switch {
	case len(res.Message.ToolUses()) > 0 && !strings.Contains(text, "<summary>"): // what it says is of the call
		f.Failed = "the model has called a tool instead of summarising"
		return f
	case res.Stop == llm.Refusal:
		f.Failed = "the model refused to summarise"
		return f
	case f.Cut && !e.Again:
		f.Failed = "the summary was cut off at max_tokens"
		return f
	case summary == "":
		f.Failed = "the summary is empty"
		return f
	}
	f.Summary, f.Memory, f.Notes = summary, remember(j.short.Memory, memory), j.short.notes
	f.Until, f.Kept, f.Cleared = j.short.Until, j.short.Kept, j.short.Cleared
	before, after := j.short.Tokens(f)
	if after >= before {
		return event.Compacted{Key: f.Key, Trigger: f.Trigger, Instructions: f.Instructions, Before: f.Before, After: f.Before, Model: f.Model, Usage: f.Usage, CostUSD: f.CostUSD, Duration: f.Duration, Cut: f.Cut,
			Failed: "the summary is no shorter than what it would stand for"}
	}
	f.After = int(float64(e.Fixed+after) * e.Scale)
	return f
}

// parseSummary takes a model's answer apart. What has no marks is all summary. It is
// whole where the end of the summary is marked.
func parseSummary(answer string) (summary string, memory []string, whole bool) {
	rest, list, ended := cutPart(answer, "memory")
	if before, after, ok := strings.Cut(list, "<summary>"); ok && !ended {
		rest, list, ended = rest+"<summary>"+after, before, true
	}
	lines := strings.Split(list, "\n")
	if !ended { // of the last one only a part may be there, which may say the opposite
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines {
		line = unmarked(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*• ")))
		if line == "" || strings.EqualFold(line, "none") || strings.EqualFold(line, "(none)") {
			continue
		}
		memory = append(memory, text.Bytes(line, maxMemoryItem))
	}
	rest, inner, whole := cutPart(rest, "summary")
	if inner == "" {
		inner = rest
	}
	return unmarked(strings.TrimSpace(inner)), memory, whole
}

// cutPart returns what is between the marks of a name, and the text without it. The end
// may not be marked.
func cutPart(text, name string) (rest, part string, ended bool) {
	before, after, ok := strings.Cut(text, "<"+name+">")
	if !ok {
		return text, "", false
	}
	part, after, ended = strings.Cut(after, "</"+name+">")
	return before + after, strings.TrimSpace(part), ended
}

// marks are those between which a compaction puts what was written.
var marks = strings.NewReplacer("<summary>", "‹summary>", "</summary>", "‹/summary>", "<memory>", "‹memory>", "</memory>", "‹/memory>")

// unmarked returns a text without marks, for between some.
func unmarked(text string) string { return marks.Replace(text) }

// remember adds to what is remembered what is new. The oldest is forgotten first.
func remember(old, more []string) []string {
	all := slices.Clone(old)
	for _, m := range more {
		if !slices.ContainsFunc(all, func(a string) bool { return strings.EqualFold(a, m) }) {
			all = append(all, m)
		}
	}
	size := 0
	for _, m := range all {
		size += len(m) + 3
	}
	for len(all) > 0 && size > maxMemory {
		size -= len(all[0]) + 3
		all = all[1:]
	}
	return all
}
