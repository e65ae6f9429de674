package cronstore

import "time"

// Zone is the time zone of the schedule.
func (s Schedule) Zone() *time.Location { return s.zone }

// Next returns the first tick after t, in the schedule's zone; the zero time if
// there is none.
func (s Schedule) Next(t time.Time) time.Time {
	t = t.Round(0)
	switch {
	case s.every > 0:
		n := max(1, t.Sub(s.start)/s.every+1) // Sub saturates after 292 years
		return s.start.Add(n * s.every).In(s.zone)
	case s.fields == nil:
		return time.Time{}
	case s.elapsed:
		return s.nextElapsed(t.In(s.zone))
	}
	return s.nextNamed(t.In(s.zone))
}

// nextElapsed reads the clock as it stands until it is changed, and then goes on
// by the new one.
func (s Schedule) nextElapsed(t time.Time) time.Time {
	_, offset := t.Zone()
	_, change := t.ZoneBounds()
	for {
		shift := time.Duration(offset) * time.Second
		w := s.fields.Next(t.UTC().Add(shift))
		if w.IsZero() {
			return w
		}
		next := w.Add(-shift).In(s.zone)
		if change.IsZero() || next.Before(change) {
			return next
		}
		t = change.Add(-time.Nanosecond) // the change itself may be a tick
		_, offset = change.Zone()
		_, change = change.ZoneBounds()
	}
}

// nextNamed finds the next time of the wall clock, and the moment when the clock
// first shows it.
func (s Schedule) nextNamed(t time.Time) time.Time {
	for w := s.fields.Next(wall(t)); !w.IsZero(); w = s.fields.Next(w) {
		if m := moment(w, s.zone); m.After(t) {
			return m
		}
	}
	return time.Time{}
}

// wall returns what a clock shows at t, as if it were UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// moment returns when a clock in the zone first shows w, or when it jumps over it.
func moment(w time.Time, zone *time.Location) time.Time {
	t := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, zone)
	start, end := t.ZoneBounds()
	switch shown := wall(t); {
	case shown.After(w): // t is behind the gap
		return start
	case shown.Before(w):
		return end
	}
	if start.IsZero() {
		return t
	}
	// It may have shown the same before it was put back.
	_, offset := start.Add(-time.Nanosecond).Zone()
	if first := w.Add(-time.Duration(offset) * time.Second); first.Before(start) {
		return first.In(zone)
	}
	return t
}

// due returns the latest ticks after one moment and up to another, at most the
// given number of them, the oldest first.
func (s Schedule) due(after, until time.Time, most int) []time.Time {
	if !after.Before(until) {
		return nil
	}
	// Ticks can be dense, and the time since the last long: begin near its end.
	from := after
	for span := time.Minute; span < until.Sub(after); span *= 2 {
		if s.atLeast(until.Add(-span), until, most) {
			from = until.Add(-span)
			break
		}
	}
	var ticks []time.Time
	for t := s.Next(from); !t.IsZero() && !t.After(until); t = s.Next(t) {
		if len(ticks) == most {
			ticks = ticks[1:]
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// atLeast reports whether there are that many ticks.
func (s Schedule) atLeast(after, until time.Time, count int) bool {
	for t := s.Next(after); !t.IsZero() && !t.After(until); t = s.Next(t) {
		if count--; count == 0 {
			return true
		}
	}
	return false
}
