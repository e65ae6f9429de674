package agents

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

func listAgents(ctx context.Context, h *cli.IO, o *agentsOptions) error {
	all, err := loadAgents(ctx, h, o)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b app.Definition) int {
		return cmp.Compare(strings.ToLower(a.Agent.Name), strings.ToLower(b.Agent.Name))
	})
	list := []app.DefinitionEntry{}
	var rows [][]string
	for _, k := range all {
		e := k.Entry()
		list = append(list, e)
		rows = append(rows, []string{e.Name, e.From, e.Access(), cmp.Or(e.Model, "inherit"), app.FirstSentence(e.Description)})
	}
	return h.WriteList(o.Output, list, "NAME FROM DOES MODEL DESCRIPTION", rows)
}
