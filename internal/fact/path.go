package fact

import (
	"iter"

	"github.com/openagent-go/agent/event"
)

// OnPath tells for each fact of a session, number seq at seq-1, whether it leads to the last one. A
// fact that a rewind has left behind does not.
func OnPath(facts iter.Seq2[event.Event, error]) ([]bool, error) {
	var prev []int64
	for e, err := range facts {
		if err != nil {
			return nil, err
		}
		prev = append(prev, e.Prev)
	}
	counts := make([]bool, len(prev))
	for seq := int64(len(prev)); seq > 0; seq = prev[seq-1] {
		counts[seq-1] = true
	}
	return counts, nil
}
