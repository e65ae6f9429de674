package postgres

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/event"
)

// Notifications go over one channel. Their first letter says what they are about.
const (
	channel   = "openagent"
	factsOf   = "f" // and a session with its space: it has new facts
	mailOf    = "m" // and a session: it has a new command
	wakeUp    = "w" // a session has work to do
	signalsOf = "s" // and a session, a newline, and signals, a line each

	maxPayload = 7900 // bytes; PostgreSQL takes 8,000
)

// A hub sends notifications and receives them, with one connection for all listeners.
type hub struct {
	db   *DB
	stop context.CancelFunc
	all  sync.WaitGroup
	due  chan struct{} // capacity one: there is something to send

	mu        sync.Mutex
	changed   map[string]bool // sessions with new facts that nobody was notified of
	listeners map[string]map[chan struct{}]bool
	viewers   map[string]map[chan event.Event]bool
}

func newHub(d *DB) *hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &hub{db: d, stop: stop, due: make(chan struct{}, 1), changed: map[string]bool{},
		listeners: map[string]map[chan struct{}]bool{}, viewers: map[string]map[chan event.Event]bool{}}
	h.all.Go(func() { h.send(ctx) })
	h.all.Go(func() { h.receive(ctx) })
	return h
}

func (h *hub) close() {
	h.stop()
	h.all.Wait()
}

// listen returns a channel that gets a value when a notification of this name comes.
func (h *hub) listen(name string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners[name] == nil {
		h.listeners[name] = map[chan struct{}]bool{}
	}
	h.listeners[name][c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.listeners[name], c); len(h.listeners[name]) == 0 {
			delete(h.listeners, name)
		}
	}
}

// view returns a channel that gets the signals of a session. A slow reader loses some.
func (h *hub) view(session string) (<-chan event.Event, func()) {
	c := make(chan event.Event, 1000)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers[session] == nil {
		h.viewers[session] = map[chan event.Event]bool{}
	}
	h.viewers[session][c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.viewers[session], c); len(h.viewers[session]) == 0 {
			delete(h.viewers, session)
		}
	}
}

// appended notifies those who wait for facts of a session, here and elsewhere.
func (h *hub) appended(name string) {
	h.mu.Lock()
	h.changed[name] = true
	h.wake(factsOf + name)
	h.mu.Unlock()
	select {
	case h.due <- struct{}{}:
	default:
	}
}

// wake wakes the listeners of a name. The caller holds the lock.
func (h *hub) wake(name string) {
	for c := range h.listeners[name] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// sendEvery is the least time between two statements with notifications. They are not part of
// the appends: a NOTIFY lets all commits of a database wait for one another.
const sendEvery = 5 * time.Millisecond

// send sends the notifications about new facts.
func (h *hub) send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.due:
		}
		h.mu.Lock()
		var payloads []string
		for name := range h.changed {
			payloads = append(payloads, factsOf+name)
		}
		clear(h.changed)
		h.mu.Unlock()
		_ = h.notify(ctx, payloads...) // readers look again after a second
		select {
		case <-ctx.Done():
			return
		case <-time.After(sendEvery):
		}
	}
}

// notify sends notifications.
func (h *hub) notify(ctx context.Context, payloads ...string) error {
	_, err := h.db.pool.Exec(ctx, `SELECT pg_notify($1, u) FROM unnest($2::text[]) u`, channel, payloads)
	return err
}

// The pauses before the connection for notifications is made again.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 3 * time.Second
)

// receive receives notifications, and connects again when the connection breaks.
func (h *hub) receive(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		if conn, err := pgx.ConnectConfig(ctx, h.db.pool.Config().ConnConfig.Copy()); err == nil {
			if _, err = conn.Exec(ctx, `LISTEN `+channel); err == nil {
				pause = firstPause
				h.wakeAll() // what was missed
				h.pass(ctx, conn)
			}
			closing, stop := context.WithTimeout(context.Background(), time.Second)
			_ = conn.Close(closing)
			stop()
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// pass passes notifications on until the connection breaks.
func (h *hub) pass(ctx context.Context, conn *pgx.Conn) {
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		rest, signals := strings.CutPrefix(n.Payload, signalsOf)
		h.mu.Lock()
		if signals {
			h.show(rest)
		} else {
			h.wake(n.Payload)
		}
		h.mu.Unlock()
	}
}

// show gives signals to the viewers of their session. The caller holds the lock.
func (h *hub) show(payload string) {
	name, lines, _ := strings.Cut(payload, "\n")
	viewers := slices.Collect(maps.Keys(h.viewers[name]))
	if len(viewers) == 0 {
		return
	}
	for line := range strings.SplitSeq(lines, "\n") {
		var e event.Event
		if json.Unmarshal([]byte(line), &e) != nil {
			continue // of a newer program
		}
		for _, c := range viewers {
			select {
			case c <- e:
			default:
			}
		}
	}
}

func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.listeners {
		h.wake(name)
	}
}

// payloads returns the notifications for signals. Signals that do not fit are left out.
func payloads(session string, signals []event.Event) (out []string) {
	head := signalsOf + session
	b := []byte(head)
	for _, e := range signals {
		line, err := json.Marshal(e)
		if err != nil || len(head)+1+len(line) > maxPayload {
			continue
		}
		if len(b)+1+len(line) > maxPayload {
			out = append(out, string(b))
			b = append(b[:0], head...)
		}
		b = append(append(b, '\n'), line...)
	}
	if len(b) > len(head) {
		out = append(out, string(b))
	}
	return out
}
