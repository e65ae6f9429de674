package cronstore

import "time"

// SetClock gives a scheduler another clock.
func SetClock(s *Scheduler, clock func() time.Time) { s.clock = clock }
