package engine_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

var update = flag.Bool("update", false, "write what the scenarios come to into their files")

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestScenarios runs testdata/*.txtar. A scenario has two files: "script", a fact a line in
// the words of [world.do], and "want", the result of each.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(a.Files[0].Data))
			if *update {
				a.Files = []txtar.File{a.Files[0], {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) < 2 || got != string(a.Files[1].Data) {
				t.Errorf("came to:\n%s\n(-update accepts it)", got)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	w := &world{t: t, wanted: map[string]bool{}}
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fmt.Fprintf(&w.out, "> %s\n", line)
		w.do(strings.Fields(line))
		w.show()
	}
	return w.out.String()
}

// A world is a driver without a world: the script says what happens.
type world struct {
	t          *testing.T
	state      engine.State
	transcript engine.Transcript
	seq        int64
	time       time.Duration
	facts      []event.Event
	wanted     map[string]bool // keys that were wanted at some time
	input      int             // tokens of requests; 0: 100
	answers    int64           // number of the last answer
	out        strings.Builder
}

func (w *world) happen(f event.Fact) bool {
	w.seq++
	e := event.Event{Seq: w.seq, Prev: w.seq - 1, Time: epoch.Add(w.time), Data: f}
	w.facts = append(w.facts, e)
	counted := w.state.Apply(e)
	if counted {
		w.transcript.Apply(e)
		if _, ok := f.(event.AssistantMessage); ok {
			w.answers = w.seq
		}
	}
	return counted
}

// show lets the engine draw its own conclusions and writes the wanted effects.
func (w *world) show() {
	for {
		effects := w.state.Effects()
		if len(effects) == 0 {
			fmt.Fprintf(&w.out, "  (closed)\n")
			return
		}
		r, ok := effects[0].(engine.Record)
		if !ok {
			for _, e := range effects {
				if !slices.ContainsFunc(engine.EffectTypes(), func(x engine.Effect) bool { return reflect.TypeOf(x) == reflect.TypeOf(e) }) {
					w.t.Errorf("the table of effects lacks %T", e)
				}
				fmt.Fprintf(&w.out, "  %s%s\n", e.Key(), detail(e))
			}
			return
		}
		for _, f := range r.Facts {
			if !w.happen(f) {
				w.t.Fatalf("the engine wants a fact recorded that it ignores: %+v", f)
			}
			fmt.Fprintf(&w.out, "  + %s\n", brief(f))
		}
	}
}

func detail(e engine.Effect) string {
	switch e := e.(type) {
	case engine.CheckOutput:
		return strings.TrimRight(" check "+e.Call, " ")
	case engine.Digest:
		return fmt.Sprintf(" %s max=%d reserved=%.4f", e.Model, e.MaxTokens, e.ReservedUSD)
	case engine.CallModel:
		return fmt.Sprintf(" %s max=%d reserved=%.4f tries=%d", e.Model, e.MaxTokens, e.ReservedUSD, e.Tries)
	case engine.Compact:
		return strings.TrimRight(fmt.Sprintf(" %s %s max=%d reserved=%.4f before=%d keep=%d less=%d room=%d %s", e.Trigger, e.Model, e.MaxTokens, e.ReservedUSD, e.Before, e.Keep, e.Less, e.Room, e.Instructions), " ")
	case engine.Cut:
		return fmt.Sprintf(" target=%d bytes=%t first=%t last=%t", e.Target, e.Bytes, e.First, e.Last)
	case engine.CallHooks:
		return strings.TrimRight(fmt.Sprintf(" %s %s%s %v", e.Event, e.Call, e.Message, e.Fields), " ")
	case engine.Wait:
		return fmt.Sprintf(" until %v", e.Until.Sub(epoch))
	case engine.Authorize:
		return strings.TrimRight(fmt.Sprintf(" %s %s %s", e.Mode, e.Dir, e.Guard), " ")
	}
	return ""
}

func brief(f event.Fact) string {
	switch f := f.(type) {
	case event.ToolResult:
		return fmt.Sprintf("tool_result %s %s %q", f.Call, f.Cause, f.Result.Text())
	case fact.Delivered:
		return fmt.Sprintf("delivered %v", f.IDs)
	case event.UserMessage:
		return fmt.Sprintf("user_message %s %q", f.Delivery, f.Message.Text())
	case event.Compacted:
		s := fmt.Sprintf("compacted %s %d to %d", f.Trigger, f.Before, f.After)
		for _, c := range f.Cleared {
			s += " " + c.Call
			if c.Call == "" {
				s += fmt.Sprintf("[%d.%d]", c.Fact, c.Index)
			}
			if c.Keep > 0 {
				s += fmt.Sprintf(":%d", c.Keep)
			}
		}
		if f.Failed != "" {
			s += fmt.Sprintf(" failed=%q", f.Failed)
		}
		return s
	case event.RunEnd:
		s := fmt.Sprintf("run_end %s turns=%d text=%q", f.Reason, f.Turns, f.Text)
		if f.Output != nil {
			s += " output=" + string(f.Output)
		}
		if f.CostUSD != nil {
			s += fmt.Sprintf(" usd=%.4f", *f.CostUSD)
		}
		if f.Message != "" {
			s += fmt.Sprintf(" message=%q", f.Message)
		}
		if f.Partial != "" {
			s += fmt.Sprintf(" partial=%q", f.Partial)
		}
		if len(f.Queued) > 0 {
			s += fmt.Sprintf(" queued=%v", f.Queued)
		}
		return s
	}
	return event.Type(f)
}

// do makes the fact that a line of a script stands for.
func (w *world) do(words []string) {
	verb, args := words[0], words[1:]
	if len(args) > 0 && strings.HasPrefix(args[0], "@") { // a call of the last answer
		args[0] = fmt.Sprintf("c%d.%s", w.answers, args[0][1:])
	}
	rest := strings.Join(args, " ")
	key := func(kind string) string { return w.key(kind, "") }
	switch verb {
	case "config":
		w.must(w.happen(config(w.t, rest)))
	case "prompt", "steer", "follow_up", "notice", "context":
		if long, ok := strings.CutPrefix(args[len(args)-1], "long="); ok { // so many tokens
			n, err := strconv.Atoi(long)
			w.check(err)
			args[len(args)-1] = strings.Repeat("abc", n)
		}
		w.report(w.happen(event.UserMessage{ID: args[0], Delivery: event.Delivery(verb), Message: llm.UserText(strings.Join(args[1:], " "))}))
	case "retract":
		w.report(w.happen(fact.Retracted{IDs: args}))
	case "start": // everything that has an intent
		for _, e := range w.state.Effects() {
			if f := e.Intent(); f != nil {
				w.happen(f)
			}
		}
	case "say": // say STOP TEXT
		w.answer(llm.StopReason(args[0]), llm.Text{Text: strings.Join(args[1:], " ")})
	case "call": // call STOP NAME=INPUT ...
		var blocks []llm.Block
		for i, a := range args[1:] {
			name, input, _ := strings.Cut(a, "=")
			u := llm.ToolUse{ID: "t" + strconv.Itoa(i), Name: name, Input: json.RawMessage("{}")}
			if input == "!" {
				u.Invalid = `{"a`
			} else if input != "" {
				u.Input = json.RawMessage(input)
			}
			blocks = append(blocks, u)
		}
		w.answer(llm.StopReason(args[0]), blocks...)
	case "fail", "break": // fail CLASS [retry SECONDS]; break is the same within the answer
		f := event.ModelFailed{Key: cmp.Or(key("model"), key("compact")), Model: w.state.Model(), Class: llm.Class(args[0]), Message: "it failed", Partial: "part"}
		if verb == "break" {
			f.Usage, f.CostUSD = llm.Usage{Output: 1}, new(0.001)
		}
		if len(args) > 1 {
			n, err := strconv.Atoi(args[2])
			w.check(err)
			f.Retry, f.RetryAt = true, epoch.Add(w.time+time.Duration(n)*time.Second)
		}
		w.report(w.happen(f))
	case "clock": // clock SECONDS: the wall clock jumps
		n, err := strconv.Atoi(args[0])
		w.check(err)
		w.time += time.Duration(n) * time.Second
	case "sleep": // until the first wait of the kind is over
		for _, e := range w.state.Effects() {
			if e, ok := e.(engine.Wait); ok && strings.HasPrefix(e.Key(), args[0]) {
				w.time = e.Until.Sub(epoch)
				w.happen(fact.Waited{Key: e.Key()})
				return
			}
		}
		w.t.Fatalf("nothing to wait for: %v", args)
	case "judge": // judge CALL BEHAVIOR [ro] [touches=a,b]
		f := fact.Authorized{Key: w.key("authorize", args[0]), Call: args[0], Decision: permission.Decision{Behavior: permission.Behavior(args[1]), Reason: "because"}}
		for _, a := range args[2:] {
			switch {
			case a == "ro":
				f.Class.ReadOnly = true
			case strings.HasPrefix(a, "touches="):
				f.Class.Touches = strings.Split(a[8:], ",")
			case strings.HasPrefix(a, "stop="):
				f.Stop = a[5:]
			case strings.HasPrefix(a, "invalid="):
				f.Invalid = a[8:]
			}
		}
		w.report(w.happen(f))
	case "decide": // decide CALL BEHAVIOR [SOURCE]
		d := permission.Decision{Behavior: permission.Behavior(args[1]), Reason: "because"}
		if len(args) > 2 {
			d.Source = permission.Source(args[2])
		}
		w.report(w.happen(fact.Answered{Key: w.key("ask", args[0]), Call: args[0], Decision: d}))
	case "done": // done CALL [mode=M] [dir=D] [end] [text=T] [fault=F] [stop=S]
		f := event.ToolResult{Key: w.key("tool", args[0]), Call: args[0], Result: *tool.Text("ok " + args[0])}
		if k := w.key("hooks", args[0]); k != "" {
			f.Key = k
		}
		for _, a := range args[1:] {
			name, value, _ := strings.Cut(a, "=")
			switch name {
			case "mode":
				f.Result.Patch.Mode = permission.Mode(value)
			case "dir":
				f.Result.Patch.Dir = value
			case "end":
				f.Result.Patch.EndRun = true
			case "long": // so many tokens of output
				n, err := strconv.Atoi(value)
				w.check(err)
				f.Result = *tool.Text(strings.Repeat("abc", n))
			case "text":
				f.Result = *tool.Text(value)
			case "error":
				f.Result.IsError = true
			case "fault":
				f.Fault = toolrun.Fault(value)
			case "stop":
				f.Stop = value
			case "denied":
				f.Cause = fact.ByDenial
			}
		}
		w.report(w.happen(f))
	case "wish": // wish ID INSTRUCTIONS: a user asks for a compaction
		w.report(w.happen(fact.CompactionRequested{ID: args[0], Instructions: strings.Join(args[1:], " ")}))
	case "summary": // summary [failed=WHY] [large=TOKENS] TEXT: the result of a compaction
		w.summary(args)
	case "cut": // the result of a truncation
		w.cut()
	case "tokens": // tokens N: of the next answers, as the provider counts
		n, err := strconv.Atoi(args[0])
		w.check(err)
		w.input = n
	case "gather": // gather CALL: the result of a batch
		f := event.ToolResult{Key: w.key("gather", args[0]), Call: args[0], Result: w.transcript.Gather(args[0])}
		w.report(w.happen(f))
	case "hooked": // hooked EVENT [block=WHY] [stop=WHY]: the answer of the hooks that are wanted first
		f := fact.Hooked{Event: hook.Event(args[0])}
		for _, e := range w.state.Effects() {
			if e, ok := e.(engine.CallHooks); ok && e.Event == f.Event && f.Key == "" {
				f.Key, f.Message = e.Key(), e.Message
			}
		}
		for _, a := range args[1:] {
			switch name, value, _ := strings.Cut(a, "="); name {
			case "block":
				f.Block = value
			case "stop":
				f.Stop = value
			}
		}
		w.report(w.happen(f))
	case "checked": // checked [CALL] OUTPUT or !PROBLEM
		f := fact.OutputChecked{Problem: strings.TrimPrefix(args[len(args)-1], "!")}
		if f.Problem == args[len(args)-1] {
			f.Output, f.Problem = json.RawMessage(f.Problem), ""
		}
		for _, e := range w.state.Effects() {
			if e, ok := e.(engine.CheckOutput); ok && f.Key == "" && (len(args) == 1 || e.Call == args[0]) {
				f.Key, f.Call = e.Key(), e.Call
			}
		}
		w.report(w.happen(f))
	case "keep": // the files
		w.report(w.happen(fact.Checkpointed{Key: key("checkpoint"), ID: "k"}))
	case "raw": // raw CALL: a tool returned, hooks are next
		w.report(w.happen(fact.ToolDone{Key: w.key("tool", args[0]), Call: args[0], Result: *tool.Text("raw")}))
	case "question": // question CALL: a tool asks a person
		w.report(w.happen(fact.ToolDone{Key: w.key("tool", args[0]), Call: args[0], Result: tool.Result{Questions: []tool.Question{{Text: "which?"}}}}))
	case "digest": // digest CALL: a tool wants its result digested
		w.report(w.happen(fact.ToolDone{Key: w.key("tool", args[0]), Call: args[0], Digest: "in short", Result: *tool.Text("long")}))
	case "amend": // amend CALL: the result of either
		f := fact.ToolAmended{Key: w.key("answer", args[0]), Call: args[0], Result: *tool.Text("amended")}
		if k := w.key("digest", args[0]); k != "" {
			f.Key, f.Model, f.Usage, f.CostUSD = k, "s", llm.Usage{Input: 1}, new(0.002)
		}
		w.report(w.happen(f))
	case "stop":
		f := fact.Stopped{Reason: event.EndReason(args[0])}
		if len(args) > 1 {
			f.Cleared = w.state.Queued()
		}
		w.report(w.happen(f))
	case "resume": // as after a crash
		w.report(w.happen(event.Resumed{Hooks: w.state.Config().Hooks}))
	case "again": // the last fact once more
		last := w.facts[len(w.facts)-1]
		w.report(w.happen(last.Data.(event.Fact)))
	case "mode":
		w.happen(event.ModeChanged{Mode: permission.Mode(args[0])})
	case "model":
		w.happen(event.ModelChanged{Model: args[0]})
	case "agent": // agent KEY CALL USD
		usd, _ := strconv.ParseFloat(args[2], 64)
		w.report(w.happen(event.AgentStart{Key: args[0], Call: args[1], Session: args[0], Agent: args[0], ReservedUSD: usd}))
	case "ended": // ended KEY USD
		usd, _ := strconv.ParseFloat(args[1], 64)
		w.report(w.happen(event.AgentEnd{Key: args[0], Session: args[0], Agent: args[0], Reason: event.Completed, CostUSD: &usd, ModelCalls: 1,
			Models: map[string]event.Spending{"m": {Usage: llm.Usage{Input: 1}, CostUSD: &usd}}}))
	case "fallbacks":
		w.report(w.happen(fact.FallbacksChanged{Fallbacks: args}))
	case "budget": // as JSON
		var f fact.BudgetChanged
		if err := json.Unmarshal([]byte(args[0]), &f.Limits); err != nil {
			w.t.Fatal(err)
		}
		w.report(w.happen(f))
		for _, at := range w.state.Agents().AtWork() {
			fmt.Fprintf(&w.out, "  %s may use %.4f in %d calls\n", at.Key, at.ReservedUSD, at.ModelCalls)
		}
	case "tools":
		f := fact.ToolsChanged{System: "x"}
		for _, name := range args {
			name, deferred := strings.CutSuffix(name, "?")
			f.Tools = append(f.Tools, fact.Tool{Tool: llm.Tool{Name: name}, ReadOnly: true, Deferred: deferred})
		}
		w.report(w.happen(f))
		for _, seen := range w.transcript.Tools {
			fmt.Fprintf(&w.out, "  %s\n", seen.Name)
		}
	case "transcript":
		for _, m := range w.transcript.Messages {
			fmt.Fprintf(&w.out, "  %s: %s\n", m.Role, blocks(m.Content))
		}
	default:
		w.t.Fatalf("unknown verb %q", verb)
	}
}

func blocks(bs llm.Blocks) string {
	var out []string
	for _, b := range bs {
		switch b := b.(type) {
		case llm.Text:
			text := b.Text
			if strings.HasPrefix(text, "This conversation was compacted") {
				text = strings.ReplaceAll(text, "\n", " / ")
			}
			if len(text) > 1000 {
				text = fmt.Sprintf("%s… %d bytes", text[:400], len(text))
			}
			out = append(out, text)
		case llm.ToolUse:
			out = append(out, fmt.Sprintf("[%s %s]", b.ID, b.Name))
		case llm.ToolResult:
			text := b.Content.Text()
			if len(text) > 1000 {
				text = fmt.Sprintf("%s… %d bytes", text[:6], len(text))
			}
			out = append(out, fmt.Sprintf("[%s: %s]", b.ID, text))
		}
	}
	return strings.Join(out, " ")
}

func config(t *testing.T, text string) fact.Configured {
	c := fact.Configured{Model: "m", Mode: permission.Default, Dir: "/d", Retries: 2, Parallel: 10, MaxTokens: 1000, Tools: []fact.Tool{
		{Tool: llm.Tool{Name: "Read"}, ReadOnly: true}, {Tool: llm.Tool{Name: "Write"}}, {Tool: llm.Tool{Name: "Plan"}, Barrier: true},
		{Tool: llm.Tool{Name: "Put"}, Idempotent: true}, {Tool: llm.Tool{Name: "Batch"}, Batch: true}}}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if text != "" {
		if err := dec.Decode(&c); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (w *world) answer(stop llm.StopReason, content ...llm.Block) {
	w.report(w.happen(event.AssistantMessage{Key: w.key("model", ""), Model: w.state.Model(), CostUSD: new(0.01),
		Response: llm.Response{Stop: stop, Usage: llm.Usage{Input: cmp.Or(w.input, 100), Output: 10}, Message: llm.Message{Role: llm.Assistant, Content: content}}}))
}

// summary makes the fact of a compaction that is wanted.
func (w *world) summary(args []string) {
	var e engine.Compact
	for _, wanted := range w.state.Effects() {
		if c, ok := wanted.(engine.Compact); ok {
			e = c
		}
	}
	p := w.transcript.Shorten(e)
	f := event.Compacted{Key: e.Key(), Trigger: e.Trigger, Before: e.Before, After: e.Before, Model: e.Model, Usage: llm.Usage{Input: 100, Output: 10}, CostUSD: new(0.003)}
	large, failed := 0, ""
	for len(args) > 0 {
		name, value, ok := strings.Cut(args[0], "=")
		if !ok {
			break
		}
		switch args = args[1:]; name {
		case "large":
			n, err := strconv.Atoi(value)
			w.check(err)
			large = n
		case "failed":
			failed = value
		}
	}
	if f.Failed = failed; failed == "" {
		f.Until, f.Kept, f.Cleared, f.Memory = p.Until, p.Kept, p.Cleared, append(slices.Clone(p.Memory), "decision: "+strings.Join(args, " "))
		f.Summary = strings.Join(args, " ") + strings.Repeat("abc", large)
		_, f.After = p.Tokens(&f)
		f.After = int(float64(f.After+e.Fixed) * e.Scale)
		fmt.Fprintf(&w.out, "  of %d messages, until %d, kept %v, cleared %v\n", len(p.Request), p.Until, p.Kept, p.Cleared)
	}
	w.report(w.happen(f))
}

func (w *world) cut() {
	for _, wanted := range w.state.Effects() {
		e, ok := wanted.(engine.Cut)
		if !ok {
			continue
		}
		c := w.transcript.Cut(e)
		f := event.Compacted{Key: e.Key(), Trigger: fact.Overflow, Before: e.Before, After: e.Before, Cleared: c.Cleared}
		if len(c.Cleared) == 0 {
			f.Failed = "nothing can be cut"
		} else {
			f.After = int(float64(e.Fixed+c.After) * e.Scale)
		}
		for _, l := range c.Large {
			f.TooLarge += fmt.Sprintf("%s %s %.20q %d tokens;", l.Kind, l.Tool, l.Start, l.Tokens)
		}
		fmt.Fprintf(&w.out, "  %s\n", brief(f))
		w.report(w.happen(f))
		return
	}
	w.t.Fatal("nothing is to be cut")
}

// key finds the key of a wanted effect.
func (w *world) key(kind, call string) string {
	asks := false
	for _, e := range w.state.Effects() {
		if strings.HasPrefix(e.Key(), kind+"/") && (call == "" || strings.HasPrefix(e.Key(), kind+"/"+call[1:]+"/")) {
			return e.Key()
		}
		asks = asks || strings.HasPrefix(e.Key(), "ask/") || strings.HasPrefix(e.Key(), "answer/")
	}
	if q := w.state.Call(call).Question; !asks && strings.HasPrefix(q, kind+"/") { // of a run that is suspended
		return q
	}
	return ""
}

func (w *world) report(counted bool) {
	if !counted {
		fmt.Fprintf(&w.out, "  (ignored)\n")
	}
}

func (w *world) must(ok bool) {
	if !ok {
		w.t.Fatal("the fact was ignored")
	}
}

func (w *world) check(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

// FuzzEngine lets anything happen in any order, sensible or not, and checks
// what must hold whatever happens.
func FuzzEngine(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	f.Add([]byte("the quick brown fox jumps over the lazy dog and does it again"))
	f.Add(bytes.Repeat([]byte{3, 17, 99, 5, 40}, 30))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 300 {
			return
		}
		w := &world{t: t, wanted: map[string]bool{}}
		c := config(t, `{"small":"s","start":"startup"}`)
		if len(script)%3 == 0 { // every third one has a window that is soon full
			c.Models = map[string]llm.Info{"m": {Window: 300}}
			c.Compaction = &fact.Compaction{Protect: 1, Keep: 1}
		}
		if len(script)%2 == 0 { // every other run has hooks for everything
			c.Hooks = hook.Events
		}
		if len(script)%3 == 0 { // and every third a schema
			c.Output = &fact.Output{Schema: json.RawMessage(`{"type":"object"}`), Corrections: 1}
		}
		w.happen(c)
		settled := map[string]bool{}
		for i, b := range script {
			w.random(b, i)
			w.invariants(settled)
		}
		again := &world{t: t}
		for _, e := range w.facts {
			again.happen(e.Data.(event.Fact))
		}
		if a, b := keys(&w.state), keys(&again.state); !slices.Equal(a, b) {
			t.Errorf("a replay wants %v, not %v", b, a)
		}
	})
}

func keys(s *engine.State) []string {
	var ks []string
	for _, e := range s.Effects() {
		ks = append(ks, e.Key())
	}
	return ks
}

// random makes one thing happen: mostly something wanted, sometimes nonsense.
func (w *world) random(b byte, i int) {
	effects := w.state.Effects()
	if len(effects) > 0 {
		if r, ok := effects[0].(engine.Record); ok {
			for _, f := range r.Facts {
				if !w.happen(f) {
					w.t.Fatalf("the engine wants a fact recorded that it ignores: %+v", f)
				}
			}
			return
		}
	}
	id := strconv.Itoa(i)
	switch {
	case b%16 == 15:
		nonsense := []event.Fact{fact.Stopped{Reason: event.Interrupted, Cleared: w.state.Queued()}, event.Resumed{}, fact.Stopped{Reason: event.Suspended},
			fact.CompactionRequested{ID: id}, event.Compacted{Key: "compact/2.0/0", Trigger: fact.Auto},
			event.Compacted{Key: "compact/2.0/0", Trigger: fact.Auto, TooLarge: "x"},
			event.Compacted{Key: "compact/2.0/0", Trigger: fact.Overflow, Cleared: []event.Cleared{{Fact: 2, Keep: -5}, {Fact: 9, Index: -1}, {Fact: 2, Index: 3}, {Call: "c2.0", Keep: 3}}},
			event.UserMessage{ID: id, Delivery: fact.AsSteer, Message: llm.UserText("s")}, event.UserMessage{ID: id, Delivery: fact.AsFollowUp, Message: llm.UserText("f")},
			event.UserMessage{ID: "p0", Delivery: fact.AsPrompt}, fact.Retracted{IDs: w.state.Queued()}, event.RunEnd{}, fact.Delivered{IDs: []string{"1"}}, fact.Waited{Key: "x"},
			event.ToolResult{Call: "c2.0", Key: "tool/2.0/0"}, fact.Hooked{Key: "hook/2.1/0"}, event.Resumed{Hooks: hook.Events, Start: fact.StartResume}, event.ModelFailed{Key: "model/2.0/0"}, fact.Configured{},
			fact.ToolsChanged{System: "s", Tools: []fact.Tool{{Tool: llm.Tool{Name: "Read"}, ReadOnly: true}, {Tool: llm.Tool{Name: "Late"}, Deferred: true}}}}
		f := nonsense[int(b/16)%len(nonsense)]
		if _, end := f.(event.RunEnd); end && w.state.Running() {
			return // only the engine ends a run
		}
		w.happen(f)
	case len(effects) == 0:
		w.happen(event.UserMessage{ID: "p" + id, Delivery: fact.AsPrompt, Message: llm.UserText("go")})
	default:
		w.carryOut(effects[int(b)%len(effects)], b/4)
	}
}

func (w *world) carryOut(e engine.Effect, b byte) {
	if f := e.Intent(); f != nil && w.happen(f) && b%8 == 7 {
		return // the program dies here, or something else comes first
	}
	switch e := e.(type) {
	case engine.Cut:
		f := event.Compacted{Key: e.Key(), Trigger: fact.Overflow, Failed: "nothing can be cut"}
		if c := w.transcript.Cut(e); len(c.Cleared) > 0 {
			f.Failed, f.Cleared, f.After = "", c.Cleared, c.After
			if len(c.Large) > 0 {
				f.TooLarge = "it is too large"
			}
		}
		w.happen(f)
	case engine.CallModel:
		stop := []llm.StopReason{llm.EndTurn, llm.UseTools, llm.MaxTokens, llm.Refusal, llmconst.PauseTurn, "odd", llmconst.Overflow}[b%7]
		var content []llm.Block
		for i := range b % 4 {
			u := llm.ToolUse{ID: fmt.Sprint(i), Name: []string{"Read", "Write", "Plan", "Nope", "Batch"}[(b/4+i)%5], Input: json.RawMessage("{}")}
			if w.state.Output() != nil && (b+i)%3 == 0 {
				u.Name = engine.OutputTool
			}
			if u.Name == "Batch" && b%3 > 0 {
				u.Input = json.RawMessage(`{"tool_calls":[{"tool":"Write"},{"tool":"Nope"},{"tool":"Plan"},{"tool":"Batch"}]}`)
			}
			content = append(content, u)
		}
		if b%13 == 0 {
			w.happen(event.ModelFailed{Key: e.Key(), Model: e.Model, Retry: b%2 == 0, Class: []llm.Class{llm.Overloaded, llm.TooLong}[b/2%2]})
			return
		}
		w.answerTo(e.Key(), stop, content)
	case engine.Compact:
		p := w.transcript.Shorten(e)
		f := event.Compacted{Key: e.Key(), Trigger: e.Trigger, Before: e.Before, Model: e.Model, Until: p.Until, Kept: p.Kept, Cleared: p.Cleared, Summary: "s"}
		if _, f.After = p.Tokens(&f); b%5 == 0 || p.Until == 0 {
			f.Failed = "no"
		}
		if b%7 == 0 {
			w.happen(event.ModelFailed{Key: e.Key(), Model: e.Model, Retry: b%2 == 0, Class: []llm.Class{llm.Overloaded, llm.TooLong}[b/2%2]})
			return
		}
		w.happen(f)
	case engine.Wait:
		w.happen(fact.Waited{Key: e.Key()})
	case engine.Authorize:
		w.happen(fact.Authorized{Key: e.Key(), Call: e.Call, Class: tool.Traits{ReadOnly: b%2 == 0},
			Decision: permission.Decision{Behavior: []permission.Behavior{permission.Allowed, permission.Denied, permission.Asked, permission.Deferred, permission.Allowed}[b%5]}})
	case engine.Ask:
		w.happen(fact.Answered{Key: e.Key(), Call: e.Call, Decision: permission.Decision{Behavior: []permission.Behavior{permission.Allowed, permission.Denied}[b%2]}})
	case engine.RunTool:
		switch b % 7 {
		case 0:
			w.happen(fact.ToolDone{Key: e.Key(), Call: e.Call})
			return
		case 1:
			w.happen(fact.ToolDone{Key: e.Key(), Call: e.Call, Digest: "d"})
			return
		case 2:
			w.happen(fact.ToolDone{Key: e.Key(), Call: e.Call, Result: tool.Result{Questions: []tool.Question{{Text: "?"}}}})
			return
		}
		r := *tool.Text(strings.Repeat("abc", int(b)*8))
		r.IsError, r.Patch.EndRun = b%5 == 0, b%31 == 0
		w.happen(event.ToolResult{Key: e.Key(), Call: e.Call, Result: r})
	case engine.CheckOutput:
		f := fact.OutputChecked{Key: e.Key(), Call: e.Call, Problem: "wrong"}
		if b%2 == 0 {
			f.Output, f.Problem = json.RawMessage("{}"), ""
		}
		w.happen(f)
	case engine.TakeCheckpoint:
		w.happen(fact.Checkpointed{Key: e.Key()})
	case engine.AskPerson:
		w.happen(fact.ToolAmended{Key: e.Key(), Call: e.Call})
	case engine.Digest:
		w.happen(fact.ToolAmended{Key: e.Key(), Call: e.Call, Model: "s"})
	case engine.CallHooks:
		f := fact.Hooked{Key: e.Key(), Event: e.Event, Message: e.Message}
		if b%3 == 0 {
			f.Block = "not this way"
		}
		if b%11 == 0 {
			f.Stop = "enough"
		}
		w.happen(f)
	case engine.RunHooks, engine.GatherResults:
		call, _, _ := strings.Cut(strings.SplitN(e.Key(), "/", 2)[1], "/")
		w.happen(event.ToolResult{Key: e.Key(), Call: "c" + call})
	}
}

func (w *world) answerTo(key string, stop llm.StopReason, content []llm.Block) {
	w.happen(event.AssistantMessage{Key: key, Model: w.state.Model(), Response: llm.Response{Stop: stop,
		Message: llm.Message{Role: llm.Assistant, Content: append([]llm.Block{llm.Text{Text: "x"}}, content...)}}})
}

func (w *world) invariants(settled map[string]bool) {
	w.t.Helper()
	if w.state.Running() && len(w.state.Effects()) == 0 {
		w.t.Fatalf("the run is open and wants nothing, after %d facts", len(w.facts))
	}
	now := map[string]bool{}
	for _, e := range w.state.Effects() {
		if _, ok := e.(engine.Record); ok {
			continue
		}
		if now[e.Key()] {
			w.t.Fatalf("key %s is wanted twice at once", e.Key())
		}
		now[e.Key()] = true
		if settled[e.Key()] {
			w.t.Fatalf("the settled key %s is wanted again", e.Key())
		}
		switch e.(type) {
		case engine.CallModel, engine.Compact:
			w.answeredAll()
		}
	}
	last := w.facts[len(w.facts)-1].Data
	switch f := last.(type) {
	case event.AssistantMessage:
		settled[f.Key] = true
	case fact.Hooked:
		if w.wanted[f.Key] && !now[f.Key] {
			settled[f.Key] = true
		}
	case event.ToolResult:
		if w.wanted[f.Key] && !now[f.Key] {
			settled[f.Key] = true
		}
	}
	w.wanted = now
}

// answeredAll checks that each tool use has exactly one result in the very next
// message, before the model is called.
func (w *world) answeredAll() {
	ms := w.transcript.Messages
	for i, m := range ms {
		uses := m.ToolUses()
		if len(uses) == 0 {
			continue
		}
		if i+1 >= len(ms) {
			w.t.Fatal("the last message has calls without results")
		}
		var results []string
		for _, b := range ms[i+1].Content {
			if r, ok := b.(llm.ToolResult); ok {
				results = append(results, r.ID)
			}
		}
		if len(results) != len(uses) {
			w.t.Fatalf("%d calls have %d results", len(uses), len(results))
		}
		for k, u := range uses {
			if results[k] != u.ID {
				w.t.Fatalf("results are not in call order: %v", results)
			}
		}
	}
}
