package limit

import (
	"math"
	"net/http"
	"time"

	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/llm"
)

// The kinds of limits.
const (
	requests = iota
	input
	output
	tokens // input and output
	kinds
)

var reasons = [kinds]pace.Reason{pace.ForRequests, pace.ForInput, pace.ForOutput, pace.ForTokens}

// needs is an amount of each kind.
type needs [kinds]float64

const (
	own     = iota // the limiter's bounds
	learned        // the provider's
)

const (
	// probePause is how long a request without an answer keeps others from being sent
	// while nothing is known of the limits.
	probePause = 10 * time.Second
	// firstHold is the wait after a refusal that does not say how long, doubled with
	// each further one up to lastHold.
	firstHold, lastHold = time.Second, 30 * time.Second
	// margin is for estimates that are too low; the reply's header gives the excess back.
	margin = 1.25
)

// A lane is the requests to one model.
type lane struct {
	buckets  [2][kinds]bucket
	queue    []*waiter
	known    bool      // the limits are known, or that there are none
	probed   time.Time // when a request was sent while they were not; zero: it has ended
	held     time.Time // nothing is sent before
	refusals int       // in a row, without a word of how long
	reserved needs     // by all requests so far
	answered needs     // of it, by those whose header was read
	done     needs     // of it, by those that are over
	ratio    float64   // of tokens as counted by the provider to tokens as estimated
	counted  bool      // the provider has told the tokens of a request
	peak     float64   // tokens of long answers
}

func newLane(l *Limiter) *lane {
	a := &lane{ratio: 1.25}
	for i, n := range []int{l.Requests, l.Input, l.Output, l.Tokens} {
		if n > 0 {
			a.buckets[own][i] = bucket{limit: float64(n), level: float64(n), rate: float64(n) / 60}
			a.known = true // the host's bounds say how many are permitted
		}
	}
	return a
}

// needs is the estimated usage of a call.
func (a *lane) needs(c pace.Call) needs {
	in, out := float64(max(c.Input, 0))*a.ratio*margin, float64(max(c.Output, 0))
	if !a.counted {
		in = max(in, float64(c.Most))
	}
	return needs{1, in, out, in + out}
}

// of is the amount taken from a bucket for a need. If a provider counts answers while they
// are written, the longest possible answer is not taken in advance.
func (a *lane) of(b *bucket, kind int, n needs) float64 {
	if kind == output && b.live && a.peak > 0 {
		return min(n[kind], 2*a.peak)
	}
	return n[kind]
}

// wait returns how long a call must wait, if it is the first, and the reason.
func (a *lane) wait(c pace.Call, now time.Time) (d time.Duration, reason pace.Reason) {
	longest := func(w time.Duration, r pace.Reason) {
		if w > d {
			d, reason = w, r
		}
	}
	longest(a.held.Sub(now), pace.ForHold)
	if !a.known && !a.probed.IsZero() {
		longest(a.probed.Add(probePause).Sub(now), pace.ForLimits)
	}
	n := a.needs(c)
	for set := range a.buckets {
		for i := range a.buckets[set] {
			if b := &a.buckets[set][i]; b.limit > 0 {
				longest(b.wait(a.of(b, i, n), now), reasons[i])
			}
		}
	}
	return d, reason
}

// take takes the needs of a call.
func (a *lane) take(p *permit, c pace.Call, now time.Time) {
	p.need = a.needs(c)
	p.answered, p.done = a.answered, a.done
	for set := range a.buckets {
		for i := range a.buckets[set] {
			if b := &a.buckets[set][i]; b.limit > 0 {
				n := min(a.of(b, i, p.need), b.limit)
				b.refill(now)
				b.level -= n
				p.taken[set][i] = n
			}
		}
	}
	for i := range p.need {
		a.reserved[i] += p.need[i]
	}
	if !a.known {
		a.probed = now
	}
}

// unsend gives back the amount of a request that was never sent.
func (a *lane) unsend(p *permit, now time.Time) {
	for set := range a.buckets {
		for i := range a.buckets[set] {
			a.buckets[set][i].add(p.taken[set][i], now)
		}
	}
	for i := range p.need {
		a.reserved[i] -= p.need[i]
	}
	a.probed = time.Time{}
}

// hear takes in the header of a reply.
func (a *lane) hear(p *permit, status int, h http.Header, retryAfter time.Duration, now time.Time) {
	for i := range p.need {
		a.answered[i] += p.need[i]
	}
	rep, said := read(h, now)
	busy := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529
	switch {
	case said:
		a.known = true
	case status < 300:
		a.known = true // there are none, or they are not reported
	case status == http.StatusTooManyRequests && !a.bounded():
		a.known = false // waiting calls continue one by one
	}
	a.probed = time.Time{}
	if status < 300 {
		a.refusals = 0
	}
	for i := range rep {
		a.learn(p, i, &rep[i], now)
	}
	switch {
	case busy && retryAfter >= 0:
		a.hold(now.Add(retryAfter))
	case status == http.StatusTooManyRequests && a.exhausted(now) <= 0:
		a.hold(now.Add(min(firstHold<<min(a.refusals, 10), lastHold)))
		a.refusals++
	}
}

func (a *lane) hold(until time.Time) {
	if until.After(a.held) {
		a.held = until
	}
}

// bounded reports whether limits of the provider are known.
func (a *lane) bounded() bool {
	for i := range a.buckets[learned] {
		if a.buckets[learned][i].limit > 0 {
			return true
		}
	}
	return false
}

