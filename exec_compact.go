package agent

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/summary"
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

const maxInstructions = 10_000 // bytes of what hooks say of a summary

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
	// Providers have what came before in their caches only while the request is as those
	// for answers are, the choice of tools and the thinking included.
	r := f.request(engine.CallModel{MaxTokens: e.MaxTokens})
	r.Messages = append(slices.Clip(s.Request), llm.UserText(summary.Prompt(e, s.Memory)))
	r.Thinking, r.Format, r.Stop, r.Temperature, r.Memo = e.Thinking, nil, nil, nil, nil
	if (e.Less > 0 || r.ToolChoice.Mode != llm.ChooseAuto) && len(r.Tools) > 0 {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ChooseNone}
	}
	s.request = r
	return s
}

// notes say how things stand beside what was said: the list of steps, files, skills.
func (f *sessionState) notes() string {
	var skills []engine.ActiveSkill
	told := f.transcript.Skills()
	for _, sc := range f.state.Scopes() {
		skill := engine.ActiveSkill{Name: sc.Skill}
		for _, b := range told {
			if b.Name == sc.Skill {
				skill.Text = b.Text
			}
		}
		skills = append(skills, skill)
	}
	return summary.Notes(f.transcript.Slot("todos"), f.transcript.Slot("files"), skills)
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
	said, memory, whole := summary.Parse(x.secrets.Text(text))
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
	case said == "":
		f.Failed = "the summary is empty"
		return f
	}
	f.Summary, f.Memory, f.Notes = said, summary.Remember(j.short.Memory, memory), j.short.notes
	f.Until, f.Kept, f.Cleared = j.short.Until, j.short.Kept, j.short.Cleared
	before, after := j.short.Tokens(f)
	if after >= before {
		return event.Compacted{Key: f.Key, Trigger: f.Trigger, Instructions: f.Instructions, Before: f.Before, After: f.Before, Model: f.Model, Usage: f.Usage, CostUSD: f.CostUSD, Duration: f.Duration, Cut: f.Cut,
			Failed: "the summary is no shorter than what it would stand for"}
	}
	f.After = int(float64(e.Fixed+after) * e.Scale)
	return f
}
