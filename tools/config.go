package tools

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed config.md
var configText string

const (
	// maxSetting bounds the bytes of a value.
	maxSetting = 64 << 10
	// maxShownSetting bounds the bytes of a value in a list and in titles.
	maxShownSetting = 200
	// maxListedSettings is how many keys the description lists.
	maxListedSettings = 20
)

// configSchema is written out, because value may be any JSON.
const configSchema = `{
	"type": "object",
	"properties": {
		"action": {"type": "string", "enum": ["get", "set", "list"]},
		"key": {"type": "string"},
		"value": {}
	},
	"required": ["action"],
	"additionalProperties": false
}`

type configInput struct {
	Action string          `json:"action"`
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
}

// configEntry is the part of the Details about a setting.
type configEntry struct {
	Key string `json:"key"`
	toolapi.SettingValue
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
}

// newConfig returns the tool with which a model sees and changes settings. It can change only
// the settings that are offered. Do not offer settings that loosen permissions or the
// sandbox, or that select where requests and keys are sent.
func newConfig(settings toolapi.Settings) tool.Tool {
	c := config{settings}
	return tool.New(tool.Spec{
		Name: "Config", Title: "Settings", Description: configText + c.listed(), Input: json.RawMessage(configSchema),
		NonDestructive: true, Idempotent: true,
	}, c.run).OnClassify(func(_ tool.Call, in configInput) tool.Traits {
		class := tool.Traits{ReadOnly: true, Touches: []string{"config:"}}
		if in.Action == "set" && in.Key != "" {
			class.ReadOnly = false
			class.Access = []permission.Access{{Kind: permission.UseName, Target: in.Key}}
			class.ConfirmReason = "it changes the user's settings for good"
		}
		return class
	}).OnPreview(func(_ tool.Call, in configInput) string {
		if in.Action != "set" {
			return ""
		}
		return previewFields(previewField{"setting", in.Key}, previewField{"value", string(in.Value)})
	})
}

type config struct{ settings toolapi.Settings }

func (c config) run(ctx context.Context, _ tool.Call, in configInput) (*tool.Result, error) {
	switch {
	case in.Action == "list":
		return c.list(), nil
	case in.Key == "":
		return tool.Errorf("key is missing; %s", c.names()), nil
	case in.Action == "set" && in.Value == nil:
		return tool.Errorf("value is missing; null goes back to the default"), nil
	}
	s, ok := c.find(in.Key)
	if !ok {
		return tool.Errorf("there is no setting %.100q; %s", in.Key, c.names()), nil
	}
	if in.Action == "get" {
		return c.get(s), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.set(s, in.Value), nil
}

func (c config) find(key string) (toolapi.Setting, bool) {
	for _, s := range c.settings.Known() {
		if s.Key == key {
			return s, true
		}
	}
	return toolapi.Setting{}, false
}

func (c config) keys() []string {
	var keys []string
	for _, s := range c.settings.Known() {
		keys = append(keys, s.Key)
	}
	return keys
}

// listed names the settings for the description, by which a search finds them too.
func (c config) listed() string {
	keys := c.keys()
	if len(keys) == 0 {
		return ""
	}
	more := ""
	if len(keys) > maxListedSettings {
		keys, more = keys[:maxListedSettings], " and others"
	}
	return "- Keys: " + strings.Join(keys, ", ") + more + "."
}

func (c config) names() string {
	names := c.keys()
	if names == nil {
		return "there are none"
	}
	return "there are " + strings.Join(names, ", ")
}

func (c config) list() *tool.Result {
	entries := []configEntry{}
	var lines []string
	for _, s := range c.settings.Known() {
		v, err := c.settings.Get(s.Key)
		if err != nil {
			return tool.Errorf("%v", err)
		}
		entries = append(entries, configEntry{s.Key, v, s.Type, s.Description})
		lines = append(lines, fmt.Sprintf("%s = %s (%s): %s", s.Key, shownSetting(v.Value), v.Source, s.Description))
	}
	if lines == nil {
		lines = []string{"There are no settings."}
	}
	r := tool.Text(strings.Join(lines, "\n"))
	r.Title = text.Count(len(entries), "setting")
	r.Details = toolapi.Details(map[string]any{"settings": entries})
	return r
}

func (c config) get(s toolapi.Setting) *tool.Result {
	v, err := c.settings.Get(s.Key)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	r := tool.Text(fmt.Sprintf("%s = %s (%s)", s.Key, v.Value, v.Source))
	r.Title = fmt.Sprintf("%s = %s", s.Key, shownSetting(v.Value))
	r.Details = toolapi.Details(configEntry{s.Key, v, s.Type, ""})
	return r
}

func (c config) set(s toolapi.Setting, value json.RawMessage) *tool.Result {
	if len(value) > maxSetting {
		return tool.Errorf("the value has %d bytes; a setting holds at most %d", len(value), maxSetting)
	}
	if toolapi.IsNull(value) {
		value = nil
	} else {
		value = s.Repaired(value)
		if err := s.Accepts(value); err != nil {
			return tool.Errorf("%s cannot be set to %s: %v", s.Key, shownSetting(value), err)
		}
	}
	if err := c.settings.Set(s.Key, value); err != nil {
		return tool.Errorf("%v", err)
	}
	v, err := c.settings.Get(s.Key)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	text := fmt.Sprintf("Saved. %s = %s (%s)", s.Key, v.Value, v.Source)
	switch {
	case value == nil && v.Source != toolapi.FromDefault:
		text += ", which counts before what was removed here."
	case value != nil && !sameJSON(v.Value, value):
		text += ", which counts before what was saved."
	}
	r := tool.Text(text)
	r.Title = fmt.Sprintf("Set %s to %s", s.Key, shownSetting(v.Value))
	r.Details = toolapi.Details(configEntry{s.Key, v, s.Type, ""})
	r.Patch.Happened = []tool.SideEvent{{Event: "ConfigChange", Fields: map[string]string{"source": "user_settings", "name": s.Key}}}
	return r
}

func sameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(toolapi.CompactJSON(a), toolapi.CompactJSON(b))
}

// shownSetting shortens a value for a line.
func shownSetting(v json.RawMessage) string {
	return text.Bytes(string(v), maxShownSetting)
}
