package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
)

// The faults of the scenario chaos, by their names in JSON.
const (
	rateLimit   = "rate_limit"
	cutStream   = "cut_stream"
	brokenInput = "broken_input"
	wrongTypes  = "wrong_types"
	hungTool    = "hung_tool"
	panicking   = "panic"
	flooding    = "output_overflow"
	overload    = "overloaded"
	cutAnswer   = "max_tokens"
	killed      = "killed"
)

func chaosFaults() []fault {
	return []fault{
		{rateLimit, fmt.Sprintf("HTTP 429 with retry-after: %.0f", chaosAfter.Seconds()), judgeRateLimit},
		{cutStream, "the connection is closed in the middle of an answer's text", judgeCutStream},
		{brokenInput, "a tool call whose input ends in the middle of its JSON", judgeBrokenInput},
		{wrongTypes, `a tool call with "limit": "1", text in the place of a number`, judgeWrongTypes},
		{hungTool, "a command that never ends, nor does the process that it starts", judgeHungTool},
		{panicking, "a tool with a bug: it indexes a slice beyond its end", judgePanic},
		{flooding, fmt.Sprintf("a command that writes %s bytes", cli.Thousands(chaosBytes)), judgeFlood},
		{overload, "HTTP 529 to every request for " + demoRules, judgeOverload},
		{cutAnswer, "an answer that stops at max_tokens, in the middle of a word", judgeCutAnswer},
		{killed, "SIGKILL for a process of its own, in the middle of a write", nil},
	}
}

// judgeRateLimit wants the next request neither earlier nor later than it was
// asked for.
func judgeRateLimit(v *evidence) (string, error) {
	a, next := v.attempt(0), v.attempt(1)
	switch f := a.failed; {
	case a.answer != nil:
		return "", errors.New("the refusal was taken for an answer")
	case f == nil || next.started.IsZero():
		return "", nil
	case f.Class != llm.RateLimit:
		return "", fmt.Errorf("it was taken for class %s", f.Class)
	case f.RetryAt.Before(a.started.Add(chaosAfter)), f.RetryAt.After(a.ended.Add(chaosAfter)):
		return "", fmt.Errorf("the wait was to end %v after the refusal", f.RetryAt.Sub(a.ended).Round(time.Millisecond))
	case next.started.Before(f.RetryAt):
		return "", fmt.Errorf("asked again after %v", next.started.Sub(a.ended).Round(time.Millisecond))
	default:
		return fmt.Sprintf("class %s, HTTP %d: due again in %s, asked again after %s", f.Class, f.Status,
			secondsOf(f.RetryAt.Sub(a.ended)), secondsOf(next.started.Sub(a.ended))), nil
	}
}

// judgeCutStream wants what was shown of the broken answer to be in no answer
// and in no later request.
func judgeCutStream(v *evidence) (string, error) {
	const first = 1
	a, next := v.attempt(first), v.attempt(first+1)
	switch f := a.failed; {
	case a.answer != nil:
		return "", errors.New("half an answer was taken for a whole one")
	case f == nil || next.failed == nil && next.answer == nil:
		return "", nil
	case f.Partial == "":
		return "", fmt.Errorf("class %s, and nothing of the text is on record", f.Class)
	case next.answer == nil:
		return "", fmt.Errorf("the next try failed: %s", next.failed.Message)
	default:
		if strings.Contains(next.answer.Response.Message.Content.Text(), f.Partial) {
			return "", errors.New("the broken text is part of the next answer")
		}
		for _, r := range v.requests()[first+1:] {
			if strings.Contains(r.Transcript(), f.Partial) {
				return "", errors.New("the broken text was sent back to the model")
			}
		}
		return fmt.Sprintf("class %s: %s withdrawn, asked again after %s, answered whole", f.Class,
			cli.Plural(utf8.RuneCountInString(f.Partial), "character"), secondsOf(next.started.Sub(a.ended))), nil
	}
}

func judgeBrokenInput(v *evidence) (string, error) {
	told, ok := v.told("broken")
	corrected, again := v.results["corrected"]
	switch r := v.results["broken"]; {
	case !ok:
		return "", nil
	case !told.IsError || r.Fault != toolrun.InvalidInput:
		return "", fmt.Errorf("the model was told %q", text.FirstLine(told.Text))
	case !again:
		return "", nil
	case corrected.Result.IsError:
		return "", fmt.Errorf("the call that was corrected failed: %s", text.FirstLine(corrected.Result.Text()))
	default:
		return fmt.Sprintf("fault %s, told the model %q; its next call worked", r.Fault, text.Runes(text.FirstLine(told.Text), 40)), nil
	}
}

func judgeWrongTypes(v *evidence) (string, error) {
	r, ok := v.results["types"]
	if !ok {
		return "", nil
	}
	var of struct {
		Repaired []string `json:"repaired"`
	}
	_ = json.Unmarshal(r.Result.Details, &of) // without details nothing was repaired
	switch {
	case r.Result.IsError:
		return "", fmt.Errorf("the call failed: %s", text.FirstLine(r.Result.Text()))
	case len(of.Repaired) == 0:
		return "", errors.New("the result does not say that the input was repaired")
	}
	return fmt.Sprintf("repaired as the schema has it, and said so: %s; the tool returned %s",
		strings.Join(of.Repaired, ", "), cli.Plural(strings.Count(strings.TrimSpace(shownText(r.Result.Text())), "\n")+1, "line")), nil
}

