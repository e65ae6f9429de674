package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
)

// Control messages.
type (
	controlRequest struct {
		Type    string `json:"type"`
		ID      string `json:"request_id"`
		Request any    `json:"request"`
		Origin
	}
	controlResponse struct {
		Type     string       `json:"type"`
		Response responseBody `json:"response"`
		Origin
	}
	responseBody struct {
		Subtype  string `json:"subtype"` // success or error
		ID       string `json:"request_id"`
		Response any    `json:"response,omitempty"`
		Error    string `json:"error,omitempty"`
		Code     string `json:"error_code,omitempty"`
	}
	cancelRequest struct {
		Type string `json:"type"`
		ID   string `json:"request_id"`
		Origin
	}
)

// A controlCommand is a control request from the host.
type controlCommand struct {
	Subtype        string          `json:"subtype"`
	Model          *string         `json:"model"`
	Mode           string          `json:"mode"`
	Models         []string        `json:"models"`
	Effort         string          `json:"effort"`
	Tools          []string        `json:"tools"`
	ThinkingTokens *int            `json:"max_thinking_tokens"`
	CancelQueued   bool            `json:"cancel_queued"`
	Instructions   string          `json:"instructions"` // for compact
	AgentID        string          `json:"agent_id"`     // for stop_agent: the agent's id or name
	JobID          string          `json:"job_id"`       // for stop_job
	ServerName     string          `json:"serverName"`
	Enabled        *bool           `json:"enabled"`
	NewServers     json.RawMessage `json:"servers"`
	Server         string          `json:"server_name"` // for mcp_message
	Message        json.RawMessage `json:"message"`
	Task           string          `json:"task_id"`
	MessageID      string          `json:"message_uuid"`
	UserMessage    string          `json:"user_message_id"`
	DryRun         bool            `json:"dry_run"`
	Title          string          `json:"title"`
	Settings       json.RawMessage `json:"settings"`

	app.Budget
	named map[string]json.RawMessage // all members
}

// A receipt lists what an interrupt affected, by message ids.
type receipt struct {
	StillQueued []string `json:"still_queued"`
	Cancelled   []string `json:"cancelled"`
	Agents      []string `json:"agents,omitempty"` // background agents that are being stopped
	Jobs        []string `json:"jobs,omitempty"`   // background commands, which keep running
}

// A modelChoice is modelinfo.Info in the format of the Claude Agent SDK.
type modelChoice struct {
	Value       string   `json:"value"`
	Resolved    string   `json:"resolvedModel,omitempty"`
	Name        string   `json:"displayName"`
	Description string   `json:"description"`
	Effort      bool     `json:"supportsEffort,omitempty"`
	Efforts     []string `json:"supportedEffortLevels,omitempty"`
	Adaptive    bool     `json:"supportsAdaptiveThinking,omitempty"`
	Fast        bool     `json:"supportsFastMode,omitempty"`
}

func choiceOf(i modelinfo.Info) modelChoice {
	text := fmt.Sprintf("%s, context window %d", i.Provider, i.Window)
	return modelChoice{Value: i.Value, Name: i.DisplayName, Description: cmp.Or(i.Description, text), Effort: len(i.Efforts) > 0, Efforts: i.Efforts, Adaptive: i.Adaptive, Fast: i.Fast}
}

// changes lists requests that need at least one of these members, null or not. Otherwise a misspelt
// member could lift a limit.
var changes = map[string][]string{
	"set_fallback_models": {"models"},
	"set_budget":          {"max_turns", "max_model_calls", "max_budget_usd", "timeout_ms"},
	"set_tools":           {"tools"},
}

// incomplete returns an error if a change request lacks its members.
func (o controlCommand) incomplete() error {
	names := changes[o.Subtype]
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { _, ok := o.named[name]; return ok }) {
		return nil
	}
	return fmt.Errorf("%s: %s is missing", o.Subtype, strings.Join(names, ", or "))
}

