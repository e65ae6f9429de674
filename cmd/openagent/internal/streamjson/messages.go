package streamjson

import (
	"encoding/json"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/tool"
)

// The objects of stream-json. Their names and members follow the Claude Agent SDK, so that its
// readers understand them.
type (
	// Origin holds the last members of every object.
	Origin struct {
		UUID      string `json:"uuid"`
		SessionID string `json:"session_id"`
		Simulated bool   `json:"simulated,omitempty"` // the model is the demo
	}
	initLine struct {
		Type           string            `json:"type"`
		Subtype        string            `json:"subtype"`
		Cwd            string            `json:"cwd"`
		Model          string            `json:"model"`
		Provider       string            `json:"provider"`
		PermissionMode string            `json:"permissionMode"`
		Tools          []string          `json:"tools"`
		MCPServers     []app.NamedServer `json:"mcp_servers"`
		SlashCommands  []string          `json:"slash_commands"`
		Agents         []string          `json:"agents"`
		Skills         []string          `json:"skills"`
		Instructions   []string          `json:"instructions"` // instruction files passed to the model
		Capabilities   []string          `json:"capabilities"`
		Sandbox        *sandbox.State    `json:"sandbox,omitempty"` // absent: no sandbox is configured
		Version        string            `json:"openagent_version"`
		*claudeInit
		Origin
	}
	userLine struct {
		Type      string          `json:"type"`
		Message   userMessage     `json:"message"`
		Parent    *string         `json:"parent_tool_use_id"`
		Synthetic bool            `json:"isSynthetic,omitempty"` // written by the program
		Replay    bool            `json:"isReplay,omitempty"`    // a message of the host, written back
		Timestamp string          `json:"timestamp,omitempty"`
		Result    json.RawMessage `json:"tool_use_result,omitempty"`
		Origin
	}
	userMessage struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	assistantLine struct {
		Type    string           `json:"type"`
		Message assistantMessage `json:"message"`
		Parent  *string          `json:"parent_tool_use_id"`
		Error   string           `json:"error,omitempty"`
		*claudeAuthor
		Origin
	}
	assistantMessage struct {
		ID           string  `json:"id"`
		Type         string  `json:"type"`
		Role         string  `json:"role"`
		Model        string  `json:"model"`
		Content      []any   `json:"content"`
		StopReason   *string `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
		Usage        usage   `json:"usage"`
	}
	usage struct {
		Input      int `json:"input_tokens"`
		Output     int `json:"output_tokens"`
		CacheRead  int `json:"cache_read_input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
	}
	streamLine struct {
		Type   string  `json:"type"`
		Event  any     `json:"event"`
		Parent *string `json:"parent_tool_use_id"`
		Origin
	}
	progressLine struct {
		Type     string          `json:"type"`
		ToolUse  string          `json:"tool_use_id"`
		ToolName string          `json:"tool_name"`
		Parent   *string         `json:"parent_tool_use_id"`
		Elapsed  float64         `json:"elapsed_time_seconds"`
		Phase    event.ToolPhase `json:"phase"`
		Seq      int64           `json:"seq"`
		Status   tool.Status     `json:"status"`
		Error    string          `json:"error,omitempty"`
		Origin
	}
	hookLine struct {
		Type    string  `json:"type"`
		Subtype string  `json:"subtype"`
		ID      string  `json:"hook_id"`
		Name    string  `json:"hook_name,omitempty"`
		Event   string  `json:"hook_event"`
		Output  *string `json:"output,omitempty"`
		Stdout  *string `json:"stdout,omitempty"`
		Stderr  *string `json:"stderr,omitempty"`
		Reason  string  `json:"reason,omitempty"`
		Outcome string  `json:"outcome,omitempty"` // success, blocked or error
		Tool    string  `json:"-"`                 // that the hook is about
		Origin
	}
	retryLine struct {
		Type        string `json:"type"`
		Subtype     string `json:"subtype"`
		Attempt     int    `json:"attempt"`
		MaxRetries  int    `json:"max_retries"`
		DelayMS     int64  `json:"retry_delay_ms"`
		ErrorStatus *int   `json:"error_status"`
		Error       string `json:"error"`
		Message     string `json:"message"`
		Withdrawn   bool   `json:"withdrawn"` // the partial answer is discarded
		Origin
	}
	compactLine struct {
		Type     string          `json:"type"`
		Subtype  string          `json:"subtype"` // compact_boundary
		Metadata compactMetadata `json:"compact_metadata"`
		Parent   *string         `json:"parent_tool_use_id"`
		Origin
	}
	compactMetadata struct {
		Trigger    event.Trigger `json:"trigger"` // auto, manual or overflow
		Before     int           `json:"pre_tokens"`
		After      int           `json:"post_tokens"`
		DurationMS int64         `json:"duration_ms,omitempty"`
		Cleared    int           `json:"cleared_results,omitempty"`
		Summarised bool          `json:"summarised"`
	}
	statusLine struct {
		Type    string  `json:"type"`
		Subtype string  `json:"subtype"` // status
		Status  *string `json:"status"`  // "compacting" or "requesting"; null when finished
		Parent  *string `json:"parent_tool_use_id"`

		Compacted    string `json:"compact_result,omitempty"` // success or failed
		CompactError string `json:"compact_error,omitempty"`
		Origin
	}
	fallbackLine struct {
		Type      string `json:"type"`
		Subtype   string `json:"subtype"`
		Model     string `json:"model"`
		Fallback  string `json:"fallback_model"`
		Error     string `json:"error"`
		Message   string `json:"message"`
		Withdrawn bool   `json:"withdrawn"`
		Origin
	}
	deniedLine struct {
		Type     string `json:"type"`
		Subtype  string `json:"subtype"`
		ToolName string `json:"tool_name"`
		ToolUse  string `json:"tool_use_id"`
		Reason   string `json:"reason"`
		Rule     string `json:"rule"`
		Agent    string `json:"agent,omitempty"` // the sub-agent's id
		Origin
	}
	ResultLine struct {
		Type       string                `json:"type"`
		Subtype    string                `json:"subtype"`
		IsError    bool                  `json:"is_error"`
		Result     string                `json:"result"`
		Errors     []string              `json:"errors,omitempty"`
		Turns      int                   `json:"num_turns"`
		DurationMS int64                 `json:"duration_ms"`
		APIMS      int64                 `json:"duration_api_ms"`
		TTFTMS     int64                 `json:"ttft_ms"`
		CostUSD    *float64              `json:"total_cost_usd"` // null: unknown
		Usage      usage                 `json:"usage"`
		ModelUsage map[string]modelUsage `json:"modelUsage"`
		Denials    []denial              `json:"permission_denials"`
		Structured json.RawMessage       `json:"structured_output"`
		Reason     event.EndReason       `json:"terminal_reason"`
		APIStatus  int                   `json:"api_error_status,omitempty"`
		Origin
	}
	modelUsage struct {
		Input      int      `json:"inputTokens"`
		Output     int      `json:"outputTokens"`
		CacheRead  int      `json:"cacheReadInputTokens"`
		CacheWrite int      `json:"cacheCreationInputTokens"`
		CostUSD    *float64 `json:"costUSD"`
	}
	denial struct {
		ToolName  string          `json:"tool_name"`
		ToolUse   string          `json:"tool_use_id"`
		ToolInput json.RawMessage `json:"tool_input"`
	}
)

