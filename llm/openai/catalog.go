package openai

import (
	"strings"

	"github.com/openagent-go/agent/llm/catalog"
)

// entry returns what is known of a model at a host: what the catalogue has for the
// host's own name, for OpenAI, or, of a name with a maker before a slash as routers have
// it, for the maker.
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

// routed returns what is known of maker/model: sizes, and what it costs where the host
// passes the maker's price on. What follows a colon chooses who serves the model, and may
// change the price: that is not known then. What the model accepts is guessed by its name,
// since the host translates.
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