// handleControl runs a control request and answers it. Requests that wait for an MCP server or a
// command do not delay later requests. A refused initialize ends the program: its host may not wait for
// the answer before it sends a prompt.
func (d *Session) handleControl(ctx context.Context, id string, request json.RawMessage) error {
	var head struct {
		Subtype string `json:"subtype"`
	}
	if json.Unmarshal(request, &head) == nil && head.Subtype == "initialize" {
		answer, err := d.initializeLater(request)
		d.reply(id, answer, err)
		return err
	}
	if do, ok := hostRequests[head.Subtype]; ok {
		d.waiting.Go(func() {
			answer, err := do(d, ctx, request)
			d.reply(id, answer, err)
		})
		return nil
	}
	var o controlCommand
	err := json.Unmarshal(request, &o)
	if err == nil {
		err = json.Unmarshal(request, &o.named)
	}
	if err == nil {
		err = o.incomplete()
	}
	if err == nil && slices.Contains([]string{"mcp_reconnect", "mcp_toggle", "mcp_set_servers"}, o.Subtype) {
		d.waiting.Go(func() {
			answer, err := d.changeServers(ctx, o)
			d.reply(id, answer, err)
		})
		return nil
	}
	if err == nil && (o.Subtype == "stop_task" || o.Subtype == "rewind_files") {
		d.waiting.Go(func() {
			answer, err := d.slowly(ctx, o)
			d.reply(id, answer, err)
		})
		return nil
	}
	if err == nil && o.Subtype == "set_model" && len(d.modelHooks) > 0 { // the host has to answer them
		d.waiting.Go(func() {
			answer, err := d.switchModel(ctx, o.Model)
			d.reply(id, answer, err)
		})
		return nil
	}
	if err == nil && o.Subtype == "stop_job" {
		d.waiting.Go(func() { d.reply(id, struct{}{}, d.stopJob(ctx, o.JobID)) })
		return nil
	}
	if err != nil {
		d.reply(id, nil, fmt.Errorf("the request: %w", mismatch(err)))
		return nil
	}
	answer, err := d.carryOut(ctx, o)
	d.reply(id, answer, err)
	return nil
}

func (d *Session) reply(id string, answer any, err error) {
	body := responseBody{Subtype: "success", ID: id, Response: answer}
	if err != nil {
		body = responseBody{Subtype: "error", ID: id, Error: d.H.OneLine(err.Error())}
		var coded *codedError
		if errors.As(err, &coded) {
			body.Code = coded.code
		}
	}
	d.out.answer(controlResponse{Type: "control_response", Response: body, Origin: d.sign()})
}

func (d *Session) carryOut(ctx context.Context, o controlCommand) (any, error) {
	switch o.Subtype {
	case "interrupt":
		return d.interrupt(ctx, o.CancelQueued)
	case "set_permission_mode":
		if o.Mode == "" {
			return nil, errors.New("set_permission_mode: mode is missing")
		}
		if err := d.changeMode(ctx, permission.Mode(o.Mode)); err != nil {
			return nil, err
		}
		d.tellMode(o.Mode)
		return map[string]string{"mode": o.Mode}, nil
	case "set_model":
		return d.switchModel(ctx, o.Model)
	case "set_fallback_models":
		return d.inForce(d.s.SetFallbacks(ctx, o.Models))
	case "set_max_thinking_tokens":
		thought := llm.Thought{Mode: llm.ThinkOff}
		switch n := o.ThinkingTokens; {
		case n == nil && d.claude:
			thought = d.s.Agent.Thinking // as at the start
		case n == nil || *n == 0:
		case *n < 0:
			return nil, fmt.Errorf("set_max_thinking_tokens: %d; write 1 or more, or 0 for no thinking", *n)
		default:
			thought = llm.Thought{Budget: *n}
		}
		return d.inForce(d.s.SetThinking(ctx, thought))
	case "set_effort":
		if !slices.Contains(settings.Efforts, o.Effort) {
			return nil, fmt.Errorf("set_effort: %q is not one of %s", cli.Clip(o.Effort), strings.Join(settings.Efforts, ", "))
		}
		return d.inForce(d.s.SetThinking(ctx, llm.Thought{Effort: o.Effort}))
	case "set_budget":
		b, err := change(o.Budget, d.s.Session.Agent().Budget, o.named)
		if err != nil {
			return nil, err
		}
		return d.inForce(d.s.SetBudget(ctx, b))
	case "set_tools":
		return d.inForce(d.s.SetTools(ctx, o.Tools))
	case "get_settings":
		if d.claude {
			return d.claudeSettings(), nil
		}
		return d.inForce(nil)
	case "list_agents":
		return map[string][]app.RunningAgent{"agents": d.s.RunningAgents()}, nil
	case "stop_agent":
		if o.AgentID == "" {
			return nil, errors.New("stop_agent: agent_id is missing; list_agents names the agents at work")
		}
		return struct{}{}, d.s.Session.StopAgent(o.AgentID)
	case "list_jobs":
		return map[string][]app.RunningJob{"jobs": d.s.RunningJobs()}, nil
	case "get_context_usage":
		u, err := d.s.Session.ContextUsage(ctx)
		if d.claude && err == nil {
			return d.claudeContext(u), nil
		}
		return u, err
	case "compact":
		wish := agent.Input{Compact: true, Text: o.Instructions}
		if _, err := d.s.Session.Steer(ctx, wish); !errors.Is(err, agent.ErrNotRunning) {
			return struct{}{}, err
		}
		return struct{}{}, d.enqueue(wish)
	case "mcp_message":
		return d.fromHost(o.Server, o.Message)
	case "cancel_async_message":
		return map[string]bool{"cancelled": d.cancelMessage(o.MessageID)}, nil
	case "rename_session":
		if strings.TrimSpace(o.Title) == "" {
			return nil, errors.New("rename_session: title is missing")
		}
		return struct{}{}, d.s.Session.SetTitle(ctx, strings.TrimSpace(o.Title))
	case "list_models":
		return map[string][]modelChoice{"models": d.models()}, nil
	case "get_binary_version":
		return map[string]string{"version": claudeVersion, "openagent_version": cli.Version()}, nil
	case "apply_flag_settings":
		return d.applySettings(ctx, o.Settings)
	case "mcp_status":
		if d.claude {
			return map[string][]claudeServer{"mcpServers": d.claudeServers(ctx)}, nil
		}
		return map[string][]mcp.Status{"mcpServers": d.s.ServerStatus()}, nil
	}
	return nil, &codedError{"unsupported_request", fmt.Errorf("unknown control request %q", cli.Clip(o.Subtype))}
}

