package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/claudecode"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/claudelog"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// claudeLines is the vocabulary of Claude Code: what its lines say otherwise than ours, or besides.
// The lines of a run come from one [Report]; where the vocabularies differ, it asks claudeLines.
type claudeLines struct {
	replay    bool // write messages of the host back
	hooks     bool // report hooks
	keySource string
	plugins   []namedPlugin
	betas     []string
	windows   func(model string) (window, output int)
	hide      func(text string) string // replaces secrets
	summaries bool                     // summarise the calls of each answer

	stop    string // stop_reason of the last answer
	calling bool   // the prompt is at the calls of an answer
	began   string // what began the prompt, if not a message of the host
	tasks   *tasks
	told    map[string]time.Duration // when each slow call was last reported on

	mu  sync.Mutex // guards all
	all spending
}

// newClaudeLines returns the vocabulary for a session.
func newClaudeLines(s *app.App) *claudeLines {
	c := &claudeLines{replay: s.Options.Replay, hooks: s.Options.HookEvents, keySource: s.Provider.Key.Source, betas: s.Options.Betas, tasks: new(tasks), told: map[string]time.Duration{}, all: spending{models: map[string]event.Spending{}}}
	hidden := claudelog.Hidden(append(s.Provider.Secrets(), s.Options.SecretValues()...))
	c.hide = hidden.Text
	for _, dir := range s.Options.Plugins {
		c.plugins = append(c.plugins, namedPlugin{filepath.Base(dir), dir})
	}
	c.windows = func(model string) (window, output int) {
		for _, e := range s.Provider.Models.Entries() {
			if info := modelinfo.OfEntry(e); info.Value == model {
				return info.Window, info.MaxOutput
			}
		}
		return 0, 0
	}
	return c
}

// A namedPlugin is a plugin in the init line.
type namedPlugin struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// claudeInit holds further members of the init line.
type claudeInit struct {
	KeySource     string        `json:"apiKeySource"`
	ClaudeVersion string        `json:"claude_code_version"`
	OutputStyle   string        `json:"output_style"`
	Plugins       []namedPlugin `json:"plugins"`
	Betas         []string      `json:"betas,omitempty"`
	FastMode      string        `json:"fast_mode_state"`
}

// init returns the further members of the init line; nil in our own vocabulary.
func (c *claudeLines) init() *claudeInit {
	if c == nil {
		return nil
	}
	return &claudeInit{KeySource: c.keySource, ClaudeVersion: claudeVersion, OutputStyle: "default", Plugins: append([]namedPlugin{}, c.plugins...), Betas: c.betas, FastMode: "off"}
}

// claudeAuthor holds further members of an assistant line.
type claudeAuthor struct {
	AgentID   string `json:"agent_id,omitempty"`
	AgentType string `json:"subagent_type,omitempty"`
	Timestamp string `json:"timestamp"`
}

// author returns the further members of an assistant line.
func (r *Report) author(e event.Event) *claudeAuthor {
	a := &claudeAuthor{Timestamp: timestamp(e.Time)}
	if r.parent != nil {
		a.AgentID, a.AgentType = strings.TrimSuffix(r.prefix, "/"), r.agent
	}
	return a
}

