package serve

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	defaultRequests = 100 // of a user a second
	shareRequests   = 30  // of a share and all who watch it, a second
	burst           = 10  // seconds whose requests may come at once
	manyBuckets     = 1000
	maxWrong        = 100 // requests with a wrong token a minute; they do not count as failed logins
)

// A caller is who sends requests: a user, those who hold the token, browsers that are logged in, or
// those who have the link of a share. Each has a limit of its own: a program that sends without end
// does not keep a browser out.
type caller struct{ user, by, share string }

// A bucket has the requests that a caller may still send at a time.
type bucket struct {
	left float64
	at   time.Time
}

// usage is what callers use of their limits.
type usage struct {
	mu      sync.Mutex
	buckets map[caller]bucket
	streams map[string]int   // that are open, by user
	runs    map[string]int   // that are at work, by user
	wrong   []time.Time      // requests with a wrong token in the last minute
	refused map[string]int64 // requests that were refused, by limit
}

// A refusal is an error because of a limit.
type refusal struct {
	of    *Error
	limit string        // in figures
	wait  time.Duration // before another try
}

func (r *refusal) Error() string { return r.of.Error() }
func (r *refusal) Unwrap() error { return r.of }

// tooMany returns a refusal. A limit of shares has the code of the limit of users.
func tooMany(limit string, wait time.Duration, message, hint string) error {
	return &refusal{&Error{http.StatusTooManyRequests, "too_many_" + strings.TrimPrefix(limit, "share_"), message, hint}, limit, wait}
}

// noteRefusal counts a refusal, and tells the client when to try again. It is called before an answer
// with an error is written.
func (s *Server) noteRefusal(w http.ResponseWriter, err error) {
	var r *refusal
	if !errors.As(err, &r) {
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(r.wait.Seconds()))))
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	if s.usage.refused == nil {
		s.usage.refused = map[string]int64{}
	}
	s.usage.refused[r.limit]++
}

// refusals returns a line of figures for each limit.
func (u *usage) refusals() (lines []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, limit := range slices.Sorted(maps.Keys(u.refused)) {
		lines = append(lines, "openagent_refused_total{limit="+strconv.Quote(limit)+"} "+strconv.FormatInt(u.refused[limit], 10)+"\n")
	}
	return lines
}

// take takes a request out of the bucket of a caller. Without one left it returns how long to wait.
func (u *usage) take(who caller, perSecond int) (wait time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now, rate := time.Now(), float64(perSecond)
	filled := func(b bucket) float64 { return min(b.left+now.Sub(b.at).Seconds()*rate, rate*burst) }
	b, known := u.buckets[who]
	if !known {
		b = bucket{rate * burst, now}
		if u.buckets == nil {
			u.buckets = map[caller]bucket{}
		}
		if len(u.buckets) >= manyBuckets { // a full one is as none
			maps.DeleteFunc(u.buckets, func(_ caller, b bucket) bool { return now.Sub(b.at) > burst*time.Second })
		}
	}
	left := filled(b)
	if left < 1 {
		return time.Duration((1 - left) / rate * float64(time.Second))
	}
	u.buckets[who] = bucket{left - 1, now}
	return 0
}

// countRequest refuses a request of a user who has sent too many.
func (s *Server) countRequest(user, by string) error {
	if wait := s.usage.take(caller{user: user, by: by}, cmp.Or(s.UserRequests, defaultRequests)); wait > 0 {
		return tooMany("requests", wait, "you have sent too many requests", "send fewer in a second; a stream tells what happens without any")
	}
	return nil
}

// countShared refuses a request to a share if those who watch it have sent too many.
func (s *Server) countShared(id string) error {
	if wait := s.usage.take(caller{share: id}, shareRequests); wait > 0 {
		return tooMany("share_requests", wait, "too many requests were sent to this page", "try again in a moment")
	}
	return nil
}

// wrongToken is the error of a request with a wrong token. Only those are limited: strangers who guess
// do not keep the holder of the token out.
func (s *Server) wrongToken() error {
	u := &s.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.wrong = slices.DeleteFunc(u.wrong, func(t time.Time) bool { return now.Sub(t) > time.Minute })
	if len(u.wrong) >= maxWrong {
		return tooMany("logins", time.Minute, "there were too many requests with a wrong token in the last minute", "wait a minute, and send the right token")
	}
	u.wrong = append(u.wrong, now)
	return unauthorized("this is not the token of this server", "send the right one as Authorization: Bearer TOKEN")
}

// takeStream counts a stream of a user, for a caller who calls freeStream at its end.
func (s *Server) takeStream(user string) error {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	if !takeOne(&s.usage.streams, user, s.ofUser(s.UserStreams, s.streamLimit())) {
		return tooMany("streams", time.Second, "you have too many streams open", "close some of your pages and programs that watch sessions")
	}
	return nil
}

func (s *Server) freeStream(user string) {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	freeOne(s.usage.streams, user)
}

// takeRun counts a run of a user, for a caller who calls freeRun at its end.
func (s *Server) takeRun(user string) error {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	if !takeOne(&s.usage.runs, user, s.runLimit()) {
		return errRunsFull()
	}
	return nil
}

func (s *Server) freeRun(user string) {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	freeOne(s.usage.runs, user)
}

// mayRun refuses a run that takeRun would refuse now, before anything is opened for it.
func (s *Server) mayRun(user string) error {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	if s.usage.runs[user] >= s.runLimit() {
		return errRunsFull()
	}
	return nil
}

func errRunsFull() error {
	return tooMany("runs", time.Second, "too many runs of yours are at work", "wait for the end of one, or stop one")
}

// runLimit returns how many runs of a user may be at work.
func (s *Server) runLimit() int { return s.ofUser(s.UserRuns, s.limit()) }

// ofUser returns a limit of a user that may not be set. The only user has no other limit than the server
// itself. One of several leaves half of that to the others.
func (s *Server) ofUser(set, all int) int {
	if s.User == nil {
		return cmp.Or(set, math.MaxInt)
	}
	return cmp.Or(set, (all+1)/2)
}

// takeOne counts one more of a user, if there may be one.
func takeOne(counts *map[string]int, user string, most int) bool {
	if (*counts)[user] >= most {
		return false
	}
	if *counts == nil {
		*counts = map[string]int{}
	}
	(*counts)[user]++
	return true
}

// freeOne counts one less.
func freeOne(counts map[string]int, user string) {
	if counts[user]--; counts[user] <= 0 {
		delete(counts, user)
	}
}
