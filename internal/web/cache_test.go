package web

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Cache[string]{Keep: 15 * time.Minute, Size: 10}
		has := func(name, want string) {
			t.Helper()
			if got, ok := c.Get(name); got != want || ok != (want != "") {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		has("a", "")
		c.Put("a", "1", 4)
		time.Sleep(10 * time.Minute)
		c.Put("b", "2", 4)
		has("a", "1")
		c.Put("c", "3", 4) // b is the one not used for longest
		has("a", "1")
		has("b", "")
		has("c", "3")
		c.Put("a", "too large", 11)
		has("a", "")
		c.Put("c", "4", 5)
		has("c", "4")
		time.Sleep(15*time.Minute - 1)
		has("c", "4") // looking does not make it live longer
		time.Sleep(time.Nanosecond)
		has("c", "")
		if c.used != 0 || c.order.Len() != 0 || len(c.byName) != 0 {
			t.Errorf("%d used by %d values", c.used, c.order.Len())
		}
	})
}
