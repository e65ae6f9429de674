// Package otlptest sends what package otelagent tells by the SDK's own exporters to a
// receiver of OTLP over HTTP, and checks what arrives. It is its own module, so
// that otelagent does not depend on exporters.
package otlptest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/responses"
	otelagent "github.com/openagent-go/agent/otel"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

type nothing struct{}

const secret = "hunter2-of-the-vault"

// A station is an agent's program with the SDK, and the receiver of what it exports.
type station struct {
	*receiver
	options otelagent.Options
	flush   func()
}

func newStation(t *testing.T) *station {
	r := receive(t)
	spans, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(r.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(r.URL+"/v1/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", "a-test"))
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(about))
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(numbers, metric.WithInterval(time.Hour))), metric.WithResource(about))
	return &station{receiver: r, options: otelagent.Options{TracerProvider: tracers, MeterProvider: meters}, flush: func() {
		for _, shut := range []func(context.Context) error{tracers.Shutdown, meters.Shutdown} {
			if err := shut(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}}
}

// tree shows the spans by their parents' ids, in the order of their beginnings.
func (r *receiver) tree() string {
	slices.SortStableFunc(r.spans, func(a, b *trace.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	var b strings.Builder
	var show func(parent []byte, depth int)
	show = func(parent []byte, depth int) {
		for _, s := range r.spans {
			if bytes.Equal(s.ParentSpanId, parent) {
				b.WriteString(strings.Repeat(" ", depth) + s.Name + "\n")
				show(s.SpanId, depth+1)
			}
		}
	}
	show(nil, 0)
	return b.String()
}

func (r *receiver) named(name string) (found []*trace.Span) {
	for _, s := range r.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// What an agent of one provider, with a sub-agent of another, does arrives at a
// collector: spans with their names, kinds, parents, status and attributes, metrics with
// theirs, and no content.
func TestExport(t *testing.T) {
	t.Setenv("VAULT_PASSWORD", secret)
	server := llmtest.NewServer(t,
		llmtest.Step{Status: 529},
		llmtest.Call(llmtest.Use("toolu_1", "look", nothing{})),
		llmtest.Call(llmtest.Use("toolu_2", "ask", nothing{})),
		llmtest.Step{Text: "private finding", Usage: llm.Usage{Input: 5, Output: 3}}, // of the helper
		llmtest.Step{Text: "private words", Usage: llm.Usage{Input: 10, CacheRead: 90, Output: 7}})
	child := &agent.Agent{Name: "helper", Model: (&responses.Client{APIKey: "k", BaseURL: server.URL}).Model("gpt-5-mini")}
	look := tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(context.Context, tool.Call, nothing) (*tool.Result, error) {
		return tool.Errorf("%s is not here: private lines", secret), nil
	})
	ask := tool.New(tool.Spec{Name: "ask", ReadOnly: true, Timeout: -1}, func(ctx context.Context, call tool.Call, _ nothing) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		res, err := p.Run(ctx, agent.Child{Agent: child, Call: call.ID, Input: agent.Input{Text: "private question"}})
		if err != nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	})
	x := newStation(t)
	a := &agent.Agent{Name: "boss", System: "private orders", Tools: []tool.Tool{look, ask}, Permissions: permission.Policy{Mode: permission.Bypass}, Retry: &agent.Retry{Base: time.Millisecond},
		Model: (&anthropic.Client{APIKey: "k", BaseURL: server.URL}).Model("claude-sonnet-4-6")}
	otelagent.Instrument(a, x.options)
	res, err := a.Prompt(t.Context(), "private prompt")
	if err != nil {
		t.Fatal(err)
	}
	x.flush()

	const want = `invoke_agent boss
 chat claude-sonnet-4-6
 chat claude-sonnet-4-6
 execute_tool look
 chat claude-sonnet-4-6
 execute_tool ask
  invoke_agent helper
   chat gpt-5-mini
 chat claude-sonnet-4-6
`
	if got := x.tree(); got != want {
		t.Fatalf("got\n%swant\n%s", got, want)
	}
	if x.service != "a-test" || x.scope != "github.com/openagent-go/agent/otel" {
		t.Errorf("of %q, %q", x.service, x.scope)
	}
	for _, word := range []string{"private", secret} {
		if bytes.Contains(x.raw, []byte(word)) {
			t.Errorf("%q was sent", word)
		}
	}
	root := x.spans[0]
	for _, s := range x.spans {
		if !bytes.Equal(s.TraceId, root.TraceId) || len(s.SpanId) != 8 || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s is of trace %x, span %x, from %d to %d", s.Name, s.TraceId, s.SpanId, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
	}
	text := func(s *trace.Span, key string) string { return value(s.Attributes, key).GetStringValue() }
	number := func(s *trace.Span, key string) int64 { return value(s.Attributes, key).GetIntValue() }
	check := func(s *trace.Span, kind trace.Span_SpanKind, code trace.Status_StatusCode, want map[string]string) {
		t.Helper()
		if s.Kind != kind || s.GetStatus().GetCode() != code {
			t.Errorf("%s is of kind %v, status %v", s.Name, s.Kind, s.Status)
		}
		for key, v := range want {
			if text(s, key) != v {
				t.Errorf("%s: %s is %q, want %q", s.Name, key, text(s, key), v)
			}
		}
	}
	check(root, trace.Span_SPAN_KIND_INTERNAL, trace.Status_STATUS_CODE_UNSET, map[string]string{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "boss", "gen_ai.conversation.id": res.Session, "openagent.reason": "completed"})
	chats := x.named("chat claude-sonnet-4-6")
	check(chats[0], trace.Span_SPAN_KIND_CLIENT, trace.Status_STATUS_CODE_ERROR, map[string]string{"error.type": "overloaded", "gen_ai.provider.name": "anthropic"})
	if number(chats[0], "http.response.status_code") != 529 {
		t.Errorf("%v", chats[0].Attributes)
	}
	last := chats[len(chats)-1]
	check(last, trace.Span_SPAN_KIND_CLIENT, trace.Status_STATUS_CODE_UNSET, map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-sonnet-4-6", "gen_ai.response.model": "claude-sonnet-4-6"})
	if number(last, "gen_ai.usage.input_tokens") != 100 || number(last, "gen_ai.usage.cache_read.input_tokens") != 90 || number(last, "gen_ai.usage.output_tokens") != 7 {
		t.Errorf("the last chat has %v", last.Attributes)
	}
	if why := value(last.Attributes, "gen_ai.response.finish_reasons").GetArrayValue().GetValues(); len(why) != 1 || why[0].GetStringValue() != "stop" {
		t.Errorf("it finished for %v", why)
	}
	check(x.named("chat gpt-5-mini")[0], trace.Span_SPAN_KIND_CLIENT, trace.Status_STATUS_CODE_UNSET, map[string]string{"gen_ai.provider.name": "openai"})
	check(x.named("execute_tool look")[0], trace.Span_SPAN_KIND_INTERNAL, trace.Status_STATUS_CODE_ERROR, map[string]string{"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "toolu_1", "gen_ai.tool.type": "function", "error.type": "error"})
	check(x.named("execute_tool ask")[0], trace.Span_SPAN_KIND_INTERNAL, trace.Status_STATUS_CODE_UNSET, nil)

	for name, want := range map[string]struct {
		unit  string
		count uint64
	}{
		"gen_ai.client.operation.duration": {"s", 5},
		"gen_ai.client.token.usage":        {"{token}", 8},
		"gen_ai.execute_tool.duration":     {"s", 2},
	} {
		m := x.metrics[name]
		if m == nil || m.Unit != want.unit || count(m.GetHistogram().GetDataPoints()) != want.count {
			t.Errorf("%s: %v", name, m)
		}
	}
	var sum float64
	for _, p := range x.metrics["gen_ai.client.token.usage"].GetHistogram().GetDataPoints() {
		if has(p.Attributes, "gen_ai.token.type", "output") && has(p.Attributes, "gen_ai.provider.name", "openai") {
			sum += p.GetSum()
		}
	}
	if sum != 3 {
		t.Errorf("the helper wrote %v tokens", sum)
	}
}

func count(points []*metrics.HistogramDataPoint) (n uint64) {
	for _, p := range points {
		n += p.Count
	}
	return n
}

func has(attrs []*common.KeyValue, key, want string) bool {
	return value(attrs, key).GetStringValue() == want
}
