package mcp

import (
	"testing"
	"time"
)

// Announcements in a row are followed ever more seldom, single ones soon.
func TestSettling(t *testing.T) {
	t.Parallel()
	var s debounce
	now := time.Unix(1000, 0)
	var all time.Duration
	for i := range 20 {
		pause := s.next(now)
		if want := min(settleTime<<i, longWait); pause != want {
			t.Errorf("%d: %v, not %v", i, pause, want)
		}
		all += pause
		s.last = now.Add(pause)
		now = s.last
	}
	if all < 100*time.Second {
		t.Errorf("20 lists in %v", all)
	}
	if pause := s.next(now.Add(time.Minute)); pause != settleTime {
		t.Errorf("after a minute: %v", pause)
	}
}
