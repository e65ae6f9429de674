package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"time"
)

// A listing is what a server has listed, all pages of it: how much that is, and a sum
// by which a list is known again.
type listing struct {
	size int
	hash hash.Hash
}

func newListing() *listing { return &listing{hash: sha256.New()} }

// take takes in a page. It reports whether the list is still no larger than one
// message may be: pages are bounded one by one, and there may be many.
func (l *listing) take(page any) bool {
	data, err := json.Marshal(page)
	if err != nil {
		return false
	}
	l.size += len(data)
	_, _ = l.hash.Write(data) // it never fails
	return l.size <= maxMessage
}

func (l *listing) sum() (sum [sha256.Size]byte) {
	l.hash.Sum(sum[:0])
	return sum
}

// settling is how long announcements of changes are gathered before a list is read
// again: longer with each that comes soon after the list before it, so that a server
// that announces without end is not asked without end.
type settling struct {
	pause time.Duration
	last  time.Time // when the list was read; zero: not yet
}

func (s *settling) next(now time.Time) time.Duration {
	if s.pause = min(2*s.pause, longWait); s.last.IsZero() || now.Sub(s.last) >= longWait {
		s.pause = settleTime
	}
	return s.pause
}
