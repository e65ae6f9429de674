package quota

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/quotawarning"
	"github.com/openagent-go/agent/llm"
)

// An Account limits the cost of all model calls that are made in its name. Before a call its
// worst case is reserved. The cost replaces it at the end of the call. A call that does not
// fit is not made, and its prompt ends as max_budget with an [ExhaustedError]. A nil *Account
// limits nothing. Do not copy an Account, or change it once it is in use.
type Account struct {
	Store Store  // must be set
	Key   string // who pays: a user, a tenant
	// Period names the period of a moment, such as [Day]. Each period begins with nothing
	// spent. Nil: there is only one.
	Period func(now time.Time) string
	USD    float64 // the limit of a period; must be more than 0
	// Wait is how long a call waits if it does not fit only because of the reservations of
	// other calls. 0: 5 minutes; negative: it does not wait.
	Wait time.Duration
	// WarnAt is the share of USD from which on a warning comes, once in a period and
	// process; 0: 0.8; negative: never. The session whose call crosses it shows the signal
	// BudgetWarning of package event at the end of the call. It is not on record.
	WarnAt float64
	// Expiry is how long a reservation holds if its process dies and nobody resumes the
	// session. Then, and if the session is resumed before, the call costs an estimate: that
	// of its input. 0: 15 minutes.
	Expiry time.Duration

	mu     sync.Mutex
	warned string // the last book that a warning came about
}

// Balance returns what was spent and is reserved in the present period.
func (a *Account) Balance(ctx context.Context) (Balance, error) {
	now, err := a.now(ctx)
	if err != nil {
		return Balance{}, err
	}
	return a.Store.Balance(ctx, a.book(now))
}

// A clock is a Store with a time of its own, which says the period for all processes.
type clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// now returns the time that says the period.
func (a *Account) now(ctx context.Context) (time.Time, error) {
	c, ok := a.Store.(clock)
	if !ok {
		return time.Now(), nil
	}
	now, err := c.Now(ctx)
	if err != nil {
		return now, fmt.Errorf("reading the clock of the quota of %s: %w", a.Key, err)
	}
	return now, nil
}

func (a *Account) book(now time.Time) string {
	if a.Period == nil {
		return a.Key
	}
	return a.Key + "@" + a.Period(now)
}

// Meter returns the model with its calls counted. [agent.Agent].Quota does this for you.
func (a *Account) Meter(m llm.Model) llm.Model {
	if a == nil {
		return m
	}
	return &metered{m, a}
}

// Accounts are several accounts, such as those of a user and of a tenant. Each call must fit
// all of them.
type Accounts []*Account

// Meter returns the model with its calls counted in each account.
func (as Accounts) Meter(m llm.Model) llm.Model {
	for _, a := range as {
		m = a.Meter(m)
	}
	return m
}

// check returns an error if the account cannot count the calls of a model.
func (a *Account) check(m llm.Model) error {
	switch {
	case a.Store == nil:
		return fmt.Errorf("the account %q has no Store; use quota.Dir or quota.Memory", a.Key)
	case !(a.USD > 0): // also not a number
		return fmt.Errorf("the account %q has the limit $%v; USD must be more than 0", a.Key, a.USD)
	}
	p := llm.InfoOf(m).Price
	if p == nil {
		return fmt.Errorf("the account %q cannot count calls of model %q, whose price is not known; register it in a catalog.Table", a.Key, m.Name())
	}
	for _, usd := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheWriteHour, p.LongInput, p.LongOutput} {
		if !(usd >= 0) || math.IsInf(usd, 1) { // also not a number
			return fmt.Errorf("the account %q cannot count calls of model %q, whose price has the number %v; all numbers of a price must be finite and at least 0", a.Key, m.Name(), usd)
		}
	}
	return nil
}

const (
	defaultWait   = 5 * time.Minute
	defaultExpiry = 15 * time.Minute
	firstPoll     = 20 * time.Millisecond
	slowestPoll   = 500 * time.Millisecond
)