// claudeAnswer writes a line for each block of an answer. They have the message in common, whose end
// is not known as long as there are blocks to come. With pieces its id is theirs, and the first line
// holds all text: hosts compare it with the pieces since the line before.
func (r *Report) claudeAnswer(e event.Event, m event.AssistantMessage, pieces bool) {
	line := assistantLine{Type: "assistant", Message: shownMessage(m), Parent: r.parent, claudeAuthor: r.author(e)}
	line.Message.StopReason = nil
	r.agentCalled(m)
	r.claude.tasks.begin(m.Response.Message.ToolUses())
	blocks := claudelog.Blocks(m.Response.Message.Content)
	end := min(1, len(blocks)) // of the first line
	if pieces {
		line.Message.ID = m.Key
		for i, b := range m.Response.Message.Content {
			if _, call := b.(llm.ToolUse); !call {
				end = i + 1
			}
		}
	}
	for i := 0; i < len(blocks); i, end = end, end+1 {
		line.Message.Content, line.Origin = blocks[i:end], r.NewOrigin(claudelog.PartID(e.UUID(), end-1, len(blocks)))
		r.Line(line)
	}
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// requesting reports that the model is asked.
func (r *Report) requesting() {
	if r.claude != nil && r.parent == nil {
		r.Line(statusLine{Type: "system", Subtype: "status", Status: new("requesting"), Origin: r.NewOrigin("")})
	}
}

// slowCall is how long a call takes before its progress is reported, and how long it is from one report
// to the next.
const slowCall = 2 * time.Second

// slow reports whether the progress of a call is worth a line.
func (c *claudeLines) slow(call string, elapsed time.Duration) bool {
	if elapsed < c.told[call]+slowCall {
		return false
	}
	c.told[call] = elapsed
	return true
}

// claudeMessage writes a message of the conversation. Those of the host come back only if it wants
// them, with their own ids.
func (r *Report) claudeMessage(m event.UserMessage) {
	line := userLine{Type: "user", Message: userMessage{"user", contentjson.Short(m.Message.Content)}, Origin: r.NewOrigin(m.ID)}
	switch m.Delivery {
	case fact.AsNotice:
		line.Synthetic = true
	case fact.AsContinue, fact.AsHook, fact.AsContext:
		return
	default:
		if !r.claude.replay || r.claude.began != "" {
			return
		}
		line.Replay = true
	}
	r.Line(line)
}

// claudeToolResult writes the result of a call.
func (r *Report) claudeToolResult(e event.Event, d event.ToolResult) {
	u, _ := r.calls.Get(r.prefix + d.Call)
	r.jobStarted(e, d, u)
	r.claude.tasks.over(u.ID)
	r.claude.changedLines(d.Result.Details)
	delete(r.claude.told, r.prefix+d.Call)
	block := contentjson.Block(llm.ToolResult{ID: u.ID, Content: d.Result.Content, IsError: d.Result.IsError})
	r.Line(userLine{Type: "user", Message: userMessage{"user", []any{block}}, Result: claudecode.ToolResult(u.Name, u.Input, &d.Result, r.claude.changedFile), Parent: r.parent,
		Timestamp: timestamp(e.Time), Origin: r.NewOrigin(e.UUID())})
	if r.batch.add(e, d); len(r.batch.results) == len(r.batch.ids) {
		r.summarise(r.batch.ids)
		r.batch = batch{}
	}
}

// maxChanged is the size of the largest changed file that is read for its text before the change.
const maxChanged = 1 << 20

// changedFile returns the text of a file that a call has changed. One with a secret is not known.
func (c *claudeLines) changedFile(path string) (string, bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	data, err := plainfile.ReadFile(path, maxChanged)
	text := string(data)
	return text, err == nil && utf8.ValidString(text) && c.hide(text) == text
}

// claudeDenied reports that a call was refused without a question to a person.
type claudeDenied struct {
	Type       string `json:"type"`
	Subtype    string `json:"subtype"`
	ToolName   string `json:"tool_name"`
	ToolUse    string `json:"tool_use_id"`
	AgentID    string `json:"agent_id,omitempty"`
	ReasonType string `json:"decision_reason_type,omitempty"`
	Reason     string `json:"decision_reason,omitempty"`
	Rule       string `json:"rule,omitempty"`
	Message    string `json:"message"`
	Origin
}

func (r *Report) claudeDenial(name, id string, why permission.Decision, text string) {
	if why.Source == policies.FromPerson {
		return // the host knows its own answer
	}
	r.Line(claudeDenied{Type: "system", Subtype: "permission_denied", ToolName: name, ToolUse: id, AgentID: strings.TrimSuffix(r.prefix, "/"), ReasonType: reasonType(why.Source),
		Reason: why.Reason, Rule: why.Rule, Message: cmp.Or(text, why.Reason), Origin: r.NewOrigin("")})
}

// hookLine writes a line about a hook. Hosts of Claude Code see such lines only if they ask for them.
func (r *Report) hookLine(l hookLine) {
	if c := r.claude; c != nil {
		if !c.hooks {
			return
		}
		if l.Output == nil {
			l.Output = new("")
		}
		if l.Stdout = l.Output; l.Stderr == nil {
			l.Stderr = new("")
		}
		if l.Tool != "" {
			l.Name = l.Event + ":" + l.Tool
		} else {
			l.Name = l.Event
		}
		if l.Outcome == "blocked" {
			l.Outcome = "success"
		}
	}
	r.Line(l)
}

// tellEnd writes the lines that come before the result of a prompt.
func (r *Report) tellEnd(d event.RunEnd) {
	if r.claude == nil || r.parent != nil || r.held {
		return
	}
	switch end := claudecode.EndOf(d.Reason); {
	case d.Reason == event.Interrupted:
		r.Line(userLine{Type: "user", Message: userMessage{"user", []any{contentjson.Block(llm.Text{Text: "[Request interrupted by user]"})}}, Origin: r.NewOrigin("")})
	case end.IsError && end.Subtype == "success":
		text := "API Error: " + d.Message
		r.Line(assistantLine{Type: "assistant", Message: assistantMessage{ID: session.NewID(), Type: "message", Role: "assistant", Model: "<synthetic>",
			Content: []any{contentjson.Block(llm.Text{Text: text})}, StopReason: new("stop_sequence"), StopSequence: new("")}, Error: errorName(d.Class),
			claudeAuthor: &claudeAuthor{Timestamp: timestamp(time.Now())}, Origin: r.NewOrigin("")})
	}
}

// A claudeResult is the result of a prompt.
type claudeResult struct {
	Type       string                 `json:"type"`
	Subtype    string                 `json:"subtype"`
	IsError    bool                   `json:"is_error"`
	Result     *string                `json:"result,omitempty"` // of a success
	Errors     []string               `json:"errors,omitempty"`
	Turns      int                    `json:"num_turns"`
	DurationMS int64                  `json:"duration_ms"`
	APIMS      int64                  `json:"duration_api_ms"`
	TTFTMS     int64                  `json:"ttft_ms"`
	Stop       *string                `json:"stop_reason"`
	CostUSD    float64                `json:"total_cost_usd"`
	Usage      claudecode.Usage       `json:"usage"`
	ModelUsage map[string]claudeModel `json:"modelUsage"`
	Denials    []denial               `json:"permission_denials"`
	Structured json.RawMessage        `json:"structured_output,omitempty"`
	Reason     string                 `json:"terminal_reason,omitempty"`
	APIStatus  *int                   `json:"api_error_status,omitempty"`
	TurnOrigin *turnOrigin            `json:"origin,omitempty"`
	FastMode   string                 `json:"fast_mode_state"`
	Origin
}

// A turnOrigin says what began a prompt, if not a message of the host.
type turnOrigin struct {
	Kind string `json:"kind"`
}

// claudeModel is the usage of one model.
type claudeModel struct {
	modelUsage
	CostUSD   float64 `json:"costUSD"`
	Searches  int     `json:"webSearchRequests"`
	Window    int     `json:"contextWindow"`
	MaxOutput int     `json:"maxOutputTokens"`
}

// claudeOf returns a result in the form of Claude Code. Cost and usage of models are those of all
// prompts so far. It has no unknown cost: that is 0.
func (r *Report) claudeOf(l ResultLine) claudeResult {
	end, c := claudecode.EndOf(r.End.Reason), r.claude
	if r.End.Reason == event.Interrupted && c.calling {
		end.Reason = "aborted_tools"
	}
	c.calling = false
	c.spend(r.End)
	sum := c.soFar()
	out := claudeResult{Type: "result", Subtype: end.Subtype, IsError: end.IsError, Turns: l.Turns, DurationMS: l.DurationMS, APIMS: l.APIMS, TTFTMS: l.TTFTMS,
		CostUSD: sum.USD, Usage: claudecode.UsageOf(r.End.Usage), ModelUsage: sum.Models, Denials: l.Denials, Structured: l.Structured,
		Reason: end.Reason, FastMode: "off", Origin: l.Origin}
	if c.stop != "" {
		out.Stop = &c.stop
	}
	if c.began != "" {
		out.TurnOrigin = &turnOrigin{c.began}
	}
	if string(out.Structured) == "null" {
		out.Structured = nil
	}
	text := l.Result
	switch {
	case end.Subtype != "success":
		if out.Errors = l.Errors; len(out.Errors) == 0 {
			out.Errors = []string{cmp.Or(r.End.Message, string(r.End.Reason))}
		}
	case end.IsError:
		text = "API Error: " + r.End.Message
		if r.End.Status != 0 {
			out.APIStatus = &r.End.Status
		}
		fallthrough
	default:
		if r.End.Reason == event.HookStopped {
			text = cmp.Or(text, r.End.Message)
		}
		out.Result = &text
	}
	return out
}

// spending is what the session has cost so far, also beside its prompts.
type spending struct {
	usd            float64
	models         map[string]event.Spending
	api, took      time.Duration
	added, removed int // lines of files
}

// spend adds a prompt.
func (c *claudeLines) spend(end event.RunEnd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &c.all
	a.usd += orZero(end.CostUSD)
	a.api, a.took = a.api+end.API, a.took+end.Duration
	for name, s := range end.Models {
		sum := a.models[name]
		sum.Usage = sum.Usage.Add(s.Usage)
		sum.CostUSD = new(orZero(sum.CostUSD) + orZero(s.CostUSD))
		a.models[name] = sum
	}
}

// changedLines counts the lines that a call has changed.
func (c *claudeLines) changedLines(details json.RawMessage) {
	var d struct {
		Added   int `json:"additions"`
		Removed int `json:"deletions"`
	}
	if len(details) == 0 || json.Unmarshal(details, &d) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.added, c.all.removed = c.all.added+d.Added, c.all.removed+d.Removed
}

// A sessionUsage is the cost and usage of a session as Claude Code reports it.
type sessionUsage struct {
	USD     float64                `json:"total_cost_usd"`
	APIMS   int64                  `json:"total_api_duration_ms"`
	TookMS  int64                  `json:"total_duration_ms"`
	Added   int                    `json:"total_lines_added"`
	Removed int                    `json:"total_lines_removed"`
	Models  map[string]claudeModel `json:"model_usage"`
}

func (c *claudeLines) soFar() sessionUsage {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &c.all
	u := sessionUsage{a.usd, a.api.Milliseconds(), a.took.Milliseconds(), a.added, a.removed, map[string]claudeModel{}}
	for name, s := range shownModels(a.models) {
		m := claudeModel{modelUsage: s, CostUSD: orZero(s.CostUSD)}
		m.Window, m.MaxOutput = c.windows(name)
		u.Models[name] = m
	}
	return u
}

// text is the usage for a person.
func (u sessionUsage) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Total cost: %s\nTime of models: %.1fs\nTime in all: %.1fs\nChanged lines: %d added, %d removed\n", app.CostText(&u.USD), float64(u.APIMS)/1000, float64(u.TookMS)/1000, u.Added, u.Removed)
	for _, name := range slices.Sorted(maps.Keys(u.Models)) {
		m := u.Models[name]
		fmt.Fprintf(&b, "%s: %d input, %d output, %d read from the cache, %d written to it (%s)\n", name, m.Input, m.Output, m.CacheRead, m.CacheWrite, app.CostText(&m.CostUSD))
	}
	return b.String()
}

// ResultLine returns the line of the ended run's result. A program that drives the command as it
// drives Claude Code takes any exit code but 0 for a failure: the codes are then 0 and 1.
func (r *Report) ResultLine(ctx context.Context, driven bool) (any, cli.Outcome) {
	l, o := r.Result(ctx)
	if r.claude == nil {
		return l, o
	}
	out := r.claudeOf(l)
	if driven && !cli.IsSignal(ctx) {
		o.Code = cli.ExitDone
		if out.IsError {
			o.Code = cli.ExitInternal
		}
	}
	return out, o
}
