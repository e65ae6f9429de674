package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/event"
)

// Notifications go over one channel. Their first letter says what they are about.
const (
	channel   = "openagent"
	factsOf   = "f" // and a session with its space: it has new facts
	mailOf    = "m" // and a session: it has a new command
	wakeUp    = "w" // a session has work to do
	signalsOf = "s" // and a session, and lines: a number, and signals
	partOf    = "p" // and a session, and lines: a number, that of the part, 0 if it is the last one; and the part of a signal
	teamOf    = "t" // and a space: somebody has written to its tasks, teams and mail

	maxPayload = 7900    // bytes; PostgreSQL takes 8,000
	maxSignal  = 1 << 20 // bytes of a signal; a longer one is not shown
)

// A hub sends notifications and receives them, with one connection for all listeners.
type hub struct {
	db   *DB
	stop context.CancelFunc
	all  sync.WaitGroup
	due  chan struct{} // capacity one: there is something to send

	mu        sync.Mutex
	changed   map[string]bool // payloads of notifications that are to be sent
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
func (h *hub) appended(name string) { h.tell(factsOf + name) }

// tell notifies those who listen to a name, here and elsewhere.
func (h *hub) tell(name string) {
	h.mu.Lock()
	h.changed[name] = true
	h.wake(name)
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

// send sends the notifications of tell.
func (h *hub) send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.due:
		}
		h.mu.Lock()
		payloads := slices.Collect(maps.Keys(h.changed))
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
	var long longSignal
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		rest, signals := strings.CutPrefix(n.Payload, signalsOf)
		if part, ok := strings.CutPrefix(n.Payload, partOf); ok {
			if rest, signals = long.add(part); !signals {
				continue
			}
		}
		h.mu.Lock()
		if signals {
			h.show(rest)
		} else {
			h.wake(n.Payload)
		}
		h.mu.Unlock()
	}
}

// A longSignal is put together from the notifications of one statement. They come one after
// the other, because those of a transaction do.
type longSignal struct {
	session string
	parts   int
	text    []byte
}

// add takes a part. It returns what a notification with the signal would be once it is whole.
func (l *longSignal) add(payload string) (whole string, ok bool) {
	name, rest, _ := strings.Cut(payload, "\n")
	head, part, _ := strings.Cut(rest, "\n")
	var first, number, left int
	if n, err := fmt.Sscan(head, &first, &number, &left); n != 3 || err != nil {
		return "", false // of a newer program
	}
	if number == 0 {
		*l = longSignal{session: name}
	}
	if number != l.parts || name != l.session || len(l.text)+len(part) > maxSignal {
		*l = longSignal{parts: -1}
		return "", false
	}
	l.parts++
	l.text = append(l.text, part...)
	if left > 0 {
		return "", false
	}
	whole = name + "\n" + string(l.text)
	*l = longSignal{parts: -1}
	return whole, true
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
			continue // the number, or of a newer program
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

// payloads returns the notifications for signals, in their order. They differ in a number,
// because PostgreSQL leaves out notifications that a statement has sent already.
func payloads(session string, signals []event.Event) (out []string) {
	head := func() string { return signalsOf + session + "\n" + strconv.Itoa(len(out)) }
	b := head()
	flush := func() {
		if len(b) > len(head()) {
			out = append(out, b)
			b = head()
		}
	}
	for _, e := range signals {
		line, err := json.Marshal(e)
		if err != nil || len(line) > maxSignal {
			continue
		}
		if len(b)+1+len(line) > maxPayload {
			flush()
		}
		if len(b)+1+len(line) <= maxPayload {
			b += "\n" + string(line)
			continue
		}
		out = append(out, parts(session, len(out), string(line))...)
		b = head()
	}
	flush()
	return out
}

// parts returns the notifications for a signal that does not fit into one. first is the number
// of the first one in the statement.
func parts(session string, first int, line string) (out []string) {
	for len(line) > 0 {
		head := fmt.Sprintf("%s%s\n%d %d ", partOf, session, first, len(out))
		room := maxPayload - len(head) - len("0\n")
		if room < utf8.UTFMax {
			return nil
		}
		n, left := len(line), 0
		if n > room {
			for n, left = room, 1; !utf8.RuneStart(line[n]); n-- {
			}
		}
		out = append(out, fmt.Sprintf("%s%d\n%s", head, left, line[:n]))
		line = line[n:]
	}
	return out
}
