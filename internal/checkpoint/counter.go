package checkpoint

import "sync/atomic"

// A counter says how many bytes may still be added to the store.
type counter struct {
	left  atomic.Int64
	taken atomic.Int64
}

func newCounter(left int64) *counter {
	c := new(counter)
	c.left.Store(left)
	return c
}

// take fails with ErrQuota if fewer than n bytes are left.
func (c *counter) take(n int64) error {
	c.taken.Add(n)
	if c.left.Add(-n) < 0 {
		return ErrQuota
	}
	return nil
}

func (c *counter) give(n int64) {
	c.taken.Add(-n)
	c.left.Add(n)
}
