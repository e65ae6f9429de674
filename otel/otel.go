// Package otelagent reports the work of agents to OpenTelemetry: spans and metrics by the
// semantic conventions for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/, in development).
//
//	a := &agent.Agent{Model: anthropic.Model("claude-sonnet-4-6")}
//	otelagent.Instrument(a, otelagent.Options{})
//
// A run is an invoke_agent span, each request to a model a chat span of kind client, each
// call of a tool an execute_tool span; sub-agents of a run are spans under the call that
// has started them. The context of tools and of requests holds the span, so that spans of
// your own code, such as those of HTTP, nest in it. There are also spans for hooks,
// questions to people, rate limits, compaction.
package otelagent

import (
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/trace"
)

const scope = "github.com/openagent-go/agent/otel"

// Options say where spans and metrics go. The zero Options are ready to use.
type Options struct {
	TracerProvider oteltrace.TracerProvider // nil: the global one
	MeterProvider  metric.MeterProvider     // nil: the global one
	// Content adds the messages and the arguments and results of tools to the spans, as
	// the session has them on record. They may be private and large.
	Content bool
	// Attributes are added to every span.
	Attributes []attribute.KeyValue
}

// Instrument makes an agent and its sub-agents report to OpenTelemetry, in addition to a
// Trace that is already set. Call it before the agent is used.
func Instrument(a *agent.Agent, o Options) {
	if a.Trace != nil {
		a.Trace = trace.Join(a.Trace, New(o))
		return
	}
	a.Trace = New(o)
}

type teller struct {
	options  Options
	tracer   oteltrace.Tracer
	tokens   metric.Int64Histogram
	duration metric.Float64Histogram
	first    metric.Float64Histogram
	tool     metric.Float64Histogram
}

// New returns a function for [agent.Agent].Trace. Metrics that cannot be made are left out.
func New(o Options) trace.Func {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	t := &teller{options: o, tracer: o.TracerProvider.Tracer(scope)}
	m := o.MeterProvider.Meter(scope)
	seconds := metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
	t.tokens, _ = m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), metric.WithDescription("Number of input and output tokens used."),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864))
	t.duration, _ = m.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"), metric.WithDescription("GenAI operation duration."), seconds)
	t.first, _ = m.Float64Histogram("gen_ai.client.operation.time_to_first_chunk", metric.WithUnit("s"), metric.WithDescription("Time until the first piece of an answer."), seconds)
	t.tool, _ = m.Float64Histogram("gen_ai.execute_tool.duration", metric.WithUnit("s"), metric.WithDescription("Duration of tool executions."), seconds)
	return t.trace
}

// providers are the conventions' names of providers, where they are not ours.
var providers = map[string]string{
	"bedrock": "aws.bedrock", "vertex": "gcp.vertex_ai", "gemini": "gcp.gemini", "azure": "azure.ai.openai", "mistral": "mistral_ai", "xai": "x_ai", "openai-responses": "openai",
}

func providerName(name string) string {
	if n, ok := providers[name]; ok {
		return n
	}
	return name
}

func (t *teller) trace(ctx context.Context, s trace.Span) (context.Context, func(trace.End)) {
	name, kind, attrs := describe(&s)
	if s.Kind == "run" && s.Origin != nil && !oteltrace.SpanContextFromContext(ctx).IsValid() {
		ctx = oteltrace.ContextWithSpanContext(ctx, oteltrace.SpanContextFromContext(s.Origin))
	}
	if t.options.Content {
		attrs = append(attrs, input(&s)...)
	}
	begun := time.Now()
	ctx, span := t.tracer.Start(ctx, name, oteltrace.WithSpanKind(kind), oteltrace.WithAttributes(attrs...), oteltrace.WithAttributes(t.options.Attributes...))
	return ctx, func(e trace.End) {
		attrs := outcome(&e)
		if t.options.Content {
			attrs = append(attrs, output(&e)...)
		}
		if e.Error != "" {
			attrs = append(attrs, attribute.String("error.type", e.Error))
			span.SetStatus(codes.Error, e.Message)
		}
		span.SetAttributes(attrs...)
		t.measure(ctx, &s, &e, time.Since(begun))
		span.End()
	}
}

