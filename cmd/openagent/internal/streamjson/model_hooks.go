package streamjson

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/llm"
)

// The events of hosts about another model, which the agent itself does not have.
const (
	preModelSwitch  = "PreModelSwitch"
	postModelSwitch = "PostModelSwitch"
)

// A modelHook is a hook of the host about changes of the model.
type modelHook struct {
	hookCallback
	match string // of the new model's name
}

// modelSwitch is the input of a modelHook.
type modelSwitch struct {
	Session    string  `json:"session_id"`
	Transcript string  `json:"transcript_path"`
	Cwd        string  `json:"cwd"`
	Event      string  `json:"hook_event_name"`
	Mode       string  `json:"permission_mode,omitempty"`
	From       string  `json:"from_model"`
	To         string  `json:"to_model"`
	Requested  *string `json:"requested_model"` // null: the default
	Source     string  `json:"source"`          // sdk
	Tokens     int     `json:"context_tokens"`
	Warm       bool    `json:"prompt_cache_warm"`
	TTL        string  `json:"cache_ttl"`
	USD        float64 `json:"estimated_cache_write_usd"`
	Pricing    string  `json:"pricing"` // catalog, or default if the price is not known
}

// A modelVerdict is the answer of a modelHook.
type modelVerdict struct {
	Continue *bool  `json:"continue"`
	Stop     string `json:"stopReason"`
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Specific struct {
		Permission string `json:"permissionDecision"`
		Why        string `json:"permissionDecisionReason"`
		Context    string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// refusal returns why a hook is against the change, "" if it is not. Nobody can be asked here.
func (v modelVerdict) refusal() string {
	switch {
	case v.Continue != nil && !*v.Continue:
		return cmp.Or(v.Stop, v.Reason, "a hook stops it")
	case v.Decision == "block":
		return cmp.Or(v.Reason, "a hook is against it")
	case v.Specific.Permission == "deny", v.Specific.Permission == "ask":
		return cmp.Or(v.Specific.Why, "a hook is against it")
	}
	return ""
}

// switchModel changes the model. Hooks of the host may refuse that, or add context for the new model.
func (d *Session) switchModel(ctx context.Context, requested *string) (any, error) {
	name := d.s.Provider.Model.Value
	if requested != nil && *requested != "default" {
		name = *requested
	} else {
		requested = nil
	}
	before := d.s.Session.Agent().Model
	in := modelSwitch{Session: d.s.Session.ID, Transcript: d.transcript(), Cwd: d.s.Project, From: modelinfo.Of(before).Value, To: name, Requested: requested, Source: "sdk", TTL: "5m", Pricing: "default"}
	if len(d.modelHooks) > 0 {
		to, err := d.s.Provider.FindModel(name)
		if err != nil {
			return nil, err
		}
		d.describeSwitch(ctx, &in, to)
		verdicts, err := d.callModelHooks(ctx, preModelSwitch, in)
		if err != nil {
			return nil, fmt.Errorf("set_model: %w", err)
		}
		for _, v := range verdicts {
			if why := v.refusal(); why != "" {
				return nil, fmt.Errorf("set_model: %s", why)
			}
		}
	}
	if err := d.s.SetModel(ctx, name); err != nil {
		return nil, err
	}
	verdicts, err := d.callModelHooks(ctx, postModelSwitch, in)
	if err != nil {
		d.H.Warn("%v", err)
	}
	for _, v := range verdicts {
		if v.Specific.Context != "" {
			d.mu.Lock()
			d.context = append(d.context, llm.Text{Text: v.Specific.Context})
			d.mu.Unlock()
		}
	}
	return d.inForce(nil)
}

// describeSwitch completes what is known of a change.
func (d *Session) describeSwitch(ctx context.Context, in *modelSwitch, to llm.Model) {
	info := modelinfo.Of(to)
	in.To = info.Value
	if mode, err := d.s.Session.Mode(ctx); err == nil {
		in.Mode = string(mode)
	}
	if u, err := d.s.Session.ContextUsage(ctx); err == nil {
		in.Tokens = u.Tokens
	}
	if p := info.Price; p != nil {
		in.Pricing, in.USD = "catalog", float64(in.Tokens)*p.CacheWrite/1e6
	}
}

// callModelHooks asks the host about a change. A failure counts as for other hooks.
func (d *Session) callModelHooks(ctx context.Context, event string, in modelSwitch) ([]modelVerdict, error) {
	var out []modelVerdict
	in.Event = event
	for _, k := range d.modelHooks[event] {
		if fits, err := regexp.MatchString(k.match, in.To); k.match != "" && k.match != "*" && (err != nil || !fits) {
			continue
		}
		var v modelVerdict
		blocked, err := k.call(ctx, hook.Event(event), encoded(in), "", func(answer json.RawMessage) error {
			if len(answer) == 0 {
				return nil
			}
			return json.Unmarshal(answer, &v)
		})
		if err == nil && blocked != "" {
			err = errors.New(blocked)
		}
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}
