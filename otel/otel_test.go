package otelagent_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	otelagent "github.com/openagent-go/agent/otel"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// tree shows spans by what they are within.
func tree(spans tracetest.SpanStubs) string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var b strings.Builder
	var show func(parent oteltrace.SpanID, depth int)
	show = func(parent oteltrace.SpanID, depth int) {
		for _, s := range spans {
			if s.Parent.SpanID() != parent {
				continue
			}
			b.WriteString(strings.Repeat(" ", depth) + s.Name)
			if s.Status.Code == codes.Error {
				b.WriteString(" (failed)")
			}
			b.WriteString("\n")
			show(s.SpanContext.SpanID(), depth+1)
		}
	}
	show(oteltrace.SpanID{}, 0)
	return b.String()
}

func get(s tracetest.SpanStub, key string) attribute.Value {
	for _, kv := range s.Attributes {
		if string(kv.Key) == key {
			return kv.Value
		}
	}
	return attribute.Value{}
}

type nothing struct{}

func TestSpans(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	reader := metric.NewManualReader()
	meters := metric.NewMeterProvider(metric.WithReader(reader))

	child := &agent.Agent{Name: "helper", Model: llmtest.Script(llmtest.Say("found"))}
	look := tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ nothing) (*tool.Result, error) {
		_, span := provider.Tracer("mine").Start(ctx, "my own")
		span.End()
		return tool.Errorf("not here"), nil
	})
	ask := tool.New(tool.Spec{Name: "ask", ReadOnly: true, Timeout: -1}, func(ctx context.Context, call tool.Call, _ nothing) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		res, err := p.Run(ctx, agent.Child{Agent: child, Call: call.ID, Input: agent.Input{Text: "look"}})
		if err != nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	})
	a := &agent.Agent{Name: "boss", System: "be brief", Tools: []tool.Tool{look, ask}, Permissions: permission.Policy{Mode: permission.Bypass},
		Retry: &agent.Retry{Base: time.Millisecond},
		Model: llmtest.Script(
			llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529, Message: "busy", RetryAfter: -1}),
			llmtest.Call(llmtest.Use("toolu_1", "look", nothing{})),
			llmtest.Call(llmtest.Use("toolu_2", "ask", nothing{})),
			llmtest.Step{Text: "private words", Usage: llm.Usage{Input: 10, CacheRead: 90, Output: 7}})}
	otelagent.Instrument(a, otelagent.Options{TracerProvider: provider, MeterProvider: meters, Attributes: []attribute.KeyValue{attribute.String("team", "x")}})
	res, err := a.Prompt(t.Context(), "private prompt")
	if err != nil {
		t.Fatal(err)
	}
	spans := exporter.GetSpans()
	const want = `invoke_agent boss
 chat script (failed)
 chat script
 execute_tool look (failed)
  my own
 chat script
 execute_tool ask
  invoke_agent helper
   chat script
 chat script
`
	if got := tree(spans); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	last := spans[len(spans)-1]
	for _, s := range spans {
		data, _ := json.Marshal(s.Attributes)
		if strings.Contains(string(data), "private") {
			t.Errorf("%s has content: %s", s.Name, data)
		}
		if s.Name != "my own" && (get(s, "team").AsString() != "x" || get(s, "gen_ai.conversation.id").AsString() == "") {
			t.Errorf("%s has %s", s.Name, data)
		}
		switch {
		case strings.HasPrefix(s.Name, "chat") && s.SpanKind != oteltrace.SpanKindClient:
			t.Errorf("%s is of kind %v", s.Name, s.SpanKind)
		case s.Name == "execute_tool look" && (get(s, "gen_ai.tool.call.id").AsString() != "toolu_1" || get(s, "error.type").AsString() != "error"):
			t.Errorf("%s has %s", s.Name, data)
		case s.Name == "chat script" && s.Status.Code == codes.Error && get(s, "error.type").AsString() != "overloaded":
			t.Errorf("%s has %s", s.Name, data)
		}
		if s.Name == "chat script" {
			last = s
		}
	}
	if get(last, "gen_ai.usage.input_tokens").AsInt64() != 100 || get(last, "gen_ai.usage.cache_read.input_tokens").AsInt64() != 90 || get(last, "gen_ai.usage.output_tokens").AsInt64() != 7 ||
		get(last, "gen_ai.operation.name").AsString() != "chat" || get(last, "gen_ai.response.finish_reasons").AsStringSlice()[0] != "stop" {
		t.Errorf("the last chat has %v", last.Attributes)
	}
	if get(spans[0], "gen_ai.conversation.id").AsString() != res.Session {
		t.Errorf("the run has %v, session %s", spans[0].Attributes, res.Session)
	}

	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch h := m.Data.(type) {
		case metricdata.Histogram[int64]:
			for _, p := range h.DataPoints {
				counts[m.Name] += p.Count
			}
		case metricdata.Histogram[float64]:
			for _, p := range h.DataPoints {
				counts[m.Name] += p.Count
			}
		}
	}
	if counts["gen_ai.client.operation.duration"] != 5 || counts["gen_ai.client.token.usage"] != 8 || counts["gen_ai.execute_tool.duration"] != 2 {
		t.Errorf("metrics: %v", counts)
	}
}

// With Content the spans have it, as the conventions write it.
func TestContent(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "look", nothing{})), llmtest.Say("the answer")), System: "be brief",
		Tools: []tool.Tool{tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(context.Context, tool.Call, nothing) (*tool.Result, error) { return tool.Text("seen"), nil })}}
	otelagent.Instrument(a, otelagent.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)), Content: true})
	if _, err := a.Prompt(t.Context(), "the prompt"); err != nil {
		t.Fatal(err)
	}
	all, _ := json.Marshal(exporter.GetSpans())
	for _, want := range []string{"the prompt", "the answer", "be brief", "seen", "gen_ai.input.messages", "gen_ai.tool.call.result"} {
		if !strings.Contains(string(all), want) {
			t.Errorf("%s is nowhere", want)
		}
	}
}

// carrier begins a span for each request, as an instrumented HTTP client does.
type carrier struct {
	http.RoundTripper
	tracer oteltrace.Tracer
}

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	_, span := c.tracer.Start(r.Context(), "POST")
	defer span.End()
	return c.RoundTripper.RoundTrip(r)
}

// What an HTTP client instruments lies within the chat span.
func TestHTTP(t *testing.T) {
	server := llmtest.NewServer(t, llmtest.Say("hi"))
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	client := &anthropic.Client{APIKey: "k", BaseURL: server.URL, HTTP: &http.Client{Transport: carrier{http.DefaultTransport, provider.Tracer("http")}}}
	a := &agent.Agent{Model: client.Model("claude-sonnet-4-6")}
	otelagent.Instrument(a, otelagent.Options{TracerProvider: provider})
	if _, err := a.Prompt(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	if got := tree(exporter.GetSpans()); got != "invoke_agent\n chat claude-sonnet-4-6\n  POST\n" {
		t.Errorf("got\n%s", got)
	}
}
