package cronstore

import (
	"fmt"
	"slices"
	"time"
)

const (
	// onTime is how late a tick may be fired and count as in time.
	onTime = time.Minute
	// beat is how often a running job renews its sign of life; after lease without one its
	// program counts as dead.
	beat  = 30 * time.Second
	lease = 4 * beat
)

// A claim is a tick that is ours to run.
type claim struct {
	job  Job
	tick time.Time
}

// A told outcome is one that is to be reported.
type told struct {
	job     Job
	outcome Outcome
}

// A view is how a scheduler sees the jobs at a moment.
type view struct {
	now   time.Time
	until time.Time        // ticks up to here are open
	owner string           // the scheduler
	ours  map[string]claim // its runs, by the id of the job
}

// busy reports whether the job is running, here or in another program.
func (v view) busy(j *Job) bool {
	if j.Run == nil {
		return false
	}
	if j.Run.Owner == v.owner {
		_, on := v.ours[j.ID]
		return on
	}
	return v.now.Sub(j.Run.Alive) < lease
}

// wants reports whether there is anything to settle about a job whose next open
// tick is given.
func (v view) wants(j *Job, next time.Time) bool {
	if v.busy(j) {
		return false
	}
	return j.Run != nil || !next.IsZero() && !next.After(v.until)
}

// say keeps an outcome with the job.
func (j *Job) say(tick, now time.Time, status Status, format string, args ...any) told {
	o := j.keep(Outcome{Tick: tick, Status: status, Ended: now, Note: fmt.Sprintf(format, args...)})
	return told{*j, o}
}

// settle decides about the open ticks of a job: it takes at most one of them to
// run, and leaves out those that the policy does not want. A tick that is taken
// or left out is never open again. With room false none is taken.
func (v view) settle(j *Job, room bool) (run *claim, outcomes []told) {
	if v.busy(j) {
		return nil, nil
	}
	if lost := j.Run; lost != nil {
		j.Run = nil
		outcomes = append(outcomes, j.say(lost.Tick, v.now, Lost, "its end is not on record; it was last seen at %s", lost.Alive.Format(time.RFC3339)))
	}
	if j.Disabled || j.Check() != nil {
		return nil, outcomes
	}
	s, err := j.Times()
	if err != nil {
		return nil, outcomes
	}
	most := 1
	if j.Missed == All {
		most = maxMissed
	}
	ticks := s.due(j.since(), v.until, most)
	if len(ticks) == 0 {
		return nil, outcomes
	}
	switch latest := ticks[len(ticks)-1]; {
	case j.Missed == Skip && v.now.Sub(latest) > onTime:
		j.Ticked = latest
		outcomes = append(outcomes, j.say(latest, v.now, Overdue, "no program ran the schedule at that time"))
	case room: // the oldest of those that are made up for
		j.Ticked = ticks[0]
		j.Run = &Run{Tick: ticks[0], Started: v.now, Owner: v.owner, Alive: v.now}
		run = &claim{*j, ticks[0]}
	}
	return run, outcomes
}

// finish records the outcome of a run, and drops the ticks that came during it unless the
// policy is [All]. It does nothing if the run is not ours any more.
func (v view) finish(j *Job, c claim, o Outcome) (outcomes []told) {
	if j.Run == nil || j.Run.Owner != v.owner || !j.Run.Tick.Equal(c.tick) {
		return nil
	}
	j.Run = nil
	o = j.keep(o)
	outcomes = []told{{*j, o}}
	s, err := j.Times()
	if err != nil || j.Missed == All || j.Disabled {
		return outcomes
	}
	if ticks := s.due(j.since(), v.now, 1); len(ticks) > 0 {
		j.Ticked = ticks[0]
		outcomes = append(outcomes, j.say(ticks[0], v.now, Skipped, "the run of %s went on until %s",
			c.tick.In(s.zone).Format(time.RFC3339), v.now.In(s.zone).Format(time.RFC3339)))
	}
	return outcomes
}

// claim settles all jobs, those that have waited longest first, and takes as
// many runs as there is room for.
func (v view) claim(jobs []Job, room int) (claims []claim, outcomes []told) {
	type waiting struct {
		job  *Job
		next time.Time
	}
	var order []waiting
	for i := range jobs {
		j := &jobs[i]
		if next := j.Next(j.since()); v.wants(j, next) {
			order = append(order, waiting{j, next})
		}
	}
	slices.SortStableFunc(order, func(a, b waiting) int { return a.next.Compare(b.next) })
	for _, w := range order {
		run, more := v.settle(w.job, len(claims) < room)
		if run != nil {
			claims = append(claims, *run)
		}
		outcomes = append(outcomes, more...)
	}
	return claims, outcomes
}
