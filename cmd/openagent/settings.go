package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/openagent-go/agent/tools"
)

// Settings that are kept in settings.json of the user's folder. A project has
// none: a repository that was cloned does not choose the model.
const (
	modelSetting   = "model"
	smallSetting   = "small_model"
	noColorSetting = "no_color"
)

// fromSettings is the source of their values.
const fromSettings = "settings.json"

const maxModelName = 200 // bytes

// saved are the models that settings.json names.
type saved struct{ model, small setting }

// settings are the kept settings, with what counts before them and where they
// are not set. The zero provider knows of neither.
func (h *host) settings(home string, p provider) *tools.SettingsFile {
	f := &tools.SettingsFile{Path: filepath.Join(home, "settings.json"), Fixed: map[string]tools.SettingValue{}, Settings: []tools.Setting{
		{Key: modelSetting, Type: "string", Default: quoted(defaultModel(p.name.value)), Check: checkModelName, Description: "the model that runs begin with"},
		{Key: smallSetting, Type: "string", Default: quoted(p.defaultSmall()), Check: checkModelName, Description: "the cheap model that digests web pages"},
		{Key: noColorSetting, Type: "boolean", Default: json.RawMessage("false"), Description: "no colours on the terminal"},
	}}
	for key, s := range map[string]setting{modelSetting: p.model, smallSetting: p.small} {
		switch s.source {
		case "", "default", "model", fromSettings: // what was not said, or is said in the file
		default:
			f.Fixed[key] = tools.SettingValue{Value: quoted(s), Source: s.source}
		}
	}
	if h.getenv("NO_COLOR") != "" {
		f.Fixed[noColorSetting] = tools.SettingValue{Value: json.RawMessage("true"), Source: "NO_COLOR"}
	}
	return f
}

func quoted(s setting) json.RawMessage {
	text, err := json.Marshal(s.value)
	if err != nil {
		panic(err) // it is a string
	}
	return text
}

func checkModelName(value json.RawMessage) error {
	var name string
	if err := json.Unmarshal(value, &name); err != nil {
		return err
	}
	if strings.TrimSpace(name) == "" || len(name) > maxModelName {
		return errors.New("it must be the name of a model")
	}
	return nil
}

// saved returns the models that are kept. A file that cannot be understood is an
// error: another model than the one that was chosen may cost more.
func (h *host) saved() (saved, error) {
	home, err := h.home()
	if err != nil {
		return saved{}, nil // nothing is kept
	}
	f := h.settings(home, provider{})
	var out saved
	for key, to := range map[string]*setting{modelSetting: &out.model, smallSetting: &out.small} {
		v, err := f.Get(key)
		if errors.Is(err, syscall.ENOTDIR) { // there is no such folder
			return saved{}, nil
		}
		if err != nil {
			return saved{}, usagef("%w; mend or remove the file, or set OPENAGENT_HOME to another folder", err)
		}
		if v.Source != tools.FromUserFile {
			continue
		}
		to.source = fromSettings
		if err := json.Unmarshal(v.Value, &to.value); err != nil {
			return saved{}, usagef("the setting %s: %w", key, err)
		}
	}
	return out, nil
}

// provider finds out which provider is meant.
func (h *host) provider(o *options) (provider, error) {
	kept, err := h.saved()
	if err != nil {
		return provider{environ: h.getenv}, err
	}
	return newProvider(o, h.getenv, kept)
}

// noColor is whether and why there are no colours.
func (h *host) noColor() (bool, string) {
	if h.getenv("NO_COLOR") != "" {
		return true, "NO_COLOR"
	}
	home, err := h.home()
	if err != nil {
		return false, "default"
	}
	v, err := h.settings(home, provider{}).Get(noColorSetting)
	if err != nil {
		return false, "default" // the run says what is wrong with the file
	}
	source := v.Source
	if source == tools.FromUserFile {
		source = fromSettings
	}
	return string(v.Value) == "true", source
}

// colours reports whether the output is a terminal that is to be coloured.
func (h *host) colours() bool {
	if !h.outTerminal || h.getenv("TERM") == "dumb" {
		return false
	}
	none, _ := h.noColor()
	return !none
}
