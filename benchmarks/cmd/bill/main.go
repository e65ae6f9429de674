// Bill holds one session of forty turns with each library that has an agent for the
// Messages API, records what they send, counts it as the provider's prompt cache does,
// and writes the table into docs/cost.md.
//
//	go run ./cmd/bill            the table into the document
//	go run ./cmd/bill -print     on stdout only
//
// It is run in the folder benchmarks.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"github.com/openagent-go/agent/benchmarks/build"
	"github.com/openagent-go/agent/benchmarks/harness"
	"github.com/openagent-go/agent/internal/promptcache"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A library is one way to hold the session.
type library struct {
	name, folder string
	way          harness.Way
	how          string // who has asked for the cache
}

var libraries = []library{
	{"this library", "ours", harness.ByItself, "the library"},
	{"anthropic-sdk-go (tool runner)", "anthropic", harness.ByItself, "nobody"},
	{"anthropic-sdk-go (tool runner)", "anthropic", harness.Marked, "the program: `CacheControl` of the request"},
	{"anthropic-sdk-go (tool runner)", "anthropic", harness.Stable, "the program, which also writes the schemas of tools itself"},
	{"fantasy", "fantasy", harness.ByItself, "nobody"},
	{"fantasy", "fantasy", harness.Marked, "the program: options of the last tool and, in `PrepareStep`, of messages"},
	{"trpc-agent-go", "trpc", harness.ByItself, "nobody"},
	{"trpc-agent-go", "trpc", harness.Marked, "the program: `WithCacheTools`, `…SystemPrompt` and `…Messages`"},
}

const document = "../docs/cost.md"

func main() {
	log.SetFlags(0)
	only := flag.Bool("print", false, "print the table and leave the document")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, libraries, *only); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, list []library, only bool) error {
	dir, err := os.MkdirTemp("", "bill-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var b strings.Builder
	b.WriteString("| | marked by | read uncached | from the cache | written | billed as | read from turn 3 on |\n|---|---|---|---|---|---|---|\n")
	for _, l := range list {
		c, err := measure(ctx, dir, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		fmt.Fprintln(&b, row(l, c))
	}
	if only {
		fmt.Print(b.String())
		return nil
	}
	return insert(document, b.String())
}

// A count is what a library's requests come to.
type count struct {
	version   string
	all, late llm.Usage // late: from the third turn on
	marks     bool      // a request had one
}

// billed is the input in tokens that cost as much.
func (c count) billed() int { return c.all.Input + c.all.CacheRead/10 + c.all.CacheWrite*5/4 }

func row(l library, c count) string {
	name := l.name
	if c.version != "" && c.version != "here" {
		name += " " + c.version
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %.1f %% |", name, l.how, thousands(c.all.Input), thousands(c.all.CacheRead), thousands(c.all.CacheWrite), thousands(c.billed()),
		100*float64(c.late.CacheRead)/float64(max(1, c.late.Context())))
}

// measure holds the session in a process of its own and counts what it sent.
func measure(ctx context.Context, dir string, l library) (count, error) {
	file, err := build.Program(ctx, dir, l.folder+"-bill", l.folder, "./bill")
	if err != nil {
		return count{}, err
	}
	server := &llmtest.Server{Rule: work, Lenient: true, Cache: true}
	if err := server.Listen(); err != nil {
		return count{}, err
	}
	defer server.Close()
	cmd := exec.CommandContext(ctx, file, "-url", server.URL, "-way", string(l.way))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return count{}, fmt.Errorf("%w: %s", err, build.LastLines(stderr.String(), 3))
	}
	var r harness.Result
	if err := json.Unmarshal([]byte(build.LastLines(string(out), 1)), &r); err != nil { // some libraries log to stdout
		return count{}, err
	}
	requests := server.Requests()
	if len(requests) != harness.SessionTurns {
		return count{}, fmt.Errorf("%d requests, want %d", len(requests), harness.SessionTurns)
	}
	c := count{version: r.Version}
	cache := new(promptcache.Cache)
	for n, r := range requests {
		u := cache.Usage(r.Body)
		c.all = c.all.Add(u)
		if n >= 2 {
			c.late = c.late.Add(u)
		}
		c.marks = c.marks || strings.Contains(string(r.Body), `"cache_control"`)
	}
	// What the table says of defaults is checked.
	if asked := l.how != "nobody"; c.marks != asked {
		return count{}, fmt.Errorf("marks for the cache: %t, want %t", c.marks, asked)
	}
	return c, nil
}

// work answers as an agent that works: three turns with calls, then a report.
func work(_ *llmtest.Request, n int) llmtest.Step {
	if n%4 == 3 {
		return llmtest.Say(fmt.Sprintf("%s%d: %s", harness.SessionReport, n, strings.Repeat("it is as it should be. ", 10)))
	}
	return llmtest.Step{Text: "Let me look.", Calls: []llm.ToolUse{llmtest.Use("", "Read", map[string]any{"path": fmt.Sprint("f", n), "limit": n})}}
}

// thousands writes a number with a comma between each three digits.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// insert puts the table between its marks.
func insert(file, table string) error {
	const begin, end = "<!-- bill -->\n", "<!-- end -->"
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("writing %s: it has no marks %q and %q", file, begin, end)
	}
	return os.WriteFile(file, []byte(before+begin+table+end+after), 0o644)
}
