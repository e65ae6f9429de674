package serve

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/llm"
)

// A chatID names what a client's conversation is known by.
type chatID [sha256.Size]byte

// chatKey returns the id of a conversation of a user. person names who it is of, if a client has
// several. No two conversations write the same bytes: lists begin with their number of members, and
// texts with their length.
func chatKey(user string, person []string, turns []turn) chatID {
	h := sha256.New()
	number := func(n int) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	add := func(parts ...string) {
		for _, p := range parts {
			number(len(p))
			h.Write([]byte(p))
		}
	}
	add(user)
	number(len(person))
	add(person...)
	number(len(turns))
	for _, t := range turns {
		add(t.role, strings.TrimSpace(t.text))
		number(len(t.blocks))
		for _, b := range t.blocks {
			switch b := b.(type) {
			case llm.Image:
				add("image", b.MediaType, string(b.Data))
			case llm.Document:
				add("document", b.MediaType, string(b.Data))
			default:
				add(fmt.Sprintf("%T", b), "", "")
			}
		}
	}
	return chatID(h.Sum(nil))
}

// maxHeads is how many conversations are known.
const maxHeads = 10000

// heads are the conversations that clients can continue without naming a session.
type heads struct {
	mu    sync.Mutex
	m     map[chatID]head
	order []chatID       // the oldest first
	taken map[place]bool // sessions that a request continues
}

// A head is where a conversation is in its session.
type head struct {
	session string
	fact    int64  // the end of its last run
	system  string // mark of the client's instructions that it knows
}

func (h *heads) get(id chatID) (head, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, ok := h.m[id]
	return at, ok
}

func (h *heads) put(id chatID, at head) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.m == nil {
		h.m = map[chatID]head{}
	}
	if _, ok := h.m[id]; !ok {
		if len(h.order) >= maxHeads {
			delete(h.m, h.order[0])
			h.order = slices.Delete(h.order, 0, 1)
		}
		h.order = append(h.order, id)
	}
	h.m[id] = at
}

// take reserves a session for one request: of clients that continue the same conversation at once, only
// one continues its session. It reports false if another request has the session.
func (h *heads) take(at place) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken[at] {
		return false
	}
	if h.taken == nil {
		h.taken = map[place]bool{}
	}
	h.taken[at] = true
	return true
}

func (h *heads) release(at place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.taken, at)
}

// personOf returns who a conversation is of, as the client says. If it names nobody, callers with
// other instructions count as other people.
func personOf(r *chatRequest, header string, system [32]byte) []string {
	if r.User == "" && r.SafetyID == "" && header == "" {
		return []string{string(system[:])}
	}
	return []string{r.User, r.SafetyID, header}
}
