package ui

import (
	"iter"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session/view"
)

// plus returns the sum of both.
func (s Spent) plus(o Spent) Spent {
	return Spent{s.Context + o.Context, s.CacheRead + o.CacheRead, s.Output + o.Output, s.USD + o.USD, s.Unpriced || o.Unpriced}
}

// SpentBefore sums up what the facts before one have cost.
func SpentBefore(events iter.Seq2[event.Event, error], shown int64) (all Spent, err error) {
	var v view.State
	count := 0
	for e, err := range events {
		if err != nil {
			return all, err
		}
		if e.Seq >= shown {
			break
		}
		v.Apply(e)
		if count++; count%1000 == 0 { // what a fact costs does not depend on others
			all, v = all.Add(&v), view.State{}
		}
	}
	return all.Add(&v), nil
}
