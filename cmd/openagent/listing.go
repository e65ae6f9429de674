package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/openagent-go/agent/llm/catalog"
)

func modelsCommand(h *host) (flags, action) {
	format := ""
	return listFlags(&format), func(_ context.Context, args []string) error {
		if err := none("models", args); err != nil {
			return err
		}
		entries := catalog.Embedded().Entries()
		var rows [][]string
		for _, e := range entries {
			in, out := "?", "?"
			if e.Price != nil {
				in, out = price(e.Price.Input), price(e.Price.Output)
			}
			rows = append(rows, []string{e.Name, e.Provider, tokens(e.Window), tokens(e.MaxOutput), in, out, e.Date})
		}
		if err := h.list(format, entries, "MODEL PROVIDER WINDOW OUTPUT USD/M-IN USD/M-OUT PRICES-OF", rows); err != nil || format == formatJSON {
			return err
		}
		return h.show(fmt.Sprintf("\nDefault: %s. Prices are in USD per million tokens; any other model works too, at a cost that is not known.\n", catalog.DefaultModel))
	}
}

func price(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

func tokens(n int) string {
	if n == 0 {
		return "?"
	}
	return strconv.Itoa(n)
}
