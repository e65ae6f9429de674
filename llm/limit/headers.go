package limit

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// told is the part of a reply about one kind.
type told struct {
	ok     bool // the reply has the remaining amount
	limit  float64
	left   float64
	timed  bool
	reset  time.Duration // until everything is there again
	window bool          // it is there all at once then
}

// period is the time in which a bucket fills: the usual period that is closest to the
// reply's numbers.
func (t *told) period(limit float64) time.Duration {
	if !t.timed || t.reset <= 0 || limit-t.left < 1 {
		return time.Minute
	}
	whole := t.reset.Seconds() * limit / (limit - t.left)
	best, off := time.Minute, math.Inf(1)
	for _, d := range []time.Duration{time.Minute, time.Second, time.Hour, 24 * time.Hour} {
		if x := math.Abs(math.Log(whole / d.Seconds())); x < off-1e-9 {
			best, off = d, x
		}
	}
	if best == time.Second && t.reset >= time.Second { // resets are in whole seconds
		return time.Minute
	}
	return best
}

// A header is how providers call limit, rest and reset of one kind.
type header struct {
	kind               int
	limit, left, reset string
	window             bool
}

// headers are those that are read, the first that is there for each kind. Where one
// name stands for everything, its limit is a window, as OpenRouter and GitHub have it.
var headers = []header{
	// Anthropic: resets are times of RFC 3339.
	{requests, "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset", false},
	{input, "Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset", false},
	{output, "Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset", false},
	// OpenAI, Azure, Groq, xAI, Together and others: resets are durations.
	{requests, "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests", false},
	{tokens, "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens", false},
	// Mistral.
	{requests, "X-Ratelimit-Limit-Req-Minute", "X-Ratelimit-Remaining-Req-Minute", "", false},
	{tokens, "X-Ratelimit-Limit-Tokens-Minute", "X-Ratelimit-Remaining-Tokens-Minute", "", false},
	{tokens, "Ratelimitbysize-Limit", "Ratelimitbysize-Remaining", "Ratelimitbysize-Reset", true},
	{tokens, "X-Ratelimitbysize-Limit-Minute", "X-Ratelimitbysize-Remaining-Minute", "", false},
	// OpenRouter, GitHub and the IETF draft: resets are times or seconds.
	{requests, "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", true},
	{requests, "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", true},
}

// read reads the rate-limit headers of a reply. ok: there are some.
func read(h http.Header, now time.Time) (rep [kinds]told, ok bool) {
	for i := range headers {
		d := &headers[i]
		if rep[d.kind].ok {
			continue
		}
		left, found := number(h.Get(d.left))
		if !found {
			continue
		}
		t := told{ok: true, left: left, window: d.window}
		t.limit, _ = number(h.Get(d.limit))
		if d.reset != "" {
			t.reset, t.timed = moment(h.Get(d.reset), h.Get("Date"), now)
		}
		if t.window && !t.timed { // the end of the window is not told
			t.window = false
		}
		if d.kind == input || d.kind == output { // Anthropic rounds to thousands
			if t.left >= 1000 && t.left < t.limit && math.Mod(t.left, 1000) == 0 {
				t.left -= 500
			}
		}
		rep[d.kind], ok = t, true
	}
	return rep, ok
}

func number(s string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	s, _, _ = strings.Cut(s, ";") // the draft adds the window: 100;w=60
	s, _, _ = strings.Cut(s, ",")
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1e15 {
		return 0, false
	}
	return f, true
}

const longest = 366 * 24 * time.Hour

// moment reads a reset: a time of RFC 3339, seconds or milliseconds since 1970, a
// number of seconds, or a duration such as 6m0s, 12ms or 1d2h. sent is the reply's
// Date, by which clocks that differ do no harm.
func moment(s, sent string, now time.Time) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false
	}
	base := now
	if sent != "" {
		if at, err := http.ParseTime(sent); err == nil {
			base = at
		}
	}
	bound := func(d time.Duration) (time.Duration, bool) { return min(max(d, 0), longest), true }
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return bound(at.Sub(base))
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(f) && f >= 0 {
		switch {
		case f > 1e14:
			return 0, false
		case f > 1e11:
			return bound(time.UnixMilli(int64(f)).Sub(base))
		case f > 1e8:
			return bound(time.Unix(int64(f), 0).Sub(base))
		}
		return bound(time.Duration(min(f, longest.Seconds()) * float64(time.Second)))
	}
	var days time.Duration
	if n, rest, ok := strings.Cut(s, "d"); ok {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil || math.IsNaN(f) || f < 0 || f > 366 {
			return 0, false
		}
		days, s = time.Duration(f*24*float64(time.Hour)), rest
		if s == "" {
			return bound(days)
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, false
	}
	return bound(days + min(d, longest))
}
