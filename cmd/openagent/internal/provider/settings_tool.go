package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/toolapi"
)

// offered are the settings that a model may see and change, in the user's file.
// None of them says where requests and keys go, or what may run.
var offered = []string{"model", "small_model", "no_color"}

// ToolSettings are the settings that the tool Config works on. They are read
// again each time.
type ToolSettings struct {
	H       *cli.IO
	Options *settings.Options
	Project string
}

// Known implements [toolapi.Settings].
func (t ToolSettings) Known() []toolapi.Setting {
	var list []toolapi.Setting
	for _, name := range offered {
		k, _, err := config.Find(name)
		if err != nil {
			panic(err) // it is in the table
		}
		s := toolapi.Setting{Key: name, Type: "string", Default: k.Default, Description: k.Doc, Check: k.Check}
		if k.Type == config.Bool {
			s.Type = "boolean"
		} else {
			s.Check = checkOwnModel
		}
		list = append(list, s)
	}
	return list
}

const maxModelName = 200 // bytes

// CheckModelName reports why a value is not the name of a model.
func CheckModelName(value json.RawMessage) error {
	var name string
	if err := json.Unmarshal(value, &name); err != nil {
		return err
	}
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' }
	if name == "" || len(name) > maxModelName || strings.ContainsFunc(name, odd) {
		return errors.New("it must be the name of a model, without blanks, quotes and line breaks")
	}
	return nil
}

// checkOwnModel is CheckModelName for models of the provider in use: requests and keys go
// nowhere else because a model wants it.
func checkOwnModel(value json.RawMessage) error {
	if err := CheckModelName(value); err != nil {
		return err
	}
	var name string
	if err := json.Unmarshal(value, &name); err != nil {
		return err
	}
	if to, _, ok := (providers.Provider{Demo: DemoModel()}).SplitName(name); ok {
		return fmt.Errorf("it may not name a provider (%s); the user can", to)
	}
	return nil
}

// Get implements [toolapi.Settings].
func (t ToolSettings) Get(key string) (toolapi.SettingValue, error) {
	o, err := settings.Configure(context.Background(), t.H, t.Options, t.Project, false)
	if err != nil {
		return toolapi.SettingValue{}, err
	}
	p, err := Open(t.H, o)
	if err != nil {
		return toolapi.SettingValue{}, err
	}
	v := o.Setting(key)
	out := toolapi.SettingValue{Value: v.Value, Source: v.Source.String()}
	for name, s := range map[string]providers.Setting{"model": p.Model, "small_model": p.Small} {
		if key == name {
			out = toolapi.SettingValue{Value: settings.EncodeValue(s.Value), Source: s.Source}
		}
	}
	if out.Source == "model" { // the small model is the model
		out.Source = toolapi.FromDefault
	}
	return out, nil
}

// Set implements [toolapi.Settings].
func (t ToolSettings) Set(key string, value json.RawMessage) error {
	f, ok := settings.ConfigOptions(t.H, new(settings.Options), t.Project).File(config.User)
	if !ok {
		return errors.New("the home folder is unknown; set OPENAGENT_HOME")
	}
	_, err := config.Set(context.Background(), f, key, value)
	return err
}
