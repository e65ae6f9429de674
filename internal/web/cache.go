package web

import (
	"container/list"
	"sync"
	"time"
)

// A Cache keeps values by name for a time, the most recently used ones within a
// bound of size. It is safe for concurrent use.
type Cache[V any] struct {
	Keep time.Duration // how long a value is kept after it was put
	Size int           // of all values together, in the unit of Put

	mu     sync.Mutex
	used   int
	byName map[string]*list.Element
	order  list.List // of entry[V], the most recently used first
}

type entry[V any] struct {
	name  string
	value V
	size  int
	until time.Time
}

// Get returns the value of a name.
func (c *Cache[V]) Get(name string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byName[name]; ok {
		if found := e.Value.(entry[V]); time.Now().Before(found.until) {
			c.order.MoveToFront(e)
			return found.value, true
		}
		c.drop(e)
	}
	var none V
	return none, false
}

// Put stores value under name and replaces an earlier one. A value larger than the cache is
// not stored.
func (c *Cache[V]) Put(name string, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byName[name]; ok {
		c.drop(e)
	}
	if size > c.Size {
		return
	}
	if c.byName == nil {
		c.byName = map[string]*list.Element{}
	}
	c.byName[name] = c.order.PushFront(entry[V]{name, value, size, time.Now().Add(c.Keep)})
	c.used += size
	for c.used > c.Size {
		c.drop(c.order.Back())
	}
}

func (c *Cache[V]) drop(e *list.Element) {
	old := c.order.Remove(e).(entry[V])
	delete(c.byName, old.name)
	c.used -= old.size
}