// A notifier is a Store that tells when something is settled, so that nobody has to poll.
type notifier interface {
	// settled returns a channel that is closed when a call of the book is settled.
	settled(book string) <-chan struct{}
}

// reserve reserves the cost of a call in the present period. If only the reservations of
// other calls are in the way, it waits for their end.
func (a *Account) reserve(ctx context.Context, r Reservation) (Reservation, Balance, error) {
	wait, expiry := a.Wait, a.Expiry
	if wait == 0 {
		wait = defaultWait
	}
	if expiry <= 0 {
		expiry = defaultExpiry
	}
	giveUp := time.Now().Add(wait)
	for pause := firstPoll; ; pause = min(2*pause, slowestPoll) {
		day, err := a.now(ctx)
		if err != nil {
			return r, Balance{}, err
		}
		now := time.Now()
		r.Book, r.Expires = a.book(day), now.Add(expiry)
		var settled <-chan struct{} // taken before the try, so that no end is missed
		if n, ok := a.Store.(notifier); ok {
			settled, pause = n.settled(r.Book), slowestPoll // reservations may expire
		}
		b, err := a.Store.Reserve(ctx, r)
		if err != nil {
			return r, b, fmt.Errorf("reserving in the quota of %s: %w", a.Key, err)
		}
		if b.Granted > 0 || b.Reserved <= 0 || b.Spent+r.Least > a.USD || !now.Before(giveUp) {
			return r, b, nil
		}
		if err := sleep(ctx, settled, min(pause, giveUp.Sub(now))); err != nil {
			return r, b, fmt.Errorf("waiting for the quota of %s: %w", a.Key, err)
		}
	}
}

// sleep waits for the channel to be closed, or for the given time.
func sleep(ctx context.Context, until <-chan struct{}, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-until:
	case <-timer.C:
	}
	return nil
}

// settleTime is how long settling may take.
const settleTime = 5 * time.Second

// settle replaces a reservation by the cost of its call, and warns if much is spent now. If
// the store fails, the reservation expires.
func (a *Account) settle(ctx context.Context, book, id string, usd float64) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), settleTime, errors.New("the store of quotas did not answer"))
	defer cancel()
	if a.Store.Settle(ctx, book, id, usd) != nil || !a.warns(ctx, book) {
		return
	}
	if b, err := a.Store.Balance(ctx, book); err == nil {
		a.warn(ctx, book, b.Spent)
	}
}

// settleBroken settles a reservation whose call broke off, if there still is one.
func (a *Account) settleBroken(ctx context.Context, book, id string, usd float64) error {
	none := Reservation{Book: book, ID: id, Least: 1, Most: 1, Expires: time.Now()} // with the limit 0 it only asks
	b, err := a.Store.Reserve(ctx, none)
	if err != nil || b.Granted <= 0 {
		return err
	}
	return a.Store.Settle(ctx, book, id, min(usd, b.Granted))
}

// warns reports whether a warning about the book may still come.
func (a *Account) warns(ctx context.Context, book string) bool {
	_, ok := ctx.Value(quotawarning.Listener{}).(func(quotawarning.Warning))
	a.mu.Lock()
	defer a.mu.Unlock()
	return ok && a.WarnAt >= 0 && a.warned != book
}

// warn tells the run, once in a period, that much is spent.
func (a *Account) warn(ctx context.Context, book string, spent float64) {
	at := a.WarnAt
	if at == 0 {
		at = 0.8
	}
	if spent < at*a.USD || !a.warns(ctx, book) {
		return
	}
	a.mu.Lock()
	first := a.warned != book
	a.warned = book
	a.mu.Unlock()
	if first {
		ctx.Value(quotawarning.Listener{}).(func(quotawarning.Warning))(quotawarning.Warning{Key: a.Key, SpentUSD: spent, LimitUSD: a.USD})
	}
}
