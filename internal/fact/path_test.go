package fact

import (
	"errors"
	"slices"
	"testing"

	"github.com/openagent-go/agent/event"
)

// Facts that a rewind has left behind do not count.
func TestOnPath(t *testing.T) {
	read := func(prev []int64, end error) func(func(event.Event, error) bool) {
		return func(yield func(event.Event, error) bool) {
			for i, p := range prev {
				if !yield(event.Event{Seq: int64(i + 1), Prev: p}, nil) {
					return
				}
			}
			if end != nil {
				yield(event.Event{}, end)
			}
		}
	}
	counts, err := OnPath(read([]int64{0, 1, 2, 1, 4}, nil))
	if want := []bool{true, false, false, true, true}; err != nil || !slices.Equal(counts, want) {
		t.Errorf("%v, %v, want %v", counts, err, want)
	}
	if counts, err = OnPath(read(nil, nil)); err != nil || len(counts) > 0 {
		t.Errorf("%v, %v", counts, err)
	}
	broken := errors.New("broken")
	if _, err = OnPath(read([]int64{0}, broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}
