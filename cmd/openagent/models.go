package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// modelsOptions are the flags of the command models.
type modelsOptions struct {
	options
	json bool
}

func modelsCommand(h *host) cli.Command {
	o := new(modelsOptions)
	verb := func(c cli.Command) cli.Command {
		run := c.Run
		c.Flags = func() cli.Flags {
			fs := append(listFlags(&o.output), cli.Flag{Name: "json", Help: "the same as --output-format json", Set: cli.Yes(&o.json)})
			return append(fs, o.flags().Named("provider", "base-url", "model", "settings", "setting-sources", "cwd")...)
		}
		c.Run = o.checked(&o.output, func(ctx context.Context, args []string) error {
			if o.json {
				o.output = formatJSON
			}
			return run(ctx, args)
		})
		return c
	}
	return cli.Command{Name: "models", Summary: "List the known models with windows and prices", Default: "list", Subcommands: []cli.Command{
		verb(cli.Command{Name: "list", Summary: "List the known models", Examples: []string{"openagent models list --provider openai"},
			Run: func(ctx context.Context, _ []string) error { return h.listModels(ctx, o) }}),
		verb(cli.Command{Name: "show", Args: "NAME", Least: 1, Most: 1, Summary: "Show the data of a model", Examples: []string{"openagent models show opus"},
			Run: func(ctx context.Context, args []string) error { return h.showModel(ctx, o, args[0]) }}),
	}}
}

// A knownModel is a model as lists show it.
type knownModel struct {
	catalog.Entry
	Origin string `json:"origin"`           // settings, or the program itself
	Key    bool   `json:"key_at_hand"`      // or it needs none
	Chosen bool   `json:"chosen,omitempty"` // runs begin with it
}

// builtIn says of a model that settings do not speak of it.
const builtIn = "built in"

// modelsSetup finds out which provider is meant, with the catalogue of the settings.
func (h *host) modelsSetup(ctx context.Context, o *modelsOptions) (provider, config.Value, error) {
	dir, err := workingDir()
	if err != nil {
		return provider{}, config.Value{}, err
	}
	c, err := h.configure(ctx, &o.options, dir, false)
	if err != nil {
		return provider{}, config.Value{}, err
	}
	h.warnOfSettings(c)
	p, err := h.provider(c)
	if none := noModelError(""); errors.As(err, &none) { // what is known of models needs none
		err = nil
	}
	return p, c.setting("models"), err
}

// known describes an entry.
func (p provider) known(e catalog.Entry, said config.Value) knownModel {
	k := knownModel{Entry: e, Origin: builtIn, Key: p.hasKey(e.Provider), Chosen: e.Name == p.model.value}
	if own, ok := catalog.Embedded().Lookup(e.Provider, e.Name); !ok || own.Name != e.Name || own.Date != e.Date || own.Source != e.Source || own.Window != e.Window {
		k.Origin = cmp.Or(said.Source.String(), "settings")
	}
	return k
}

// hasKey reports whether models of a vendor can be reached.
func (p provider) hasKey(maker string) bool {
	if maker == "" || maker == vendor(p.name.value) {
		return !p.needsKey()
	}
	return p.environ.first(strings.ToUpper(maker)+"_API_KEY").value != ""
}

func (h *host) listModels(ctx context.Context, o *modelsOptions) error {
	p, said, err := h.modelsSetup(ctx, o)
	if err != nil {
		return err
	}
	list := []knownModel{}
	var rows [][]string
	for _, e := range p.models.Entries() {
		if o.provider != "" && e.Provider != "" && e.Provider != o.provider && e.Provider != vendor(o.provider) {
			continue
		}
		k := p.known(e, said)
		list = append(list, k)
		in, out := "?", "?"
		if e.Price != nil {
			in, out = price(e.Price.Input), price(e.Price.Output)
		}
		rows = append(rows, []string{e.Name, cmp.Or(e.Provider, "any"), tokens(e.Window), tokens(e.MaxOutput), in, out, cmp.Or(e.Date, "-"), mark(k.Key, "yes") + mark(!k.Key, "no"), k.Origin})
	}
	if err := h.list(o.output, list, "MODEL PROVIDER WINDOW OUTPUT USD/M-IN USD/M-OUT PRICES-OF KEY FROM", rows); err != nil || o.output == formatJSON {
		return err
	}
	begin := fmt.Sprintf("Runs begin with %s (%s) of the provider %s", p.model.value, p.model.source, p.name.value)
	if p.model.value == "" {
		begin = fmt.Sprintf("The provider %s has no default model", p.name.value)
	}
	return h.show(fmt.Sprintf("\n%s. Prices are in USD per million tokens. Any other model works too:\nits window is assumed to be %d tokens (%d on this machine), and its cost is not known, unless the setting models says it.\n",
		begin, llm.AssumedWindow, llm.AssumedLocalWindow))
}

