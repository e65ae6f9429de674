package session

import (
	"cmp"
	"context"
	"strings"
)

// A Query selects sessions for a list, the one changed last first. Its zero value selects all.
//
//	page, err := session.Query{State: session.StateWaiting, Limit: 100}.List(ctx, store)
//	next, err := session.Query{State: session.StateWaiting, Limit: 100, After: page[len(page)-1]}.List(ctx, store)
//
// A session that changes between two pages moves to the front.
type Query struct {
	State State  // only sessions in this state
	Dir   string // only sessions of this folder
	// After is the last Info of the page before. Only its Updated and Session count. Without a
	// Session, the page begins with the first session changed before Updated.
	After Info
	Limit int // at most so many; 0: no limit
}

// List returns the sessions of a store that the query selects. It lists all sessions, unless
// the store has a method Query(ctx, q Query) ([]Info, error), which List calls then. A store
// with this method keeps sub-agents apart, as a [Nester], and knows the State of each session.
func (q Query) List(ctx context.Context, s Store) ([]Info, error) {
	if s, ok := s.(querier); ok {
		return s.Query(ctx, q)
	}
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	sortByUpdate(all)
	list := []Info{}
	for _, info := range all {
		if q.Limit > 0 && len(list) == q.Limit {
			break
		}
		if q.selects(info) {
			list = append(list, info)
		}
	}
	return list, nil
}

// A querier is a [Store] that selects sessions without listing all.
type querier interface {
	Query(ctx context.Context, q Query) ([]Info, error)
}

// selects reports whether a session belongs to the pages from q on.
func (q Query) selects(info Info) bool {
	begins := q.After.Session == "" && q.After.Updated.IsZero()
	return (begins || cmp.Or(info.Updated.Compare(q.After.Updated), strings.Compare(info.Session, q.After.Session)) < 0) &&
		(q.State == "" || info.State == q.State) && (q.Dir == "" || info.Dir == q.Dir)
}
