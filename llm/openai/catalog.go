package openai

import (
	"strings"

	"github.com/openagent-go/agent/llm/catalog"
)

// entry returns the catalogue's data about a model at a host: the entry for the host's own
// name, or for OpenAI, or, if the name has a maker before a slash as at routers, for the
// maker.
func (p *Profile) entry(table *catalog.Table, name string) catalog.Entry {
	if p.Name != generic.Name && p.Name != local.Name {
		if e, ok := table.Lookup(p.Name, name); ok && e.Provider != "" {
			e.Provider = provider
			return e
		}
	}
	if e, ok := table.Lookup(provider, name); ok {
		if own, ours := catalog.Embedded().Lookup(provider, name); ours && own.Price == e.Price && !p.askOpenAIs() {
			e.Price, e.Source, e.Date = nil, "", ""
		}
		e.Provider = provider // one of no provider stands for any
		return e
	}
	return p.routed(table, name)
}

// askOpenAIs reports whether OpenAI's prices may be taken for those of its models at p.
// A host of which nothing is known is a way to OpenAI, if it has a model of that name.
func (p *Profile) askOpenAIs() bool {
	return p.MakersPrices || p.Name == provider || p.Name == "azure" || p.Name == generic.Name || p.Name == local.Name
}

// routed returns the data about maker/model: sizes, and its price if the host charges the
// maker's price. A suffix after a colon selects who serves the model, and may change the
// price, which is then unknown. The accepted settings are guessed from its name, since the
// host translates.
func (p *Profile) routed(table *catalog.Table, name string) catalog.Entry {
	e := guess(name)
	maker, model, ok := strings.Cut(name, "/")
	if !ok {
		return e
	}
	model, _, variant := strings.Cut(model, ":")
	known, ok := table.Lookup(maker, model)
	if !ok && maker == "anthropic" { // which writes no dots
		known, ok = table.Lookup(maker, strings.ReplaceAll(model, ".", "-"))
	}
	if !ok || known.Provider != maker {
		return e
	}
	e.DisplayName, e.Description = known.DisplayName, known.Description
	e.Window, e.MaxOutput, e.NoImages, e.NoPDF, e.Edits = known.Window, known.MaxOutput, known.NoImages, known.NoPDF, known.Edits
	if p.MakersPrices && !variant {
		e.Price, e.Source, e.Date = known.Price, known.Source, known.Date
	}
	return e
}
