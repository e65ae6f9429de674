// Observability shows what agents do: as log records, as a file of spans, and to a
// function of one's own; and has agents that share a key wait for each other instead
// of being refused.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	if err := watched(ctx, out); err != nil {
		return err
	}
	return limited(ctx, out)
}

// watched runs an agent that is logged and traced.
func watched(ctx context.Context, out io.Writer) error {
	// A server in memory, in place of the provider.
	server := &llmtest.Server{Steps: []llmtest.Step{llmtest.Call(llmtest.Use("", "weather", map[string]string{"city": "Paris"})), llmtest.Say("Mild.")}}
	defer server.Close()
	weather := tool.Func(tool.Spec{Name: "weather", ReadOnly: true, Description: "The weather in a city."}, func(context.Context, struct {
		City string `json:"city"`
	}) (string, error) {
		return "18 degrees", nil
	})

	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "trace.jsonl")
	spans, err := trace.Create(file) // a span a line, without content
	if err != nil {
		return err
	}
	a := &agent.Agent{
		Model: (&anthropic.Client{APIKey: "none", HTTP: server.Client(), BaseURL: server.URL}).Model("claude-sonnet-4-6"),
		Tools: []tool.Tool{weather},
		Log:   slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: steady})),
		Trace: spans.Trace, // or otelagent's, or several by trace.Join
	}
	fmt.Fprintln(out, "The log:")
	_, err = a.Prompt(ctx, "What is the weather in Paris?")
	if err := spans.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe spans, in the order in which they ended:")
	return show(out, file)
}

// show prints the spans of a file.
func show(out io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r trace.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		within := "within the run"
		if r.Parent == "" {
			within = "the whole"
		}
		fmt.Fprintf(out, "  %-6s %-18s %s\n", r.Kind, r.Name, within)
	}
	return lines.Err()
}

// steady leaves out of the log what differs from run to run.
func steady(_ []string, a slog.Attr) slog.Attr {
	if slices.Contains([]string{"time", "session", "dir", "duration", "first", "request_id"}, a.Key) {
		return slog.Attr{}
	}
	return a
}

// limited runs three agents at once with a key that may ask once at a time.
func limited(ctx context.Context, out io.Writer) error {
	const agents = 3
	var waits, now, most atomic.Int32
	queue := make(chan struct{}) // closed when the others wait
	server := &llmtest.Server{Rule: func(*llmtest.Request, int) llmtest.Step {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		<-queue
		return llmtest.Say("Done.")
	}}
	defer server.Close()
	a := &agent.Agent{
		// One limiter for a key. The zero Limiter obeys what the provider's headers say.
		Model: (&anthropic.Client{APIKey: "none", HTTP: server.Client(), BaseURL: server.URL, Limiter: &limit.Limiter{Concurrent: 1}}).Model("claude-sonnet-4-6"),
		Trace: func(ctx context.Context, s trace.Span) (context.Context, func(trace.End)) {
			if s.Kind == trace.RateLimit && waits.Add(1) == agents-1 {
				close(queue)
			}
			return ctx, nil
		},
	}
	errs := make([]error, agents)
	var wg sync.WaitGroup
	for i := range agents {
		wg.Go(func() { _, errs[i] = a.Prompt(ctx, "Do it.") })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d agents: %d waited, and at most %d asked at a time.\n", agents, waits.Load(), most.Load())
	return nil
}
