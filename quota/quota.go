// Package quota limits what model calls cost over many prompts: for a user, a tenant, a day.
// Sessions, sub-agents and processes share an [Account] by its [Store].
//
//	today := &quota.Account{Store: quota.Dir("quotas"), Key: "user/ada", Period: quota.Day, USD: 2}
//	a := &agent.Agent{Model: model, Quota: today}
package quota

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrExhausted is matched by the error of a prompt whose next model call does not fit an
// account. The error has an [ExhaustedError] with the amounts.
var ErrExhausted = errors.New("the quota is used up")

// An ExhaustedError says why a call does not fit an account. It matches [ErrExhausted].
//
// If the spent and the needed amount together are within the limit, other calls had the rest
// reserved for longer than [Account].Wait. Try again later. Otherwise wait for the next
// period, or raise the limit.
type ExhaustedError struct {
	Key         string  // of the account
	NeededUSD   float64 // the least that the call could cost at worst
	SpentUSD    float64 // in this period
	ReservedUSD float64 // by other calls
	LimitUSD    float64 // of this period
}

// Error says what the call could cost, what is left for it, and what to do.
func (e *ExhaustedError) Error() string {
	reserved, remedy := "", "wait for the next period, raise the limit, or lower Agent.MaxTokens"
	switch {
	case e.ReservedUSD > 0:
		reserved = fmt.Sprintf(", other calls have reserved $%.4g", e.ReservedUSD)
		if e.SpentUSD+e.NeededUSD <= e.LimitUSD {
			remedy = "try again when they have ended"
		}
	case e.NeededUSD > e.LimitUSD:
		remedy = "raise the limit, or lower Agent.MaxTokens"
	}
	return fmt.Sprintf("%v: the account %q has spent $%.4g of $%.4g%s, and the next call could cost $%.4g; %s",
		ErrExhausted, e.Key, e.SpentUSD, e.LimitUSD, reserved, e.NeededUSD, remedy)
}

// Is reports whether target is [ErrExhausted].
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

// A Store keeps the books of accounts. Each call is atomic, also between processes. It is
// safe for concurrent use. If it has a method Now(context.Context) (time.Time, error), the
// period of an account is that of its time instead of the program's.
//
// A Store refuses amounts that are negative or not finite, and keeps nothing of such a call.
// Only a Limit may be infinite.
type Store interface {
	// Reserve reserves the cost of a call, as much of it as fits. Nothing is reserved
	// (Granted is 0) if less than r.Least fits. Reserving an id again changes nothing and
	// returns what was granted to it, whatever the limit of r is.
	Reserve(ctx context.Context, r Reservation) (Balance, error)
	// Settle replaces a reservation by the cost of the call, which may be 0. The cost of an
	// id that is not reserved is added. Settling an id twice is an error of the caller.
	Settle(ctx context.Context, book, id string, usd float64) error
	// Balance returns the state of a book, which may be new.
	Balance(ctx context.Context, book string) (Balance, error)
}

// A Reservation is the cost that a call can have.
type Reservation struct {
	Book        string  // key and period of the account
	ID          string  // of the call
	Least, Most float64 // in USD: below Least nothing is reserved, above Most nothing more
	Limit       float64 // that all costs and reservations of the book keep to
	// From Expires on, the call counts as broken: its cost is Expected.
	Expires  time.Time
	Expected float64
}

// A Balance is the state of a book, in USD.
type Balance struct {
	Spent    float64 // in USD, in this period
	Reserved float64 // by calls that have not ended, Granted included
	Granted  float64 // to the reservation of this call of Reserve
}

// Day is the period of a calendar day in UTC.
func Day(now time.Time) string { return now.UTC().Format("2006-01-02") }

// DayIn returns the period of a calendar day in a place, such as that of
// time.LoadLocation("Europe/Berlin").
func DayIn(place *time.Location) func(now time.Time) string {
	return func(now time.Time) string { return now.In(place).Format("2006-01-02") }
}

// Month is the period of a calendar month in UTC.
func Month(now time.Time) string { return now.UTC().Format("2006-01") }
