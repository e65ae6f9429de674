package quota

import (
	"time"

	"github.com/openagent-go/agent/internal/metering"
)

// check returns an error if a reservation has amounts that are no amounts.
func (r Reservation) check() error {
	return metering.CheckReservation(r.Least, r.Most, r.Limit, r.Expected)
}

// A ledger holds the costs of a book.
type ledger struct {
	Spent float64         `json:"spent_usd"`
	Held  map[string]hold `json:"held,omitempty"` // reservations by id
}

type hold struct {
	USD      float64   `json:"usd"`
	Expires  time.Time `json:"expires"`
	Expected float64   `json:"expected_usd,omitempty"`
}

// expire settles the reservations whose time is over.
func (l *ledger) expire(now time.Time) {
	for id, h := range l.Held {
		if !now.Before(h.Expires) {
			l.Spent += h.Expected
			delete(l.Held, id)
		}
	}
}

func (l *ledger) reserve(r Reservation, now time.Time) Balance {
	l.expire(now)
	b := l.balance()
	if h, known := l.Held[r.ID]; known {
		b.Granted = h.USD
		return b
	}
	granted := min(r.Most, r.Limit-b.Spent-b.Reserved)
	if granted < r.Least || granted <= 0 {
		return b
	}
	if l.Held == nil {
		l.Held = map[string]hold{}
	}
	l.Held[r.ID] = hold{granted, r.Expires, min(r.Expected, granted)}
	b.Reserved, b.Granted = b.Reserved+granted, granted
	return b
}

func (l *ledger) settle(id string, usd float64) {
	delete(l.Held, id)
	l.Spent += usd
}

func (l *ledger) balance() Balance {
	b := Balance{Spent: l.Spent}
	for _, h := range l.Held {
		b.Reserved += h.USD
	}
	return b
}
