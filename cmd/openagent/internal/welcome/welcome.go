// Package welcome is the screen for a person whose conversation has no model: they try the program
// without one, enter a key, choose a model of this machine, or name a command that prints a key.
//
//	if name, ok := provider.Keyless(err); ok {
//		chosen, err := welcome.Ask(ctx, h, name, demo)
//		…
//	}
package welcome

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/dialog"
	"github.com/openagent-go/agent/cmd/openagent/internal/firstrun"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/text"
)

// A screen asks one thing after the other.
type screen struct {
	h    *cli.IO
	d    *dialog.Dialog
	name string // of the provider that has no key
	warn string // what went wrong, for the next question
}

// Ask asks a person what to do without a key of the provider with a name. It reports whether they
// have chosen a model, so that the conversation can be opened again. The function demo shows the
// demo.
func Ask(ctx context.Context, h *cli.IO, name string, demo func() error) (chosen bool, err error) {
	d, err := dialog.Open(h)
	if err != nil {
		return false, err
	}
	s := &screen{h: h, d: d, name: name}
	said, err := s.run(ctx, demo)
	if failed := d.Close(); err == nil {
		err = failed
	}
	if said != "" {
		if home := h.Getenv("HOME"); home != "" {
			said = strings.ReplaceAll(said, home+"/", "~/")
		}
		fmt.Fprint(h.Err, h.Wrap(h.OneLine(said)+"\n"))
	}
	return said != "", err
}

// run asks until the person has chosen a model or leaves. It returns a sentence about their choice.
func (s *screen) run(ctx context.Context, demo func() error) (said string, err error) {
	for {
		servers := firstrun.FindServers(ctx)
		picked, ok, err := s.ask(ctx, first(s.h, s.name, servers))
		if err != nil || !ok || picked == leave {
			return "", err
		}
		switch picked {
		case try:
			s.fail(s.d.Outside(demo))
		case enterKey:
			said, err = s.key(ctx)
		case local:
			said, err = s.server(ctx, servers)
		case command:
			said, err = s.command(ctx)
		}
		if err != nil || said != "" {
			return said, err
		}
	}
}

// ask shows a question, with what went wrong before.
func (s *screen) ask(ctx context.Context, c ui.Choice) (picked string, ok bool, err error) {
	c.Warn, s.warn = s.warn, ""
	return s.d.Ask(ctx, c, nil)
}

// fail keeps an error for the next question.
func (s *screen) fail(err error) {
	if err != nil {
		s.warn = s.h.OneLine(err.Error())
	}
}

// key asks for a provider and its key. It returns "" if the person goes back.
func (s *screen) key(ctx context.Context) (said string, err error) {
	for {
		name, ok, err := s.ask(ctx, whichProvider(s.name))
		if err != nil || !ok {
			return "", err
		}
		all := firstrun.Providers()
		p := all[slices.IndexFunc(all, func(p firstrun.Provider) bool { return p.Name == name })]
		if said, err = s.keyOf(ctx, p); err != nil || said != "" {
			return said, err
		}
	}
}

// keyOf asks for the key of a provider, until it can be stored.
func (s *screen) keyOf(ctx context.Context, p firstrun.Provider) (said string, err error) {
	for {
		model := ""
		if p.Model == "" {
			var ok bool
			if model, ok, err = s.ask(ctx, whichModel(p)); err != nil || !ok || strings.TrimSpace(model) == "" {
				return "", err
			}
		}
		key, ok, err := s.ask(ctx, whichKey(p))
		if err != nil || !ok || strings.TrimSpace(key) == "" {
			return "", err
		}
		said, err = firstrun.SaveKey(ctx, s.h, p.Name, key, strings.TrimSpace(model))
		if s.fail(err); said != "" {
			return said, nil
		}
	}
}

// server asks for a model of the servers that were found.
func (s *screen) server(ctx context.Context, servers []firstrun.Server) (said string, err error) {
	c, offers := whichLocal(s.h, servers)
	if len(offers) == 0 {
		s.warn = "no model server was found: start one that has a model, such as ollama serve, and choose 3 again"
		return "", nil
	}
	picked, ok, err := s.ask(ctx, c)
	if err != nil || !ok {
		return "", err
	}
	o := offers[picked]
	said, err = firstrun.UseServer(ctx, s.h, o.server, o.model)
	s.fail(err)
	return said, nil
}

