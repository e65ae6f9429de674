package session

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/sessionid"
)

func TestNewID(t *testing.T) {
	shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := ""
			for range 5000 {
				id := NewID()
				if id <= last {
					t.Errorf("%s was made after %s", id, last)
				}
				last = id
				mu.Lock()
				if seen[id] || !shape.MatchString(id) || CheckID(id) != nil {
					t.Errorf("bad id %s", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// The first 48 bits are the time in milliseconds, and ids stay in order when the
// clock stands still.
func TestNewIDTime(t *testing.T) {
	sessionid.Reset()
	synctest.Test(t, func(t *testing.T) {
		want := time.Now().UnixMilli()
		last := ""
		for range 100 {
			id := NewID()
			var ms int64
			for _, c := range strings.ReplaceAll(id, "-", "")[:12] {
				ms = ms<<4 | int64(strings.IndexRune("0123456789abcdef", c))
			}
			if ms != want || id <= last {
				t.Fatalf("id %s after %q: %d ms, want %d", id, last, ms, want)
			}
			last = id
		}
	})
}
