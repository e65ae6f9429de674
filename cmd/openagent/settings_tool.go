package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/tools"
)

// offered are the settings that a model may see and change, in the user's file.
// None of them says where requests and keys go, or what may run.
var offered = []string{"model", "small_model", "no_color"}

// toolSettings are the settings that the tool Config works on. They are read
// anew each time.
type toolSettings struct {
	h       *host
	options *options
	project string
}

// Known implements [tools.Settings].
func (t toolSettings) Known() []tools.Setting {
	var list []tools.Setting
	for _, name := range offered {
		k, _, err := config.Find(name)
		if err != nil {
			panic(err) // it is in the table
		}
		s := tools.Setting{Key: name, Type: "string", Default: k.Default, Description: k.Doc, Check: k.Check}
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

func checkModelName(value json.RawMessage) error {
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

// checkOwnModel is checkModelName for models of the provider in use: requests and keys go
// nowhere else because a model wants it.
func checkOwnModel(value json.RawMessage) error {
	if err := checkModelName(value); err != nil {
		return err
	}
	var name string
	if err := json.Unmarshal(value, &name); err != nil {
		return err
	}
	if to, _, ok := (provider{}).split(name); ok {
		return fmt.Errorf("it may not name a provider (%s); the user can", to)
	}
	return nil
}

// Get implements [tools.Settings].
func (t toolSettings) Get(key string) (tools.SettingValue, error) {
	o, err := t.h.configure(context.Background(), t.options, t.project, false)
	if err != nil {
		return tools.SettingValue{}, err
	}
	p, err := t.h.provider(o)
	if err != nil {
		return tools.SettingValue{}, err
	}
	v := o.setting(key)
	out := tools.SettingValue{Value: v.Value, Source: v.Source.String()}
	for name, s := range map[string]setting{"model": p.model, "small_model": p.small} {
		if key == name {
			out = tools.SettingValue{Value: quoted(s.value), Source: s.source}
		}
	}
	if out.Source == "model" { // the small model is the model
		out.Source = tools.FromDefault
	}
	return out, nil
}

// Set implements [tools.Settings].
func (t toolSettings) Set(key string, value json.RawMessage) error {
	f, ok := t.h.sources(new(options), t.project).File(config.User)
	if !ok {
		return errors.New("there is no home folder; set OPENAGENT_HOME")
	}
	_, err := config.Set(context.Background(), f, key, value)
	return err
}
