package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// ListFlags are the flags of commands that list something.
func ListFlags(format *string) Flags {
	words := []string{FormatText, FormatJSON}
	return Flags{{Name: "output-format", Arg: Choice(words), Words: words, Help: "a table (default) or JSON", Set: OneOf(format, words)}}
}

// WriteList shows rows as a table under a header, or v as JSON.
func (h *IO) WriteList(format string, v any, header string, rows [][]string) error {
	if format == FormatJSON {
		data, err := EncodeLine(v)
		if err != nil {
			return err
		}
		return h.Show(string(data))
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	if header != "" {
		fmt.Fprintln(t, strings.ReplaceAll(header, " ", "\t"))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = h.OneLine(cell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush()
	return h.Show(b.String())
}
