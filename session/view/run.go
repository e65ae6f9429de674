package view

import "time"

// A run counts what happens in a run. Only facts change it, so that a journal and a stream
// give the same numbers.
type run struct {
	open          bool
	last          time.Time
	split         Split
	calls, denied int

	asking   map[string]bool // calls that wait for a person
	tools    map[string]bool // calls that run
	models   map[string]bool // model calls, by key
	retrying bool            // the next try of a model call is due later
}

// advance counts the time since the last fact for what went on.
func (r *run) advance(now time.Time) {
	took := now.Sub(r.last)
	if !r.open || took < 0 {
		return
	}
	r.last = now
	switch {
	case len(r.tools) > 0:
		r.split.Tools += took
	case len(r.models) > 0:
		r.split.Model += took
	case len(r.asking) > 0:
		r.split.Waiting += took
	case r.retrying:
		r.split.Retry += took
	default:
		r.split.Other += took
	}
}

// reopen continues a run after a pause or a crash. The time since then does not count.
func (r *run) reopen(now time.Time) {
	r.open, r.last = true, now
	r.tools, r.models, r.retrying = nil, nil, false
}

// close ends the run. A suspended one still waits for a person.
func (r *run) close(suspended bool) {
	r.open, r.tools, r.models, r.retrying = false, nil, nil, false
	if !suspended {
		r.asking = nil
	}
}

func (r *run) ask(call string, is bool)  { set(&r.asking, call, is) }
func (r *run) tool(call string, is bool) { set(&r.tools, call, is) }

func (r *run) model(key string, is bool) {
	r.retrying = r.retrying && !is
	set(&r.models, key, is)
}

func set(m *map[string]bool, key string, is bool) {
	switch {
	case !is:
		delete(*m, key)
	case *m == nil:
		*m = map[string]bool{key: true}
	default:
		(*m)[key] = true
	}
}
