package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/text"
)

// listFlags are the flags of commands that list something.
func listFlags(format *string) cli.Flags {
	words := []string{formatText, formatJSON}
	return cli.Flags{{Name: "output-format", Arg: cli.Choice(words), Words: words, Help: "a table (default) or JSON", Set: cli.OneOf(format, words)}}
}

// list shows rows as a table under a header, or v as JSON.
func (h *host) list(format string, v any, header string, rows [][]string) error {
	if format == formatJSON {
		data, err := encodeLine(v)
		if err != nil {
			return err
		}
		return h.show(string(data))
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	if header != "" {
		fmt.Fprintln(t, strings.ReplaceAll(header, " ", "\t"))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = h.oneLine(cell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
	return h.show(b.String())
}

// short cuts text to a number of characters.
func short(s string, most int) string {
	return text.Runes(s, most)
}
