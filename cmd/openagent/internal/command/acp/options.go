package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	protocol "github.com/openagent-go/agent/internal/acp"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// Ids of the config options.
const (
	modeOption   = "mode"
	modelOption  = "model"
	effortOption = "effort"
)

const defaultEffort = "default"

// A change holds the parameters of session/set_mode and session/set_config_option.
type change struct {
	Mode   string          `json:"modeId"`
	Option string          `json:"configId"`
	Value  json.RawMessage `json:"value"`
}

// modeTexts are the names and descriptions of permission modes.
var modeTexts = map[permission.Mode][2]string{
	permission.Default:     {"Ask", "Ask before changes and commands"},
	permission.AcceptEdits: {"Accept edits", "Change files without asking, ask before commands"},
	permission.Plan:        {"Plan", "Read only, and propose a plan"},
	permission.Auto:        {"Auto", "Do everything but the dangerous, and ask before that"},
	permission.DontAsk:     {"Do not ask", "Refuse what no rule allows"},
	permission.Bypass:      {"Bypass permissions", "Do everything without asking"},
}

// modes returns the permission modes that are permitted.
func (e *editorSession) modes(ctx context.Context) *protocol.Modes {
	current, err := e.app.Session.Mode(ctx)
	if err != nil {
		current = permission.Mode(e.app.Options.Mode)
	}
	m := &protocol.Modes{Current: string(cmp.Or(current, permission.Default))}
	for _, mode := range policies.Modes {
		if string(mode) != m.Current && e.app.Options.Permits(mode) != nil {
			continue
		}
		words := modeTexts[mode]
		m.Available = append(m.Available, protocol.Mode{ID: string(mode), Name: cmp.Or(words[0], string(mode)), Description: words[1]})
	}
	return m
}

// options returns the choices that the client shows.
func (e *editorSession) options(ctx context.Context) []protocol.ConfigOption {
	m := e.modes(ctx)
	mode := protocol.ConfigOption{ID: modeOption, Name: "Mode", Description: "How to decide calls that no rule covers", Category: "mode", Type: "select", Current: m.Current}
	for _, v := range m.Available {
		mode.Options = append(mode.Options, protocol.OptionValue{Value: v.ID, Name: v.Name, Description: v.Description})
	}
	a := e.app.Session.Agent()
	now := modelinfo.Of(a.Model)
	model := protocol.ConfigOption{ID: modelOption, Name: "Model", Category: "model", Type: "select", Current: now.Value}
	for _, entry := range e.app.Provider.Models.Entries() {
		if entry.Provider == providers.Vendor(e.app.Provider.Name.Value) && e.app.Options.PermitsModel(entry.Name) == nil {
			i := modelinfo.OfEntry(entry)
			model.Options = append(model.Options, protocol.OptionValue{Value: i.Value, Name: cmp.Or(i.DisplayName, i.Value), Description: i.Description})
		}
	}
	if !slices.ContainsFunc(model.Options, func(v protocol.OptionValue) bool { return v.Value == now.Value }) {
		model.Options = slices.Insert(model.Options, 0, protocol.OptionValue{Value: now.Value, Name: cmp.Or(now.DisplayName, now.Value)})
	}
	all := []protocol.ConfigOption{mode, model}
	if len(now.Efforts) == 0 {
		return all
	}
	effort := protocol.ConfigOption{ID: effortOption, Name: "Effort", Description: "How much the model thinks", Category: "thought_level", Type: "select",
		Current: cmp.Or(a.Thinking.Effort, defaultEffort), Options: []protocol.OptionValue{{Value: defaultEffort, Name: "Default"}}}
	for _, word := range now.Efforts {
		effort.Options = append(effort.Options, protocol.OptionValue{Value: word, Name: strings.ToUpper(word[:1]) + word[1:]})
	}
	if !slices.ContainsFunc(effort.Options, func(v protocol.OptionValue) bool { return v.Value == effort.Current }) {
		effort.Options = append(effort.Options, protocol.OptionValue{Value: effort.Current, Name: effort.Current})
	}
	return append(all, effort)
}

func (e *editorSession) sendOptions(ctx context.Context) {
	e.send(&protocol.OptionsUpdate{Update: "config_option_update", Options: e.options(ctx)})
}

// change carries out session/set_mode and session/set_config_option.
func (e *editorSession) change(ctx context.Context, method string, c change) (any, error) {
	if method == "session/set_mode" {
		c.Option, c.Value = modeOption, mustJSON(c.Mode)
	}
	var value string
	if json.Unmarshal(c.Value, &value) != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "the value of %q is not a text", cli.Clip(c.Option))
	}
	options := e.options(ctx)
	at := slices.IndexFunc(options, func(o protocol.ConfigOption) bool { return o.ID == c.Option })
	if at < 0 {
		return nil, protocol.Errorf(protocol.InvalidParams, "there is no option %q", cli.Clip(c.Option))
	}
	if !slices.ContainsFunc(options[at].Options, func(v protocol.OptionValue) bool { return v.Value == value }) {
		return nil, protocol.Errorf(protocol.InvalidParams, "the option %s has no value %q", c.Option, cli.Clip(value))
	}
	var err error
	switch c.Option {
	case modeOption:
		err = e.app.Session.SetMode(ctx, permission.Mode(value))
	case modelOption:
		err = e.app.SetModel(ctx, value)
	case effortOption:
		thought := llm.Thought{Effort: value}
		if value == defaultEffort {
			thought = llm.Thought{}
		}
		err = e.app.SetThinking(ctx, thought)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "%v", err)
	}
	options = e.options(ctx)
	if method == "session/set_mode" {
		return protocol.Later{Result: struct{}{}, After: func() {
			e.send(&protocol.OptionsUpdate{Update: "config_option_update", Options: options})
		}}, nil
	}
	answer := struct {
		Options []protocol.ConfigOption `json:"configOptions"`
	}{options}
	if c.Option != modeOption {
		return answer, nil
	}
	return protocol.Later{Result: answer, After: func() { e.send(&protocol.ModeUpdate{Update: "current_mode_update", Mode: value}) }}, nil
}

func mustJSON(v any) json.RawMessage {
	data, err := cli.EncodeLine(v)
	if err != nil {
		panic(err) // texts can be encoded
	}
	return bytes.TrimSpace(data)
}
