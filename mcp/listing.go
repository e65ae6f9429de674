package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"slices"
	"time"
)

const (
	maxPages  = 200     // of a list
	maxCursor = 4 << 10 // bytes of the name of a page
)

var (
	errEnough  = errors.New("there are more than are taken") // ends the reading of a list
	errEndless = errors.New("the list has no end")
)

// pages reads the pages of a list until its end, or until there are enough. A list
// with too many pages, with a page that comes again or with a cursor that is too
// long has no end.
func pages(read func(cursor string) (next string, err error)) error {
	cursor := ""
	seen := map[string]bool{}
	for range maxPages {
		next, err := read(cursor)
		switch {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return err
		case next == "":
			return nil
		case seen[next] || len(next) > maxCursor:
			return errEndless
		}
		seen[next], cursor = true, next
	}
	return errEndless
}

// present are the entries of a list that are not null.
func present[T any](list []*T) []*T {
	return slices.DeleteFunc(list, func(x *T) bool { return x == nil })
}

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
