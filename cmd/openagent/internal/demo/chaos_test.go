package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// newChaosTest returns the scenario chaos in a folder of its own.
func newChaosTest(t *testing.T) *showing {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh in PATH")
	}
	s, err := newChaos(&demoCall{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.workspace.Close() })
	return s
}

// showChaos runs the scenario and returns what it wrote, and its exit code.
func showChaos(t *testing.T, s *showing, format string) (string, int) {
	t.Helper()
	var out, errs bytes.Buffer
	h := &cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }}
	code := h.Exit(t.Context(), s.run(t.Context(), h, format, s.workspace.Root))
	return out.String() + errs.String(), code
}

func TestDemoChaos(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	d := newDemoTest(t, "")
	out := d.run(t, cli.ExitDone, "chaos")
	wantPlain(t, out)
	wantAll(t, out, "simulated", "set short for the demo", "10 survived of 10 injected", "completed; 9 turns",
		"class rate_limit, HTTP 429: due again in 1.00 s", "withdrawn: These words are on their way", "characters withdrawn", "error: invalid_input",
		"repaired as the schema has it, and said so: limit", "error: timeout", ": gone", "index out of range [9] with length 3", "all 20,000,000 bytes in a file",
		"class overloaded, 3 times", demoBackup+" took over", "Please continue", "one text of", "outcome unknown, not repeated (started 1 time)", "Order 7 is booked, once.")
	for i, f := range chaosFaults() {
		if !regexp.MustCompile(`fault ` + strconv.Itoa(i+1) + ` +` + f.name + `\n +injected  \S.*\n +survived  \S`).MatchString(out) {
			t.Errorf("fault %d, %s, is not told as survived", i+1, f.name)
		}
	}
	if strings.Contains(out, "LOST") {
		t.Errorf("a fault was lost:\n%s", out)
	}
	for _, m := range hungProcess.FindAllStringSubmatch(out, -1) {
		if alive(number(m[1])) {
			t.Errorf("process %s still runs", m[1])
		}
	}
	if left := d.leftBehind(t); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// chaosLine is a line of JSON of the scenario.
type chaosLine struct {
	Type, Subtype, Fault, Injected, Detail string
	Survived, Simulated                    bool
	IsError                                bool `json:"is_error"`
	Errors                                 []string
	Faults                                 []trial
}

func readChaos(t *testing.T, out string) (lines []chaosLine) {
	t.Helper()
	for line := range strings.Lines(out) {
		var l chaosLine
		if strings.HasPrefix(line, "openagent: ") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || !l.Simulated {
			t.Fatalf("%v: not marked as simulated: %s", err, line)
		}
		lines = append(lines, l)
	}
	return lines
}

// The lines of JSON tell every fault. What they say is the evidence's: other
// evidence gives another verdict.
func TestDemoChaosEvidence(t *testing.T) {
	t.Parallel()
	s := newChaosTest(t)
	out, code := showChaos(t, s, cli.FormatStream)
	if code != cli.ExitDone {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	lines := readChaos(t, out)
	var told []trial
	for _, l := range lines {
		if l.Subtype == "fault" {
			told = append(told, trial{l.Fault, l.Injected, l.Survived, l.Detail})
		}
	}
	last := lines[len(lines)-1]
	if last.Type != "result" || last.Subtype != cli.Success || last.IsError || !reflect.DeepEqual(last.Faults, told) {
		t.Errorf("the last line is %+v, and the faults told before it %+v", last, told)
	}
	for i, f := range chaosFaults() {
		if i >= len(told) || told[i].Fault != f.name || !told[i].Survived || told[i].Injected != f.injected || told[i].Detail == "" {
			t.Errorf("fault %d, %s, is not told as survived: %+v", i, f.name, told)
		}
	}

	for _, c := range []struct {
		name, fault, want string
		change            func(v *evidence)
	}{
		{"other class", rateLimit, "class overloaded", func(v *evidence) { v.attempts[0].failed.Class = llm.Overloaded }},
		{"waits less", rateLimit, "was to end", func(v *evidence) { v.attempts[0].failed.RetryAt = v.attempts[0].ended }},
		{"waits longer", rateLimit, "was to end", func(v *evidence) { v.attempts[0].failed.RetryAt = v.attempts[0].ended.Add(2 * chaosAfter) }},
		{"too early", rateLimit, "asked again after 0s", func(v *evidence) { v.attempts[1].started = v.attempts[0].ended }},
		{"taken for an answer", rateLimit, "for an answer", func(v *evidence) { v.attempts[0] = v.attempts[2] }},
		{"half an answer", cutStream, "for a whole one", func(v *evidence) { v.attempts[1] = v.attempts[2] }},
		{"no trace", cutStream, "nothing of the text", func(v *evidence) { v.attempts[1].failed.Partial = "" }},
		{"not withdrawn", cutStream, "part of the next answer", func(v *evidence) { v.attempts[1].failed.Partial = "I begin with" }},
		{"sent back", cutStream, "sent back", func(v *evidence) { v.attempts[1].failed.Partial = "Sum up orders.csv" }},
		{"failed again", cutStream, "next try failed", func(v *evidence) { v.attempts[2] = v.attempts[0] }},
		{"no fault", brokenInput, "was told", func(v *evidence) { v.change("broken", func(r *event.ToolResult) { r.Fault = "" }) }},
		{"not corrected", brokenInput, "corrected failed", func(v *evidence) { v.change("corrected", func(r *event.ToolResult) { r.Result.IsError = true }) }},
		{"not repaired", wrongTypes, "the call failed", func(v *evidence) { v.change("types", func(r *event.ToolResult) { r.Result.IsError = true }) }},
		{"not said", wrongTypes, "does not say", func(v *evidence) { v.change("types", func(r *event.ToolResult) { r.Result.Details = nil }) }},
		{"no timeout", hungTool, "was told", func(v *evidence) { v.change("hang", func(r *event.ToolResult) { r.Fault = "" }) }},
		{"no panic", panicking, "was told", func(v *evidence) { v.change("panic", func(r *event.ToolResult) { r.Fault = toolrun.TimedOut }) }},
		{"not kept", flooding, "was not kept", func(v *evidence) { v.change("flood", func(r *event.ToolResult) { r.Result.Details = nil }) }},
		{"kept in part", flooding, "bytes were kept", func(v *evidence) {
			v.change("flood", func(r *event.ToolResult) {
				file, _ := json.Marshal(filepath.Join(s.workspace.Root, chaosOrders))
				r.Result.Details = json.RawMessage(`{"outputPath":` + string(file) + `}`)
			})
		}},
		{"not read", flooding, "cannot read", func(v *evidence) { v.results["middle"] = v.results["types"] }},
		{"one try", overload, "was asked 2 times", func(v *evidence) {
			i := slices.IndexFunc(v.attempts, func(a attempt) bool { return a.failed != nil && a.failed.Status == 529 })
			v.attempts = slices.Delete(v.attempts, i, i+1)
		}},
		{"the same model", overload, demoRules + " answered", func(v *evidence) {
			for i := range v.attempts {
				v.attempts[i].model = demoRules
			}
		}},
		{"two models fail", overload, "failed as well", func(v *evidence) {
			i := slices.IndexFunc(v.attempts, func(a attempt) bool { return a.model == demoBackup })
			v.attempts[i].failed, v.attempts[i].answer = v.attempts[1].failed, nil
		}},
		{"not asked to go on", cutAnswer, "not asked for the rest", func(v *evidence) { v.continued = false }},
		{"half a text", cutAnswer, "not one text", func(v *evidence) { v.end.Text = v.end.Text[1:] }},
		{"another end", cutAnswer, "the run ended: max_tokens", func(v *evidence) { v.end.Reason = event.MaxTokens }},
	} {
		v := s.faults.clone()
		c.change(v)
		for _, f := range s.faults.list {
			if f.name != c.fault {
				continue
			}
			if did, err := f.judge(v); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: found %q, %v; want an error with %q", c.fault, c.name, did, err, c.want)
			}
		}
	}
}

// clone returns a copy of v that can be changed.
func (v *evidence) clone() *evidence {
	c := *v
	c.attempts = slices.Clone(v.attempts)
	for i, a := range c.attempts {
		if a.failed != nil {
			c.attempts[i].failed = new(*a.failed)
		}
	}
	c.results = maps.Clone(v.results)
	c.end = new(*v.end)
	return &c
}

func (v *evidence) change(id string, how func(*event.ToolResult)) {
	r := v.results[id]
	how(&r)
	v.results[id] = r
}

// An agent that lacks what it takes does not survive, and the demo says so.
func TestDemoChaosLost(t *testing.T) {
	t.Parallel()
	all := chaosFaults()
	for _, c := range []struct {
		name   string
		change func(*showing)
		lost   []string
	}{
		{"no retries, and nothing after the run", func(s *showing) { s.retry.Tries, s.epilogue = -1, nil }, []string{
			rateLimit, cutStream, brokenInput, wrongTypes, hungTool, panicking, flooding, overload, cutAnswer, killed}},
		{"no retry-after, fallback, right to flood and bug", func(s *showing) {
			s.retry = &agent.Retry{Tries: chaosTries, Base: chaosBase, MaxAfter: 2 * chaosAfter}
			s.fallbacks, s.epilogue = nil, nil
			s.policy.Allow = []permission.Rule{"Bash(sh " + chaosHang + ")"}
			s.tools[2] = tool.Func(s.tools[2].Spec(), func(context.Context, wordInput) (string, error) { return "a word", nil })
		}, []string{panicking, flooding, overload, cutAnswer, killed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newChaosTest(t)
			c.change(s)
			out, code := showChaos(t, s, cli.FormatJSON)
			lines := readChaos(t, out)
			if code != cli.ExitInternal || len(lines) != 1 || !strings.HasSuffix(out, "openagent: faults not handled: "+strings.Join(c.lost, ", ")+"\n") {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			l := lines[0]
			if l.Subtype != cli.ErrorRun || !l.IsError || len(l.Errors) < len(c.lost) || len(l.Faults) != len(all) {
				t.Errorf("the result is %+v", l)
			}
			for _, f := range l.Faults {
				if f.Survived == slices.Contains(c.lost, f.Fault) || f.Detail == "" {
					t.Errorf("told: %+v", f)
				}
				if f.Fault == killed && f.Injected != "" {
					t.Errorf("told as injected: %+v", f)
				}
			}
		})
	}
}

func TestDemoWithdraws(t *testing.T) {
	var out bytes.Buffer
	v := newDemoView(&cli.IO{Out: &out, OutTerminal: true, Getenv: func(string) string { return "xterm" }}, &showing{})
	v.colours = true
	v.text("half an ans")
	v.withdraw(event.ModelFailed{Message: "it\x1b[2J broke", Partial: "half an ans\x1b[2J"})
	wantAll(t, out.String(), "half an ans\n", "\x1b[9mhalf an ans", "the model failed: it")
	if strings.Contains(out.String(), "[2J broke") && strings.Contains(out.String(), "\x1b[2J") {
		t.Errorf("a sequence of the server's gets to the terminal: %q", &out)
	}
}

func TestFaultsScore(t *testing.T) {
	f := newFaults(fault{name: "a", injected: "A"}, fault{name: "b", injected: "B"}, fault{name: "c", injected: "C"})
	f.inject("a")
	f.inject("b")
	if f.inject("b") {
		t.Error("a fault is injected for the first time twice")
	}
	f.settle("a", "went on", nil)
	f.rest()
	if got := f.score(); got != "1 survived of 2 injected, 1 never reached" {
		t.Errorf("score: %s", got)
	}
	if got := f.lost(); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("lost: %v", got)
	}
	if got := f.found[1]; got != (trial{"b", "B", false, "the run had not ended"}) {
		t.Errorf("told: %+v", got)
	}
}

// nobody is an audience that keeps what it is told about faults.
type nobody struct{ told []trial }

func (n *nobody) event(context.Context, event.Event) error   { return nil }
func (n *nobody) fault(f trial) error                        { n.told = append(n.told, f); return nil }
func (n *nobody) finish(context.Context, event.RunEnd) error { return nil }

func TestDemoChaosKilled(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*chaos, *nobody) {
		newChaosTest(t) // skips
		dir := t.TempDir()
		if err := unpackChaos(dir); err != nil {
			t.Fatal(err)
		}
		return &chaos{faults: newFaults(chaosFaults()...), dir: filepath.Join(dir, "ledger")}, new(nobody)
	}
	t.Run("twice in the ledger", func(t *testing.T) {
		k, to := start(t)
		if err := k.crash(t.Context(), to); err != nil || len(to.told) != 1 || !to.told[0].Survived {
			t.Fatalf("%v, told: %+v", err, to.told)
		}
		ledger := filepath.Join(k.dir, bookFile)
		if err := os.WriteFile(ledger, []byte("order 7: paidorder 7: paid"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBooking(k.dir)
		defer b.close()
		if did, err := judgeKilled(t.Context(), b, k.dir); err == nil || !strings.Contains(err.Error(), "the ledger says") {
			t.Errorf("an order that is booked twice: %q, %v", did, err)
		}
	})
	t.Run("ends by itself", func(t *testing.T) {
		k, to := start(t)
		if err := os.WriteFile(filepath.Join(k.dir, chaosLedger), []byte("exit 0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := k.crash(t.Context(), to); err != nil || len(to.told) != 1 || to.told[0].Survived || !strings.Contains(to.told[0].Detail, "ended before it could be killed") {
			t.Errorf("%v, told: %+v", err, to.told)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		k, to := start(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := k.crash(ctx, to); err != nil || to.told != nil {
			t.Errorf("%v, told: %+v", err, to.told)
		}
	})
}

// A signal ends the scenario wherever it is, and nothing stays behind.
func TestDemoChaosInterrupted(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"the model failed", "Now " + chaosHang} {
		s := newChaosTest(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		var out bytes.Buffer
		h := &cli.IO{In: strings.NewReader(""), Out: &tripwire{on: on, do: func() { cancel(cli.Interruption) }, Writer: &out}, Err: &out, Getenv: func(string) string { return "" }}
		if code := h.Exit(ctx, s.run(ctx, h, cli.FormatText, s.workspace.Root)); code != cli.ExitInterrupted {
			t.Errorf("interrupted at %q: exit code %d\n%s", on, code, &out)
		}
		wantAll(t, out.String(), "the run ended: interrupted", "never reached")
	}
}

func TestChaosSummary(t *testing.T) {
	k := surveyTalk(map[string]string{"corrected": "     1→order,cents\n     2→1,250\n     3→2,x\n"})
	wantAll(t, k.chaosSummary(), "2 orders that come to 2.50", "hang.sh: no result", "flood.sh: no result")
	wantAll(t, surveyTalk(map[string]string{"corrected": "     1→\"\n"}).chaosSummary(), "in part")
	for _, text := range []string{"", "a", "é", "ab cd", "words and more of them"} {
		if head, rest := halves(text); head+rest != text {
			t.Errorf("halves(%q) = %q, %q", text, head, rest)
		}
	}
	if head, rest := halves("words and more of them"); head != "words and more of th" || rest != "em" {
		t.Errorf("halves: %q, %q", head, rest)
	}
}