// describe returns name, kind and attributes of a span that begins.
func describe(s *trace.Span) (name string, kind oteltrace.SpanKind, attrs []attribute.KeyValue) {
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attribute.String(key, value))
		}
	}
	operation := func(op, of string) {
		attrs = append(attrs, attribute.String("gen_ai.operation.name", op))
		if name = op; of != "" {
			name += " " + of
		}
	}
	kind = oteltrace.SpanKindInternal
	text("gen_ai.conversation.id", s.Session)
	text("gen_ai.agent.name", s.Agent)
	switch s.Kind {
	case "run":
		operation("invoke_agent", s.Agent)
		if s.Resumed {
			attrs = append(attrs, attribute.Bool("openagent.resumed", true))
		}
	case "model":
		kind = oteltrace.SpanKindClient
		operation("chat", s.Name)
		text("gen_ai.provider.name", providerName(s.Provider))
		text("gen_ai.request.model", s.Name)
		if s.Tries > 0 {
			attrs = append(attrs, attribute.Int("openagent.tries", s.Tries))
		}
		if r := s.Request; r != nil {
			if r.MaxTokens > 0 {
				attrs = append(attrs, attribute.Int("gen_ai.request.max_tokens", r.MaxTokens))
			}
			if r.Temperature != nil {
				attrs = append(attrs, attribute.Float64("gen_ai.request.temperature", *r.Temperature))
			}
			if len(r.Stop) > 0 {
				attrs = append(attrs, attribute.StringSlice("gen_ai.request.stop_sequences", r.Stop))
			}
		}
	case "tool":
		operation("execute_tool", s.Name)
		text("gen_ai.tool.name", s.Name)
		text("gen_ai.tool.call.id", s.ToolID)
		text("gen_ai.tool.type", "function")
		text("openagent.call", s.Call)
	default:
		if name = string(s.Kind); s.Name != "" {
			name += " " + s.Name
		}
		text("openagent.kind", string(s.Kind))
		text("openagent.call", s.Call)
	}
	return name, kind, attrs
}

// outcome holds the results of a span at its end.
func outcome(e *trace.End) (attrs []attribute.KeyValue) {
	usage := func(u llm.Usage, cost *float64) {
		for _, c := range []struct {
			key string
			n   int
		}{
			{"gen_ai.usage.input_tokens", u.Context()}, // those of a cache included
			{"gen_ai.usage.output_tokens", u.Output},
			{"gen_ai.usage.cache_read.input_tokens", u.CacheRead},
			{"gen_ai.usage.cache_creation.input_tokens", u.CacheWrite},
			{"gen_ai.usage.reasoning.output_tokens", u.Reasoning},
		} {
			if c.n > 0 {
				attrs = append(attrs, attribute.Int(c.key, c.n))
			}
		}
		if cost != nil {
			attrs = append(attrs, attribute.Float64("openagent.cost_usd", *cost))
		}
	}
	switch f := e.Fact.(type) {
	case event.AssistantMessage:
		attrs = append(attrs, attribute.String("gen_ai.response.model", f.Response.Model), attribute.StringSlice("gen_ai.response.finish_reasons", []string{finish(f.Response.Stop)}))
		if f.Response.ID != "" {
			attrs = append(attrs, attribute.String("gen_ai.response.id", f.Response.ID))
		}
		usage(f.Response.Usage, f.CostUSD)
	case event.ModelFailed:
		if f.Status != 0 {
			attrs = append(attrs, attribute.Int("http.response.status_code", f.Status))
		}
		usage(f.Usage, f.CostUSD)
	case fact.ToolAmended:
		if f.Model != "" {
			usage(f.Usage, f.CostUSD)
		}
	case event.Compacted:
		attrs = append(attrs, attribute.Int("openagent.tokens_before", f.Before), attribute.Int("openagent.tokens_after", f.After))
		if f.Model != "" {
			attrs = append(attrs, attribute.String("gen_ai.request.model", f.Model))
		}
		usage(f.Usage, f.CostUSD)
	case fact.Answered:
		attrs = append(attrs, attribute.String("openagent.decision", string(f.Decision.Behavior)))
		if f.Decision.By != "" {
			attrs = append(attrs, attribute.String("openagent.decided_by", f.Decision.By))
		}
	case event.RunEnd:
		attrs = append(attrs, attribute.String("openagent.reason", string(f.Reason)), attribute.Int("openagent.turns", f.Turns))
		usage(f.Usage, f.CostUSD)
	}
	return attrs
}

