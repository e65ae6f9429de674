package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
)

const (
	repeatLimit  = 2  // default of event.Loop.Repeats
	failureLimit = 3  // default of event.Loop.Failures
	maxFailing   = 64 // failing calls that a loopGuard remembers
)

// loop returns the limits of the loop guard, with the defaults filled in.
func (t *settings) loop() event.Loop {
	l := event.Loop{}
	if t.cfg.Loop != nil {
		l = *t.cfg.Loop
	}
	if l.Repeats <= 0 {
		l.Repeats = repeatLimit
	}
	if l.Failures <= 0 {
		l.Failures = failureLimit
	}
	return l
}

// A loopGuard notices a model that goes round in circles: a call that has the same result
// again and again. Calls and results are known by their hashes.
type loopGuard struct {
	now     []repeat // calls of this answer
	before  []repeat // calls of the answer before
	failing []repeat // calls that failed, the latest last; the success of a tool removes its calls
}

// A repeat counts the equal results of a call.
type repeat struct {
	call    uint64 // its signature
	tool    string // with failing
	result  uint64
	times   int  // in a row
	counted bool // in this answer
}

// again counts a result.
func (r *repeat) again(result uint64) {
	if r.times == 0 || r.result != result {
		r.result, r.times = result, 0
	}
	r.times++
}

