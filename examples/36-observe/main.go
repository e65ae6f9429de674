// Observe lets four agents share the rate limits of one key. It shows how to observe their runs:
// log records, and a trace of spans as lines of JSON.
//
// Run it with: go run ./examples/36-observe
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/trace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	// A server in memory in place of the provider. Its first answer comes when three wait.
	waits := make(chan struct{}, 4)
	var first sync.Once
	server := &llmtest.Server{Rule: func(*llmtest.Request, int) llmtest.Step {
		first.Do(func() {
			for range 3 {
				<-waits
			}
		})
		return llmtest.Say("Done.")
	}}
	defer server.Close()

	// One limiter for each key. Without Concurrent it would obey the provider's headers alone.
	limiter := &limit.Limiter{Concurrent: 1}
	client := &anthropic.Client{APIKey: "none", HTTP: server.Client(), BaseURL: server.URL, Limiter: limiter}

	var spans bytes.Buffer // trace.Create("run.jsonl") would write a file
	recorder := trace.NewRecorder(&spans)
	records := make(chan string, 1000)
	logger := slog.New(slog.NewTextHandler(counter(records), &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key != slog.MessageKey {
				return slog.Attr{} // times, sessions and models are left out here
			}
			return a
		}}))
	a := &agent.Agent{Model: client.Model("claude-sonnet-4-6"), Log: logger,
		Trace: trace.Join(recorder.Trace, func(ctx context.Context, s trace.Span) (context.Context, func(trace.End)) {
			if s.Kind == "rate_limit" {
				waits <- struct{}{}
			}
			return ctx, nil
		})}

	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = a.Prompt(ctx, fmt.Sprintf("Do part %d.", i+1)) })
	}
	wg.Wait()
	if err := errors.Join(append(errs, recorder.Close())...); err != nil {
		return err
	}

	close(records)
	logged := map[string]int{}
	for r := range records {
		logged[r]++
	}
	fmt.Fprintln(out, "records:")
	for _, r := range slices.Sorted(maps.Keys(logged)) {
		fmt.Fprintf(out, "  %d times %s", logged[r], r)
	}

	count := map[trace.Kind]int{}
	for lines := json.NewDecoder(&spans); lines.More(); {
		var span struct{ Kind trace.Kind }
		if err := lines.Decode(&span); err != nil {
			return err
		}
		count[span.Kind]++
	}
	fmt.Fprintf(out, "spans: %d runs, %d requests, %d waits for the limit\n", count["run"], count["model"], count["rate_limit"])
	return nil
}

// counter is a writer that sends each record.
type counter chan<- string

func (c counter) Write(p []byte) (int, error) {
	c <- string(p)
	return len(p), nil
}
