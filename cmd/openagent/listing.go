package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func toolsCommand(h *host) (flags, action) {
	format := ""
	return listFlags(&format), func(_ context.Context, args []string) error {
		if err := none("tools", args); err != nil {
			return err
		}
		type entry struct {
			Name        string          `json:"name"`
			Kind        string          `json:"kind"`
			ReadOnly    bool            `json:"read_only"`
			NonDestruct bool            `json:"non_destructive,omitempty"`
			Idempotent  bool            `json:"idempotent,omitempty"`
			OpenWorld   bool            `json:"open_world,omitempty"`
			NeedsPerson bool            `json:"needs_person,omitempty"` // offered in conversations only
			Description string          `json:"description"`
			Input       json.RawMessage `json:"input_schema"`
		}
		var list []entry
		var rows [][]string
		for _, t := range tools.Core(new(workspace.Workspace)) {
			s := t.Spec()
			list = append(list, entry{s.Name, "core", s.ReadOnly, s.NonDestructive, s.Idempotent, s.OpenWorld, s.NeedsPerson, s.Description, s.Input})
			does := "changes"
			switch {
			case s.NeedsPerson:
				does = "asks"
			case s.ReadOnly:
				does = "reads"
			}
			rows = append(rows, []string{s.Name, "core", does, firstSentence(s.Description)})
		}
		return h.list(format, list, "NAME KIND DOES DESCRIPTION", rows)
	}
}

func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return short(s, 100)
}

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