func mark(on bool, word string) string {
	if on {
		return word
	}
	return ""
}

// A shownModel is what is known of one model.
type shownModel struct {
	llm.ModelInfo
	Known  bool   `json:"known"` // it is in the catalogue
	Origin string `json:"origin,omitempty"`
	Key    bool   `json:"key_at_hand"`
}

func (h *host) showModel(ctx context.Context, o *modelsOptions, name string) error {
	p, said, err := h.modelsSetup(ctx, o)
	if err != nil {
		return err
	}
	if to, rest, ok := p.split(name); ok && rest != "" {
		if to != p.name.value {
			p, _ = p.at(to) // what is known of it needs no key
		}
		name = rest
	}
	if isSize(name) {
		if name, err = p.sized(name); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	if err := checkModelName(quoted(name)); err != nil {
		return cli.Usagef("%v", err)
	}
	m := shownModel{}
	e, known := p.models.Lookup(vendor(p.name.value), name)
	if !known && !slices.Contains(hosts, p.name.value) {
		e, known = p.models.Lookup("", name)
	}
	if known {
		k := p.known(e, said)
		m.ModelInfo, m.Known, m.Origin, m.Key = e.ModelInfo(), true, k.Origin, k.Key
		m.Value = name
	} else {
		m.ModelInfo, m.Key = llm.DescribeModel(p.reach(name)), !p.needsKey()
		if m.Known = m.Date != ""; m.Known { // under another name: a platform has its own
			m.Origin = "the catalogue, by another name"
		}
	}
	if o.output == formatJSON {
		return h.list(formatJSON, m, "", nil)
	}
	window := tokens(m.Window)
	if m.Assumed {
		window += " (assumed)"
	}
	rows := [][]string{{"name", m.DisplayName}, {"value", m.Value}, {"provider", cmp.Or(m.Provider, "any")}, {"key at hand", mark(m.Key, "yes") + mark(!m.Key, "no")}}
	if m.Description != "" {
		rows = append(rows, []string{"description", m.Description})
	}
	rows = append(rows, []string{"context window", window}, []string{"longest answer", tokens(m.MaxOutput)},
		[]string{"efforts", cmp.Or(strings.Join(m.Efforts, ", "), "none known")}, []string{"adaptive thinking", mark(m.Adaptive, "yes") + mark(!m.Adaptive, "no")}, []string{"fast mode", mark(m.Fast, "yes") + mark(!m.Fast, "no")})
	if c := m.Price; c != nil {
		rows = append(rows, []string{"input", "$" + price(c.Input) + " per million tokens"}, []string{"output", "$" + price(c.Output)}, []string{"cache read", "$" + price(c.CacheRead)}, []string{"cache write", "$" + price(c.CacheWrite)})
		if c.LongAt > 0 {
			rows = append(rows, []string{"above " + tokens(c.LongAt), fmt.Sprintf("input × %s, output × %s", price(c.LongInput), price(c.LongOutput))})
		}
	} else {
		rows = append(rows, []string{"price", "not known, and so is the cost"})
	}
	if m.Date != "" || m.Source != "" {
		rows = append(rows, []string{"as of", cmp.Or(m.Date, "?") + " " + m.Source})
	}
	rows = append(rows, []string{"from", cmp.Or(m.Origin, "not in the catalogue; what it accepts is guessed by its name")})
	return h.list(formatText, nil, "", rows)
}

// warnOfModel says what is assumed of the model that a run begins with.
func (h *host) warnOfModel(p provider, m llm.Model) {
	i := llm.DescribeModel(m)
	if i.NoTools {
		h.complain("the model %s calls no tools by itself; --tools-in-prompt writes them into its prompt", i.Value)
	}
	if p.fast && (!i.Fast || p.name.value != anthropicName) {
		h.complain("the model %s of %s has no fast mode; it answers as usual", i.Value, p.name.value)
	}
	if p.name.value == demoName || !i.Assumed && i.Price != nil {
		return
	}
	text := "the model " + i.Value + ":"
	if i.Assumed {
		text += fmt.Sprintf(" its context window is not known, %d tokens are assumed;", i.Window)
	}
	if i.Price == nil {
		text += " its price is not known, so costs are not told;"
	}
	h.complain("%s the setting models can say it", text)
}

// unthinking says that a model does not think as it is told to, "" if it may.
func unthinking(m llm.Model, t llm.Thought, tools int) string {
	i := llm.DescribeModel(m)
	if !t.On() || tools == 0 || !i.PlainTools {
		return ""
	}
	return "the model " + i.Value + " does not think while it has tools: OpenAI refuses both together in Chat Completions, so the effort has no effect; with --provider openai-responses it does"
}