func find(list []repeat, call uint64) *repeat {
	i := order.Find(len(list), func(i int) bool { return list[i].call == call })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func remove(list []repeat, call uint64) []repeat {
	return without(list, func(r *repeat) bool { return r.call == call })
}

// without returns a list without the entries for which gone returns true.
func without(list []repeat, gone func(*repeat) bool) []repeat {
	n := order.Keep(len(list), func(i int) bool { return !gone(&list[i]) }, func(to, from int) { list[to] = list[from] })
	clear(list[n:])
	return list[:n]
}

// reset forgets all calls.
func (g *loopGuard) reset() { g.now, g.before, g.failing = g.now[:0], g.before[:0], g.failing[:0] }

// next begins another answer. If a call of the answer before was new, or had a new result,
// the model did not go round in circles, so all its calls count from one again.
func (g *loopGuard) next() {
	if order.Any(len(g.now), func(i int) bool { return g.now[i].times == 1 }) {
		for i := range g.now {
			g.now[i].times = min(g.now[i].times, 1)
		}
	}
	g.before, g.now = g.now, g.before[:0]
}

// proposed takes in a call. It returns why it must be asked about, "" if it need not be.
func (g *loopGuard) proposed(c *call, meant string, limit event.Loop) string {
	if limit.Off {
		return ""
	}
	seen := repeat{call: c.sig}
	if r := find(g.before, c.sig); r != nil {
		seen.result, seen.times = r.result, r.times
	}
	if find(g.now, c.sig) == nil {
		g.now = append(g.now, seen)
	}
	if seen.times >= limit.Repeats {
		return fmt.Sprintf("the same call of %s had the same result in %d answers in a row", meant, seen.times)
	}
	if r := find(g.failing, c.sig); r != nil && r.times >= limit.Failures {
		return fmt.Sprintf("the same call of %s has failed in the same way %d times", meant, r.times)
	}
	return ""
}

// allowed takes in that someone has looked at a call.
func (g *loopGuard) allowed(c *call) {
	if c.guard != "" {
		g.now, g.failing = remove(g.now, c.sig), remove(g.failing, c.sig)
	}
}

// settled takes in the result of a call.
func (g *loopGuard) settled(c *call, f *event.ToolResult, limit event.Loop) {
	if limit.Off {
		return
	}
	result := resultHash(f)
	if r := find(g.now, c.sig); r != nil && !(r.counted && r.result == result) {
		r.again(result)
		r.counted = true
	}
	switch {
	case f.Fault != toolrun.NoFault:
		g.failed(c, result)
	case f.Cause == fact.ByTool:
		g.failing = without(g.failing, func(r *repeat) bool { return r.tool == c.name })
	}
}

// failed counts a failure.
func (g *loopGuard) failed(c *call, result uint64) {
	if r := find(g.failing, c.sig); r != nil {
		r.again(result)
		return
	}
	if len(g.failing) == maxFailing {
		g.failing = append(g.failing[:0], g.failing[1:]...)
	}
	g.failing = append(g.failing, repeat{call: c.sig, tool: c.name, result: result, times: 1})
}

// signature identifies calls by the FNV-1a hash of their tool and input. Inputs that differ
// only in space are the same.
func signature(u *llm.ToolUse) uint64 {
	h := fnv(fnv(fnvStart, u.Name), "\x00")
	quoted := false
	for i := 0; i < len(u.Input); i++ {
		switch c := u.Input[i]; {
		case c == '\\' && i+1 < len(u.Input):
			h = (h ^ uint64(c)) * fnvPrime
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		h = (h ^ uint64(u.Input[i])) * fnvPrime
	}
	return fnv(h, u.Invalid)
}

// resultHash identifies equal results of a call. It leaves out times and durations, and the
// name of the file with the whole of a long text. A call that did not run is known by the
// reason alone, because nothing has looked at the world.
func resultHash(f *event.ToolResult) uint64 {
	h := fnv(fnv(fnvStart, string(f.Cause)), string(f.Fault))
	if f.Cause != fact.ByTool {
		return h
	}
	if f.Result.IsError {
		h = fnv(h, "\x01")
	}
	file := outputFile(f.Result.Details)
	for _, b := range f.Result.Content {
		if t, ok := b.(llm.Text); ok {
			h = fnv(fnvText(h, strings.ReplaceAll(t.Text, file, "")), "\x00")
		} else if data, err := json.Marshal(b); err == nil {
			h = fnv(h, string(data))
		}
	}
	return h
}

// outputFile returns the file that holds the whole text of a truncated result.
func outputFile(details json.RawMessage) string {
	if !bytes.Contains(details, []byte(`"outputPath"`)) {
		return ""
	}
	var d struct {
		OutputPath string `json:"outputPath"`
	}
	json.Unmarshal(details, &d)
	return d.OutputPath
}

const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

func fnv(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// fnvText hashes a text without its times and durations.
func fnvText(h uint64, s string) uint64 {
	inWord := false // the byte before belongs to a word or a number
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isDigit(c) && !inWord {
			if n := timeLength(s[i:]); n > 0 {
				i += n - 1
				h, inWord = (h^'0')*fnvPrime, true
				continue
			}
		}
		inWord = isDigit(c) || isLetter(c) || c == '.' || c == ':' || c == '_' || c == '-'
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// timeLength returns the length of the time, date or duration that s begins with, 0 if it
// begins with none: 12:30:05.1, 2026-01-31T12:30:05Z, 1m30.5s, 3 seconds.
func timeLength(s string) int {
	for _, form := range []string{"9999-99-99T99:99:99", "9999-99-99 99:99:99", "9999/99/99 99:99:99", "9999-99-99", "99:99:99", "9:99:99"} {
		if n := len(form); hasForm(s, form) {
			for n < len(s) && (isDigit(s[n]) || s[n] == '.' && n+1 < len(s) && isDigit(s[n+1])) {
				n++
			}
			return n
		}
	}
	return durationLength(s)
}

// hasForm reports whether s begins as form does, with any digit in place of each 9.
func hasForm(s, form string) bool {
	if len(s) < len(form) {
		return false
	}
	for i := range len(form) {
		if form[i] == '9' && !isDigit(s[i]) || form[i] != '9' && form[i] != s[i] {
			return false
		}
	}
	return true
}

// durationLength returns the length of the duration that s begins with, 0 if it begins with
// none.
func durationLength(s string) int {
	length := 0
	for at := 0; ; {
		n := at
		for n < len(s) && (isDigit(s[n]) || s[n] == '.') {
			n++
		}
		if n == at {
			return length
		}
		if n < len(s) && s[n] == ' ' {
			n++
		}
		unit := n
		for n < len(s) && (isLetter(s[n]) || s[n] >= 0x80) {
			n++
		}
		if !isTimeUnit(s[unit:n], s[unit-1] == ' ') {
			return length
		}
		length, at = n, n
	}
}

// isTimeUnit reports whether a word is a unit of time. After a space, a lone letter other
// than s is none.
func isTimeUnit(word string, spaced bool) bool {
	switch word {
	case "s", "ms", "us", "µs", "μs", "ns", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "hour", "hours":
		return true
	case "m", "h":
		return !spaced
	}
	return false
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
