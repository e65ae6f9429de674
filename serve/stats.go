package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/session"
)

// maxCounted is how many sessions figures are about: those that were changed last.
const maxCounted = 500

// statsCache keeps what sessions have cost, until they change.
type statsCache struct {
	mu   sync.Mutex
	kept map[place]counted
}

// counted is the tally of a session as it was at a time.
type counted struct {
	updated time.Time
	facts   int64
	tally   *tally
}

// figures are what the sessions of a user have cost, and how their tools did.
type figures struct {
	Sessions int         `json:"sessions"` // that were counted
	More     bool        `json:"more"`     // there are older sessions, which were not counted
	Total    spending    `json:"total"`
	Cached   float64     `json:"cached"`  // share of the input that came from the cache
	Days     []portion   `json:"days"`    // the latest first
	Models   []portion   `json:"models"`  // the dearest first; "" are summaries and digests
	Folders  []portion   `json:"folders"` // the dearest first
	Tools    []toolStats `json:"tools"`   // those called most often first
}

// A portion is the spending of a day, a model or a folder.
type portion struct {
	Name string `json:"name"`
	spending
}

// toolStats are how the calls of a tool did.
type toolStats struct {
	Name   string        `json:"name"`
	Calls  int           `json:"calls"`
	Errors int           `json:"errors"`
	Denied int           `json:"denied"`
	P50    time.Duration `json:"p50"` // half of the calls that ran took no longer
	P95    time.Duration `json:"p95"`
}

func stats(s *Server, c *call) (any, error) {
	out, err := s.figures(c.ctx(), c.user)
	return out, err
}

// figures counts the sessions of a user.
func (s *Server) figures(ctx context.Context, user string) (figures, error) {
	out := figures{Days: []portion{}, Models: []portion{}, Folders: []portion{}, Tools: []toolStats{}}
	infos, err := s.store(user).List(ctx)
	if err != nil {
		return out, err
	}
	var all tally
	folders := map[string]*spending{}
	for i, info := range infos {
		if i == maxCounted {
			out.More = true
			break
		}
		t, err := s.count(ctx, place{user, info.Session}, info)
		if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrCorrupt) {
			continue
		}
		if err != nil {
			return out, err
		}
		out.Sessions++
		all.merge(t)
		for _, spent := range t.models {
			entry(&folders, info.Dir).merge(spent)
		}
	}
	for _, spent := range all.models {
		out.Total.merge(spent)
	}
	if input := out.Total.Usage.Context(); input > 0 {
		out.Cached = float64(out.Total.Usage.CacheRead) / float64(input)
	}
	out.Days = ranked(all.days)
	slices.SortFunc(out.Days, func(a, b portion) int { return cmp.Compare(b.Name, a.Name) })
	out.Models, out.Folders = ranked(all.models), ranked(folders)
	for name, u := range all.tools {
		out.Tools = append(out.Tools, toolStats{name, u.calls, u.errors, u.denied, percentile(u.times, 0.5), percentile(u.times, 0.95)})
	}
	slices.SortFunc(out.Tools, func(a, b toolStats) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// ranked returns the dearest first.
func ranked(of map[string]*spending) []portion {
	list := []portion{}
	for name, spent := range of {
		list = append(list, portion{name, *spent})
	}
	slices.SortFunc(list, func(a, b portion) int {
		return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(b.Usage.Context(), a.Usage.Context()), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// count returns the tally of a session. It reads the session only if it has changed.
func (s *Server) count(ctx context.Context, at place, info session.Info) (*tally, error) {
	s.stats.mu.Lock()
	old, ok := s.stats.kept[at]
	s.stats.mu.Unlock()
	if ok && old.updated.Equal(info.Updated) && old.facts == info.Facts {
		return old.tally, nil
	}
	t := new(tally)
	for e, err := range s.store(at.user).Read(ctx, at.id, 0) {
		if err != nil {
			return nil, err
		}
		t.apply(e)
	}
	t.files, t.calls = nil, nil
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	if s.stats.kept == nil || len(s.stats.kept) >= 10*maxCounted {
		s.stats.kept = map[place]counted{}
	}
	s.stats.kept[at] = counted{info.Updated, info.Facts, t}
	return t, nil
}