// judgeHungTool wants an error for the model, and no process left.
func judgeHungTool(v *evidence) (string, error) {
	told, ok := v.told("hang")
	r := v.results["hang"]
	switch {
	case !ok:
		return "", nil
	case !told.IsError || r.Fault != toolrun.TimedOut:
		return "", fmt.Errorf("the model was told %q", lastLine(told.Text))
	}
	var ids []string
	for _, m := range hungProcess.FindAllStringSubmatch(told.Text, -1) {
		if !gone(number(m[1])) {
			return "", fmt.Errorf("process %s still runs", m[1])
		}
		ids = append(ids, m[1])
	}
	if len(ids) < 2 {
		return "", fmt.Errorf("the command named no processes: %q", text.FirstLine(told.Text))
	}
	return fmt.Sprintf("fault %s after %s; looked for its processes %s: gone", r.Fault, secondsOf(r.Duration), strings.Join(ids, " and ")), nil
}

func judgePanic(v *evidence) (string, error) {
	told, ok := v.told("panic")
	r := v.results["panic"]
	switch {
	case !ok:
		return "", nil
	case !told.IsError || r.Fault != toolrun.Panicked:
		return "", fmt.Errorf("the model was told %q", text.FirstLine(told.Text))
	}
	return fmt.Sprintf("fault %s: %q; the program lives", r.Fault, text.Runes(text.FirstLine(told.Text), 70)), nil
}

// judgeFlood wants a bounded result with both ends, and all of it in a file that
// the model can read.
func judgeFlood(v *evidence) (string, error) {
	const most = 31_000 // characters: the 30,000 of a command's output, and a note
	told, ok := v.told("flood")
	middle, read := v.results["middle"]
	if !ok {
		return "", nil
	}
	var of struct {
		Path string `json:"outputPath"`
	}
	_ = json.Unmarshal(v.results["flood"].Result.Details, &of) // without details there is no file
	size := utf8.RuneCountInString(told.Text)
	info, err := os.Stat(of.Path)
	switch {
	case told.IsError:
		return "", fmt.Errorf("the command failed: %s", lastLine(told.Text))
	case size > most:
		return "", fmt.Errorf("the model got %s", cli.Plural(size, "character"))
	case err != nil:
		return "", fmt.Errorf("the output was not kept: %w", err)
	case info.Size() != chaosBytes:
		return "", fmt.Errorf("%s were kept", cli.Plural(int(info.Size()), "byte"))
	case !strings.Contains(told.Text, fmt.Sprintf("line %07d ", 1)) || !strings.Contains(told.Text, fmt.Sprintf("line %07d ", chaosLines)):
		return "", errors.New("the model did not get both ends of the output")
	case !read:
		return "", nil
	case !strings.Contains(middle.Result.Text(), fmt.Sprintf("line %07d ", chaosMiddle)):
		return "", fmt.Errorf("the model cannot read the file: %s", text.FirstLine(middle.Result.Text()))
	}
	return fmt.Sprintf("%s to the model, with both ends; all %s in a file, where it read line %s",
		cli.Plural(size, "character"), cli.Plural(int(info.Size()), "byte"), cli.Thousands(chaosMiddle)), nil
}

// judgeOverload wants the retries spent, and then an answer of another model.
func judgeOverload(v *evidence) (string, error) {
	failures := 0
	var class llm.Class
	for _, a := range v.attempts {
		switch {
		case a.failed != nil && a.model == demoRules && a.failed.Status == 529:
			failures++
			class = a.failed.Class
		case failures == 0 || a.failed == nil && a.answer == nil:
		case a.failed != nil:
			return "", fmt.Errorf("%s failed as well: %s", a.model, a.failed.Message)
		case class != llm.Overloaded:
			return "", fmt.Errorf("it was taken for class %s", class)
		case failures != chaosTries+1:
			return "", fmt.Errorf("%s was asked %s", demoRules, cli.Plural(failures, "time"))
		case a.model != demoBackup:
			return "", fmt.Errorf("%s answered", a.model)
		default:
			return fmt.Sprintf("class %s, %d times; the retries spent, %s took over and answered", class, failures, a.model), nil
		}
	}
	return "", nil
}

// judgeCutAnswer wants the parts of the answer as one text at the end.
func judgeCutAnswer(v *evidence) (string, error) {
	if v.end == nil {
		return "", nil
	}
	for i, a := range v.attempts {
		if a.answer == nil || a.answer.Response.Stop != llm.MaxTokens {
			continue
		}
		rest := v.attempt(i + 1).answer
		switch {
		case !v.continued || rest == nil:
			return "", errors.New("the model was not asked for the rest")
		case v.end.Reason != event.Completed:
			return "", fmt.Errorf("the run ended: %s", v.end.Reason)
		}
		head, tail := a.answer.Response.Message.Content.Text(), rest.Response.Message.Content.Text()
		if v.end.Text != head+tail {
			return "", errors.New("the parts are not one text")
		}
		return fmt.Sprintf("stop reason %s after %s; asked to continue, the parts are one text of %s",
			a.answer.Response.Stop, cli.Plural(len(head), "byte"), cli.Thousands(len(v.end.Text))), nil
	}
	return "", nil
}

// gone reports whether no process with the given id runs any more, or soon none:
// what a killed program has started is ended from outside.
func gone(pid int) bool {
	for deadline := time.Now().Add(demoPatience); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// alive reports whether a process with the given id runs.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	if runtime.GOOS == "windows" {
		return true // it would not have been found
	}
	if err := p.Signal(syscall.Signal(0)); err != nil {
		return errors.Is(err, os.ErrPermission)
	}
	// Where there is a /proc it tells a process that has ended, and waits to be
	// reaped, from one that runs: by the state behind its name, see proc(5).
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return !strings.HasPrefix(state, "Z")
}

// pidIn reads the process id that a script has left in a file.
func pidIn(file string) (int, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}
