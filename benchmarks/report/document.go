package report

import (
	"fmt"
	"os"
	"strings"
)

// Write puts the tables into the document, each between its marks, and draws the
// plot. A document without a table's marks is an error.
func Write(document, plot string, r Report) error {
	data, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	text, err := insert(string(data), r)
	if err != nil {
		return fmt.Errorf("writing %s: %w", document, err)
	}
	if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(plot, []byte(r.plot()), 0o644)
}

func insert(text string, r Report) (string, error) {
	for _, s := range sections {
		begin, end := "<!-- compare: "+s.name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return "", fmt.Errorf("no %q with an %q after it", strings.TrimSpace(begin), end)
		}
		text = before + begin + s.text(r) + end + after
	}
	return text, nil
}
