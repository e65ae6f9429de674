package mcp

import (
	"context"
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
	errEnough  = errors.New("the list is longer than the limit") // ends the reading of a list
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

// A listing is the sum of all pages that a server has listed: their size, and a hash that
// identifies the list.
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

// listWait bounds how long the answer of a call waits for a list that was announced to
// have changed before it.
const listWait = time.Second

// news counts announcements that a list has changed.
type news struct {
	announced, read uint64
	moved           chan struct{} // closed: more of them were followed
}

// announcements returns how many there were.
func (ses *session) announcements() uint64 {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.news.announced
}

// followed notes that the lists were read after so many announcements.
func (ses *session) followed(announced uint64) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.news.read = announced
	close(ses.news.moved)
	ses.news.moved = make(chan struct{})
}

// catchUp waits until the announcements that there are have been followed, so that the
// next request has the tools that a call made.
func (ses *session) catchUp(ctx context.Context) {
	timer := time.NewTimer(listWait)
	defer timer.Stop()
	for until := ses.announcements(); ; {
		ses.mu.Lock()
		behind, moved := ses.news.read < until, ses.news.moved
		ses.mu.Unlock()
		if !behind {
			return
		}
		select {
		case <-moved:
		case <-timer.C:
			return
		case <-ses.live.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// debounce is how long announcements of changes are gathered before a list is read
// again: longer with each that comes soon after the list before it, so that a server
// that announces without end is not asked without end.
type debounce struct {
	pause time.Duration
	last  time.Time // when the list was read; zero: not yet
}

func (s *debounce) next(now time.Time) time.Duration {
	if s.pause = min(2*s.pause, longWait); s.last.IsZero() || now.Sub(s.last) >= longWait {
		s.pause = settleTime
	}
	return s.pause
}