func shownUsage(u llm.Usage) usage { return usage{u.Input, u.Output, u.CacheRead, u.CacheWrite} }

func shownModels(models map[string]event.Spending) map[string]modelUsage {
	out := make(map[string]modelUsage, len(models))
	for name, s := range models {
		out[name] = modelUsage{s.Usage.Input, s.Usage.Output, s.Usage.CacheRead, s.Usage.CacheWrite, s.CostUSD}
	}
	return out
}

func shownMessage(m event.AssistantMessage) assistantMessage {
	r := m.Response
	model := r.Model
	if model == "" {
		model = m.Model
	}
	return assistantMessage{ID: r.ID, Type: "message", Role: "assistant", Model: model, Content: contentjson.Blocks(r.Message.Content),
		StopReason: stopReason(r.Stop), Usage: shownUsage(r.Usage)}
}

func stopReason(s llm.StopReason) *string {
	if s == "" {
		return nil
	}
	return new(string(s))
}

// errorNames are the names of failed model calls.
var errorNames = map[llm.Class]string{
	llm.RateLimit: "rate_limit", llm.Overloaded: "overloaded", llm.ServerError: "server_error", llm.Auth: "authentication_failed",
	llm.Forbidden: "authentication_failed", llmconst.NotFound: "model_not_found", llm.Invalid: "invalid_request", llmconst.TooLarge: "invalid_request",
	llm.TooLong: "invalid_request", llmconst.Billing: "billing_error", llmconst.Unavailable: "overloaded",
}

func errorName(c llm.Class) string {
	if name, ok := errorNames[c]; ok {
		return name
	}
	return "unknown"
}

func seconds(d time.Duration) float64 {
	return float64(d.Round(100*time.Millisecond)) / float64(time.Second)
}
