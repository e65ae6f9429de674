package quota

import (
	"testing"
	"time"
)

// A clock that jumps lets nobody spend more than the limit: what it makes expire counts with its
// expected cost, and its real cost is added when the call ends after all.
func TestWallClockJumps(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	call := func(id string, now time.Time) Reservation {
		return Reservation{ID: id, Least: 1, Most: 4, Limit: 10, Expected: 2, Expires: now.Add(15 * time.Minute)}
	}
	for _, c := range []struct {
		name    string
		jump    time.Duration
		granted float64 // to a third call, after the jump
		spent   float64 // once the first call has cost 3 USD, and the second never ended
	}{
		{"does not", 0, 2, 3},
		{"forward", 24 * time.Hour, 4, 2 + 2 + 3},
		{"back", -24 * time.Hour, 2, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l ledger
			l.reserve(call("first", noon), noon)
			l.reserve(call("second", noon), noon)
			now := noon.Add(c.jump)
			third := l.reserve(call("third", now), now)
			if third.Granted != c.granted {
				t.Errorf("%v USD for the third call, want %v", third.Granted, c.granted)
			}
			l.settle("first", 3)
			if l.Spent != c.spent {
				t.Errorf("%v USD are spent, want %v", l.Spent, c.spent)
			}
			if b := l.balance(); b.Spent+b.Reserved > 4+4+3 {
				t.Errorf("%v USD spent and %v reserved", b.Spent, b.Reserved)
			}
		})
	}
}