// finish is the conventions' word for why a model stopped.
func finish(r llm.StopReason) string {
	switch r {
	case llm.EndTurn, "stop_sequence":
		return "stop"
	case llm.MaxTokens, "model_context_window_exceeded":
		return "length"
	case llm.UseTools:
		return "tool_call"
	case llm.Refusal:
		return "content_filter"
	}
	return string(r)
}

// measure records the metrics of a span. ctx holds it, for exemplars.
func (t *teller) measure(ctx context.Context, s *trace.Span, e *trace.End, took time.Duration) {
	var attrs []attribute.KeyValue
	if e.Error != "" {
		attrs = append(attrs, attribute.String("error.type", e.Error))
	}
	switch s.Kind {
	case "tool":
		attrs = append(attrs, attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", s.Name))
		if t.tool != nil {
			t.tool.Record(ctx, took.Seconds(), metric.WithAttributes(attrs...))
		}
		return
	case "model":
	case "compaction":
		if f, ok := e.Fact.(event.Compacted); ok && f.Model != "" {
			s.Name = f.Model
			break
		}
		return
	default:
		return
	}
	attrs = append(attrs, attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", providerName(s.Provider)), attribute.String("gen_ai.request.model", s.Name))
	var u llm.Usage
	switch f := e.Fact.(type) {
	case event.AssistantMessage:
		u = f.Response.Usage
		attrs = append(attrs, attribute.String("gen_ai.response.model", f.Response.Model))
		if t.first != nil && f.First > 0 {
			t.first.Record(ctx, f.First.Seconds(), metric.WithAttributes(attrs...))
		}
	case event.ModelFailed:
		u = f.Usage
	case fact.ToolAmended:
		u = f.Usage
	case event.Compacted:
		u = f.Usage
	}
	if t.duration != nil {
		t.duration.Record(ctx, took.Seconds(), metric.WithAttributes(attrs...))
	}
	if t.tokens == nil {
		return
	}
	if n := u.Context(); n > 0 {
		t.tokens.Record(ctx, int64(n), metric.WithAttributes(attrs...), metric.WithAttributes(attribute.String("gen_ai.token.type", "input")))
	}
	if u.Output > 0 {
		t.tokens.Record(ctx, int64(u.Output), metric.WithAttributes(attrs...), metric.WithAttributes(attribute.String("gen_ai.token.type", "output")))
	}
}

// A message is content as the conventions write it.
type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

func messageOf(m llm.Message) message {
	out := message{Role: string(m.Role), Parts: []part{}}
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			out.Parts = append(out.Parts, part{Type: "text", Content: b.Text})
		case llm.Thinking:
			out.Parts = append(out.Parts, part{Type: "reasoning", Content: b.Text})
		case llm.ToolUse:
			out.Parts = append(out.Parts, part{Type: "tool_call", ID: b.ID, Name: b.Name, Arguments: b.Input})
		case llm.ToolResult:
			out.Role = "tool"
			out.Parts = append(out.Parts, part{Type: "tool_call_response", ID: b.ID, Response: b.Content.Text()})
		}
	}
	return out
}

func asJSON(key string, v any) []attribute.KeyValue {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return []attribute.KeyValue{attribute.String(key, string(data))}
}

func input(s *trace.Span) []attribute.KeyValue {
	switch {
	case s.Request != nil:
		all := []message{}
		for _, m := range s.Request.Messages {
			all = append(all, messageOf(m))
		}
		attrs := asJSON("gen_ai.input.messages", all)
		if s.Request.System != "" {
			attrs = append(attrs, asJSON("gen_ai.system_instructions", []part{{Type: "text", Content: s.Request.System}})...)
		}
		return attrs
	case s.Kind == "tool":
		return []attribute.KeyValue{attribute.String("gen_ai.tool.call.arguments", string(s.Input))}
	}
	return nil
}

func output(e *trace.End) []attribute.KeyValue {
	switch f := e.Fact.(type) {
	case event.AssistantMessage:
		return asJSON("gen_ai.output.messages", []message{messageOf(f.Response.Message)})
	case event.ToolResult:
		return []attribute.KeyValue{attribute.String("gen_ai.tool.call.result", f.Result.Text())}
	case fact.ToolDone:
		return []attribute.KeyValue{attribute.String("gen_ai.tool.call.result", f.Result.Text())}
	}
	return nil
}
