package draw

import (
	"fmt"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// BenchmarkPicker measures a key in a picker of 2,500 items, and its frame.
func BenchmarkPicker(b *testing.B) {
	m := ui.New(100, 40)
	c := ui.Choice{Kind: "prompt", Title: "go back to before", First: 2499}
	for i := range 2500 {
		c.Items = append(c.Items, ui.Item{Text: fmt.Sprintf("%d  make the tests of part %d pass, all of them", i, i), Cells: []string{"invoice.sh +1 −1", "yesterday"}, Value: fmt.Sprint(i)})
	}
	m, _ = ui.Update(m, ui.Input{Time: time.Unix(2e9, 0), Data: c})
	up, _ := input.Parse("up")
	letter, _ := input.Parse("t")
	back, _ := input.Parse("backspace")
	b.Run("move", func(b *testing.B) {
		for b.Loop() {
			m, _ = ui.Update(m, ui.Input{Time: time.Unix(2e9, 0), Data: up})
			Frame(m, 100, 40, Theme{})
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			for _, k := range []input.Key{letter, back} {
				m, _ = ui.Update(m, ui.Input{Time: time.Unix(2e9, 0), Data: k})
				Frame(m, 100, 40, Theme{})
			}
		}
	})
}
