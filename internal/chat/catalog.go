package chat

import (
	"strings"

	"github.com/openagent-go/agent/llm/catalog"
)

// entry returns the catalogue's data about a model at a host. It looks for the host's own
// name, then for OpenAI's. If the name has a maker before a slash, as at routers, it looks
// for the maker's.
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
		e.Provider = provider // an entry without a provider fits any
		return e
	}
	return p.routed(table, name)
}

// askOpenAIs reports whether OpenAI's prices hold for its models at p. An unknown host
// counts as a gateway to OpenAI, if OpenAI has a model of that name.
func (p *Profile) askOpenAIs() bool {
	return p.MakersPrices || p.Name == provider || p.Name == "azure" || p.Name == generic.Name || p.Name == local.Name
}

// routed returns the data about maker/model: sizes, and the price if the host charges the
// maker's price. A suffix after a colon selects a provider and may change the price, which
// is then unknown. The accepted settings are guessed from the name, because the host
// translates them.
func (p *Profile) routed(table *catalog.Table, name string) catalog.Entry {
	e := guess(name)
	maker, model, ok := strings.Cut(name, "/")
	if !ok {
		return e
	}
	model, _, variant := strings.Cut(model, ":")
	known, ok := table.Lookup(maker, model)
	if !ok && maker == "anthropic" { // its names have no dots
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