// command asks for a command that prints a key.
func (s *screen) command(ctx context.Context) (said string, err error) {
	for {
		line, ok, err := s.ask(ctx, whichCommand())
		if err != nil || !ok || strings.TrimSpace(line) == "" {
			return "", err
		}
		said, err = firstrun.SaveKeyCommand(ctx, s.h, line)
		if s.fail(err); said != "" {
			return said, nil
		}
	}
}

// The choices of the first question.
const (
	try      = "demo"
	enterKey = "key"
	local    = "local"
	command  = "command"
	leave    = "leave"
)

// first is the first question.
func first(h *cli.IO, name string, servers []firstrun.Server) ui.Choice {
	where := "start Ollama, llama.cpp, vLLM or LM Studio before"
	found := ", and no model server on the ports " + ports()
	if len(servers) > 0 {
		var names []string
		for _, s := range servers {
			names = append(names, fmt.Sprintf("%s with %s", s.Title, cli.Plural(len(s.Models), "model")))
		}
		where, found = "found "+strings.Join(names, ", "), ""
	}
	return ui.Choice{Kind: "welcome", Form: ui.Numbered, Title: "openagent needs a model. There is no API key for " + h.OneLine(name) + found + ".",
		Items: []ui.Item{
			{Text: "Try it now, without a key", Note: "a few seconds: simulated model, real tools", Value: try},
			{Text: "Enter an API key", Note: "Anthropic, OpenAI, OpenRouter and others", Value: enterKey},
			{Text: "Use a model of this machine", Note: where, Value: local},
			{Text: "Get the key from a command", Note: "1Password, pass, vault and others", Value: command},
			{Text: "Leave", Value: leave}}}
}

func ports() string {
	var all []string
	for _, s := range firstrun.KnownServers() {
		all = append(all, s.Port())
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// whichProvider asks whose key it is. The usual one is first.
func whichProvider(usual string) ui.Choice {
	c := ui.Choice{Kind: "provider", Title: "whose key?", Back: true, Wary: true}
	for _, p := range firstrun.Providers() {
		it := ui.Item{Text: p.Title, Note: "or set " + p.Variable, Value: p.Name}
		if p.Name == usual {
			c.Items = append([]ui.Item{it}, c.Items...)
			continue
		}
		c.Items = append(c.Items, it)
	}
	return c
}

func whichModel(p firstrun.Provider) ui.Choice {
	return ui.Choice{Kind: "model", Form: ui.Entered, Back: true, Title: "name of a model of " + p.Title + ":"}
}

func whichKey(p firstrun.Provider) ui.Choice {
	return ui.Choice{Kind: "key", Form: ui.Hidden, Back: true, Title: "API key of " + p.Title + ":",
		About: []ui.Line{{Kind: ui.DimLine, Text: "   It is not shown. The keyring of your system stores it, or else a file in ~/.openagent that only you can read."}}}
}

func whichCommand() ui.Choice {
	return ui.Choice{Kind: "command", Form: ui.Entered, Back: true, Title: "command that prints the key:",
		About: []ui.Line{{Kind: ui.DimLine, Text: "   Such as: pass show anthropic. It runs now, and whenever a key is needed."}}}
}

// An offer is a model of a server of this machine.
type offer struct {
	server firstrun.Server
	model  string
}

// whichLocal asks for a model of servers. It returns the offers by their values in the picker.
func whichLocal(h *cli.IO, servers []firstrun.Server) (ui.Choice, map[string]offer) {
	c, offers := ui.Choice{Kind: "local", Title: "which model?", Back: true}, map[string]offer{}
	for _, s := range servers {
		for _, m := range s.Models {
			value := fmt.Sprint(len(offers))
			offers[value] = offer{s, m}
			c.Items = append(c.Items, ui.Item{Text: h.Visible(text.Runes(m, 100)), Note: s.Title + ", port " + s.Port(), Value: value})
		}
	}
	return c, offers
}
