package triggerstore

import (
	"sync"
	"time"
)

// maxNonces is how many requests to one trigger are remembered. More in one
// window are refused: forgetting one would let it be repeated.
const maxNonces = 10_000

// nonces remember which requests were seen, until they are too old anyway. Only
// those count that were signed, so that strangers fill no memory.
type nonces struct {
	mu    sync.Mutex
	seen  map[string]map[string]time.Time // trigger, nonce, when it may be forgotten
	sweep time.Time                       // when the old ones are to be forgotten next
}

// add remembers a nonce and reports whether it is new; false as well if there is
// no room.
func (n *nonces) add(trigger, nonce string, until, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]map[string]time.Time{}
	}
	if now.After(n.sweep) || len(n.seen[trigger]) >= maxNonces {
		n.forget(now)
		n.sweep = now.Add(time.Minute)
	}
	mine := n.seen[trigger]
	if _, old := mine[nonce]; old || len(mine) >= maxNonces {
		return false
	}
	if mine == nil {
		mine = map[string]time.Time{}
		n.seen[trigger] = mine
	}
	mine[nonce] = until
	return true
}

func (n *nonces) forget(now time.Time) {
	for trigger, mine := range n.seen {
		for nonce, until := range mine {
			if now.After(until) {
				delete(mine, nonce)
			}
		}
		if len(mine) == 0 {
			delete(n.seen, trigger)
		}
	}
}
