package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// Changes to a running session, as far as managed settings permit them.

// EffectiveSettings holds the current settings of a session.
type EffectiveSettings struct {
	Model     string   `json:"model"`
	Provider  string   `json:"provider,omitempty"`
	Window    int      `json:"context_window"`
	Assumed   bool     `json:"context_window_assumed,omitempty"`
	Priced    bool     `json:"price_known"`
	Fallbacks []string `json:"fallback_models"`
	Effort    string   `json:"effort,omitempty"`
	Thinking  int      `json:"max_thinking_tokens,omitempty"`
	Mode      string   `json:"thinking,omitempty"`      // adaptive or off
	Note      string   `json:"thinking_note,omitempty"` // that it has no effect
	Budget    Budget   `json:"budget"`
	Tools     []string `json:"tools"`
}

// A Budget is agent.Budget in control messages; null means no limit.
type Budget struct {
	Turns      *int     `json:"max_turns"`
	ModelCalls *int     `json:"max_model_calls"`
	USD        *float64 `json:"max_budget_usd"`
	TimeMS     *int64   `json:"timeout_ms"`
}

// EffectiveSettings returns the settings that the next model call of the session uses.
func (s *App) EffectiveSettings() EffectiveSettings {
	a := s.Session.Agent()
	m := modelinfo.Of(a.Model)
	f := EffectiveSettings{Model: m.Value, Provider: m.Provider, Window: m.Window, Assumed: m.Assumed, Priced: m.Price != nil, Fallbacks: []string{}, Tools: []string{},
		Effort: a.Thinking.Effort, Thinking: a.Thinking.Budget, Mode: string(a.Thinking.Mode), Note: unthinking(a.Model, a.Thinking, len(a.Tools))}
	for _, m := range a.Fallbacks {
		f.Fallbacks = append(f.Fallbacks, m.Name())
	}
	for _, t := range a.Tools {
		f.Tools = append(f.Tools, t.Spec().Name)
	}
	f.Budget = Budget{limited(a.Budget.Turns), limited(a.Budget.ModelCalls), limited(a.Budget.USD), limited(a.Budget.Time.Milliseconds())}
	return f
}

func limited[T int | int64 | float64](n T) *T {
	if n == 0 {
		return nil
	}
	return &n
}

// models returns the models with the given names.
func (s *App) models(names []string) ([]llm.Model, error) {
	var list []llm.Model
	for _, name := range names {
		m, err := s.modelNamed(name)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// SetModel changes the model of the session.
func (s *App) SetModel(ctx context.Context, name string) error {
	list, err := s.models([]string{name})
	if err != nil {
		return err
	}
	return s.Session.SetModel(ctx, list[0])
}

// SetFallbacks changes the fallback models, unless managed settings name them.
func (s *App) SetFallbacks(ctx context.Context, names []string) error {
	var held []string
	v, fixed := s.Options.Managed("fallback_models")
	if fixed && (json.Unmarshal(v.Value, &held) != nil || !slices.Equal(held, names)) {
		return fmt.Errorf("%s sets the fallback models to %s", v.Source, v.Value)
	}
	if fixed {
		return nil // they are
	}
	list, err := s.models(names)
	if err != nil {
		return err
	}
	return s.Session.SetFallback(ctx, list...)
}

// SetThinking changes the model's thinking effort.
func (s *App) SetThinking(ctx context.Context, t llm.Thought) error {
	if err := modelcall.CheckThought(t); err != nil {
		return err
	}
	if err := s.Options.PermitsThinking(t.Tokens()); err != nil {
		return err
	}
	return s.Session.SetThinking(ctx, t)
}

// SetBudget changes the limits of the session.
func (s *App) SetBudget(ctx context.Context, b agent.Budget) error {
	if err := s.Options.PermitsBudget(b); err != nil {
		return err
	}
	return s.Session.SetBudget(ctx, b)
}

// SetTools limits the session to the named tools of the run. Without names it restores all.
func (s *App) SetTools(ctx context.Context, names []string) error {
	all, chosen := s.Agent.Tools, []tool.Tool{}
	var known []string
	for _, t := range all {
		known = append(known, t.Spec().Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no tool %q%s", cli.Clip(name), cmp.Or(cli.Suggestion(name, known), "; there are "+strings.Join(known, ", ")))
		}
	}
	for i, t := range all {
		if len(names) == 0 || slices.Contains(names, known[i]) {
			chosen = append(chosen, t)
		}
	}
	return s.Session.SetTools(ctx, chosen)
}

// ParseBudgetChange applies words such as turns=5, usd=0.50, calls=9 and time=10m to a budget. The
// value none removes a limit.
func ParseBudgetChange(b agent.Budget, words []string) (agent.Budget, error) {
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		none := value == "none"
		var err error
		switch name {
		case "turns":
			if b.Turns = 0; !none {
				err = cli.Count(&b.Turns)(value)
			}
		case "calls":
			if b.ModelCalls = 0; !none {
				err = cli.Count(&b.ModelCalls)(value)
			}
		case "usd":
			if b.USD = 0; !none {
				err = cli.Dollars(&b.USD)(value)
			}
		case "time":
			if b.Time = 0; !none {
				err = cli.Duration(&b.Time)(value)
			}
		default:
			return b, fmt.Errorf("invalid limit %q; write turns=N, calls=N, usd=X or time=DURATION, with none for no limit", cli.Clip(w))
		}
		if err != nil {
			return b, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b, nil
}

// BudgetText formats the limits for the user.
func (f EffectiveSettings) BudgetText() string {
	var words []string
	if n := f.Budget.Turns; n != nil {
		words = append(words, cli.Plural(*n, "turn"))
	}
	if n := f.Budget.ModelCalls; n != nil {
		words = append(words, cli.Plural(*n, "model call"))
	}
	if n := f.Budget.USD; n != nil {
		words = append(words, fmt.Sprintf("$%g", *n))
	}
	if n := f.Budget.TimeMS; n != nil {
		words = append(words, (time.Duration(*n) * time.Millisecond).String())
	}
	return cmp.Or(strings.Join(words, ", "), "no limit")
}

// ThinkingText formats the thinking effort for the user.
func (f EffectiveSettings) ThinkingText() string {
	switch {
	case f.Thinking > 0:
		return fmt.Sprintf("up to %d tokens", f.Thinking)
	case f.Effort != "":
		return "effort " + f.Effort
	}
	return cmp.Or(f.Mode, "model default")
}
