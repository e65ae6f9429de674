package models

import (
	"cmp"
	"context"
	"fmt"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/providers"
)

func listModels(ctx context.Context, h *cli.IO, o *modelsOptions) error {
	p, said, err := modelsSetup(ctx, h, o)
	if err != nil {
		return err
	}
	list := []knownModel{}
	var rows [][]string
	for _, e := range p.Models.Entries() {
		if o.Provider != "" && e.Provider != "" && e.Provider != o.Provider && e.Provider != providers.Vendor(o.Provider) {
			continue
		}
		k := knownAs(p, e, said)
		list = append(list, k)
		in, out := "?", "?"
		if e.Price != nil {
			in, out = cli.PriceText(e.Price.Input), cli.PriceText(e.Price.Output)
		}
		rows = append(rows, []string{e.Name, cmp.Or(e.Provider, "any"), cli.TokenText(e.Window), cli.TokenText(e.MaxOutput), in, out, cmp.Or(e.Date, "-"), mark(k.Key, "yes") + mark(!k.Key, "no"), k.Origin})
	}
	if err := h.WriteList(o.Output, list, "MODEL PROVIDER WINDOW OUTPUT USD/M-IN USD/M-OUT PRICES-OF KEY FROM", rows); err != nil || o.Output == cli.FormatJSON {
		return err
	}
	begin := fmt.Sprintf("Runs use %s (%s) of the provider %s", p.Model.Value, p.Model.Source, p.Name.Value)
	if p.Model.Value == "" {
		begin = fmt.Sprintf("The provider %s has no default model", p.Name.Value)
	}
	return h.Show(fmt.Sprintf("\n%s. Prices are in USD per million tokens. Any other model works too:\nits window is assumed to be %d tokens (%d on this machine) and its cost is unknown, unless you add it to the setting models.\n",
		begin, llmconst.AssumedWindow, llmconst.AssumedLocalWindow))
}

func mark(on bool, word string) string {
	if on {
		return word
	}
	return ""
}