// exhausted returns how long the limits of the provider make the least of requests
// wait.
func (a *lane) exhausted(now time.Time) (d time.Duration) {
	for i := range a.buckets[learned] {
		if b := &a.buckets[learned][i]; b.limit > 0 {
			d = max(d, b.wait(1, now))
		}
	}
	return d
}

// learn reads the part of a reply about one kind. The provider's remaining amount includes
// this request; whether it includes the other pending ones is unknown, so a value between
// is used.
func (a *lane) learn(p *permit, kind int, r *told, now time.Time) {
	if !r.ok {
		return
	}
	b := &a.buckets[learned][kind]
	first := b.limit <= 0
	before := b.level
	b.set(r, now)
	since := p.answered[kind]
	if kind == output || kind == tokens { // these are used until the end
		since = p.done[kind]
	}
	open := max(a.reserved[kind]-since-p.need[kind], 0) // of other requests
	if kind == output {
		a.watch(b, p, r, before, first, open)
		if b.live {
			open += p.taken[learned][kind]
		}
	}
	low, high := r.left-open, r.left
	if first {
		b.level = low
		p.taken[learned][kind] = min(p.need[kind], b.limit)
		if kind == output {
			b.level = min(low, b.limit)
		}
	}
	b.level = min(max(b.level, low), high)
	if kind == input {
		p.taken[learned][kind] = -1 // it is counted exactly
	}
}

// watch finds out whether a provider subtracts max_tokens at the start, or output tokens
// while they are written.
func (a *lane) watch(b *bucket, p *permit, r *told, before float64, first bool, open float64) {
	took := p.taken[learned][output]
	if first || open > 0 || took < b.limit/20 {
		return
	}
	b.live = r.left > before+took/2
}

// settle corrects the buckets by the final usage of a request.
func (a *lane) settle(p *permit, u *llm.Usage, now time.Time) {
	if p.state == sent { // no answer: it may have been counted
		for i := range p.need {
			a.answered[i] += p.need[i]
		}
		a.probed = time.Time{}
	}
	for i := range p.need {
		a.done[i] += p.need[i]
	}
	if u == nil {
		return
	}
	used := needs{1, float64(u.Input + u.CacheWrite), float64(u.Output), float64(u.Context() + u.Output)}
	for set := range a.buckets {
		for i := range a.buckets[set] {
			if taken := p.taken[set][i]; taken > 0 && i != requests {
				a.buckets[set][i].add(taken-used[i], now)
			}
		}
	}
	if used[output] > 0 {
		a.peak = max(used[output], a.peak*0.95)
	}
	if all := float64(u.Context()); all > 0 {
		a.counted = true
		a.ratio = math.Min(math.Max(math.Max(all/p.context, 0.9*a.ratio+0.1*all/p.context), 0.5), 10)
	}
}

// A bucket holds the amount that may be used at once. It is filled evenly, or at the end of
// each window.
type bucket struct {
	limit  float64 // 0: none
	level  float64
	rate   float64   // a second
	at     time.Time // of the level
	window bool      // it is full again at reset, and not before
	reset  time.Time
	period time.Duration // of the windows; 0: no next one is announced
	live   bool          // see lane.watch
}

func (b *bucket) refill(now time.Time) {
	switch {
	case b.limit <= 0:
		return
	case b.window:
		if now.Before(b.reset) {
			return
		}
		if b.level = b.limit; b.period <= 0 {
			b.limit = 0 // nothing is known until the next reply
			return
		}
		b.reset = b.reset.Add(now.Sub(b.reset).Truncate(b.period) + b.period)
	case b.at.IsZero():
	case now.After(b.at):
		b.level = min(b.level+b.rate*now.Sub(b.at).Seconds(), b.limit)
	}
	if b.at.Before(now) {
		b.at = now
	}
}

// wait returns how long it takes until n can be taken. If n exceeds the bucket, a full
// bucket is enough.
func (b *bucket) wait(n float64, now time.Time) time.Duration {
	b.refill(now)
	missing := min(n, b.limit) - b.level
	switch {
	case b.limit <= 0 || missing <= 1e-6:
		return 0
	case b.window:
		return b.reset.Sub(now)
	}
	return time.Duration(math.Ceil(min(missing/b.rate, longest.Seconds())*1e6))*time.Microsecond + time.Microsecond
}

func (b *bucket) add(n float64, now time.Time) {
	if b.limit > 0 {
		b.refill(now)
		b.level = min(b.level+n, b.limit)
	}
}

// set takes in limit and pace as a reply tells them.
func (b *bucket) set(r *told, now time.Time) {
	b.refill(now)
	limit := r.limit
	if limit <= 0 { // only the remaining amount is reported
		limit = max(b.limit, r.left, 1)
	}
	limit = max(limit, 1) // less would never let a request through
	b.limit, b.at = limit, now
	switch {
	case r.limit <= 0 && !r.timed:
		b.window, b.period, b.reset = true, 0, now.Add(time.Minute)
	case r.window:
		b.window, b.period, b.reset = true, 0, now.Add(r.reset)
		if r.limit > 0 { // the next window is at least that long, or a reply will tell
			b.period = time.Minute
		}
	default:
		b.window, b.rate = false, limit/r.period(limit).Seconds()
	}
	b.level = min(b.level, b.limit)
}
