package engine

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// Times and durations make no difference between results, other numbers do.
func TestResultHash(t *testing.T) {
	hash := func(text string) uint64 { return resultHash(&event.ToolResult{Result: *tool.Text(text)}) }
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"ok pkg 0.512s", "ok pkg 13.1s", true},
		{"took 1m30.5s, all", "took 59s, all", true},
		{"Up 3 minutes", "Up 12 minutes", true},
		{"real 0m0.005s", "real 1m2.345s", true},
		{"at 2026-01-31T12:30:05Z", "at 2026-02-01T02:30:06.123Z", true},
		{"12:30:05 waiting", "9:31:06 waiting", true},
		{"12µs", "14ms", true},
		{"10 %", "20 %", false},
		{"5 steps", "6 steps", false},
		{"4M free", "5M free", false},
		{"3 m away", "4 m away", false},
		{"pid 4711", "pid 4712", false},
		{"v1.2s", "v1.3s", false},
		{"main.go:12:30:05", "main.go:13:30:05", false},
		{"1.2.3", "1.2.4", false},
		{"", "x", false},
		{"12", "12s", false},
	} {
		if same := hash(c.a) == hash(c.b); same != c.same {
			t.Errorf("%q and %q: the same is %t", c.a, c.b, same)
		}
	}
	text := event.ToolResult{Result: *tool.Text("x")}
	failed := text
	failed.Result.IsError = true
	picture := event.ToolResult{Result: tool.Result{Content: llm.Blocks{llm.Image{MediaType: "image/png", Data: []byte("a")}}}}
	other := event.ToolResult{Result: tool.Result{Content: llm.Blocks{llm.Image{MediaType: "image/png", Data: []byte("b")}}}}
	if resultHash(&text) == resultHash(&failed) || resultHash(&picture) == resultHash(&other) {
		t.Error("different results have the same hash")
	}
	denied := func(why string) *event.ToolResult {
		return &event.ToolResult{Cause: fact.ByDenial, Fault: toolrun.Refused, Result: *tool.Text(why)}
	}
	if resultHash(denied("a")) != resultHash(denied("b")) {
		t.Error("denials differ by their reasons")
	}
	long := func(file string) *event.ToolResult {
		r := tool.Text("begin, see " + file)
		r.Details = json.RawMessage(fmt.Sprintf(`{"outputPath":%q}`, file))
		return &event.ToolResult{Result: *r}
	}
	if resultHash(long("/tmp/c4.0.txt")) != resultHash(long("/tmp/c9.0.txt")) {
		t.Error("long results differ by the file that holds the whole")
	}
}

// The guard remembers a bounded number of failing calls, the latest ones.
func TestFailingCallsBounded(t *testing.T) {
	var g loopGuard
	limit := (&settings{}).loop()
	for i := range 10 * maxFailing {
		g.next()
		c := &call{name: "Bash", sig: uint64(i)}
		if why := g.proposed(c, "Bash", limit); why != "" {
			t.Fatal(why)
		}
		g.settled(c, &event.ToolResult{Fault: toolrun.TimedOut}, limit)
	}
	if len(g.failing) != maxFailing || g.failing[maxFailing-1].call != 10*maxFailing-1 {
		t.Errorf("%d failing calls are kept", len(g.failing))
	}
}