// A codedError is an error with a code that hosts of Claude Code know.
type codedError struct {
	code string
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func (d *Session) stopJob(ctx context.Context, id string) error {
	if id == "" {
		return errors.New("stop_job: job_id is missing; list_jobs names the background commands")
	}
	return d.s.StopJob(ctx, id)
}

// inForce answers a change with the effective settings.
func (d *Session) inForce(err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return d.s.EffectiveSettings(), nil
}

// change returns a budget with the limits that a request names; null means no limit. Other limits
// stay. Numbers that are not positive are refused.
func change(b app.Budget, now agent.Budget, named map[string]json.RawMessage) (agent.Budget, error) {
	for name, n := range map[string]*float64{"max_turns": asAmount(b.Turns), "max_model_calls": asAmount(b.ModelCalls), "max_budget_usd": b.USD, "timeout_ms": asAmount(b.TimeMS)} {
		if n != nil && !(*n > 0) {
			return now, fmt.Errorf("set_budget: %s is %v; write a number above 0, or null for no limit", name, *n)
		}
	}
	if ms := orZero(b.TimeMS); ms > math.MaxInt64/int64(time.Millisecond) {
		return now, fmt.Errorf("set_budget: timeout_ms is %d, which is too long; write a smaller number", ms)
	}
	for name := range named {
		switch name {
		case "max_turns":
			now.Turns = orZero(b.Turns)
		case "max_model_calls":
			now.ModelCalls = orZero(b.ModelCalls)
		case "max_budget_usd":
			now.USD = orZero(b.USD)
		case "timeout_ms":
			now.Time = time.Duration(orZero(b.TimeMS)) * time.Millisecond
		}
	}
	return now, nil
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func asAmount[T int | int64](n *T) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// changeMode changes the permission mode, if managed settings permit it.
func (d *Session) changeMode(ctx context.Context, mode permission.Mode) error {
	if err := d.s.Options.Permits(mode); err != nil {
		return err
	}
	if err := d.s.Options.PermitsBypass(mode); err != nil {
		return &codedError{"bypass_not_launched", err}
	}
	return d.s.Session.SetMode(ctx, mode)
}

// interrupt stops the current run and any run about to start.
func (d *Session) interrupt(ctx context.Context, cancelQueued bool) (receipt, error) {
	r := receipt{StillQueued: []string{}, Cancelled: []string{}}
	if current := d.withdraw(cancelQueued, &r); current != nil {
		select {
		case <-current.started:
		case <-current.done: // agents may be running in the background
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
	got, err := d.s.Session.Interrupt(ctx)
	r.Jobs = d.s.JobIDs()
	if errors.Is(err, agent.ErrNotRunning) {
		return r, nil
	}
	r.Cancelled = append(r.Cancelled, got.Cleared...)
	r.Agents = got.Agents
	return r, err
}
