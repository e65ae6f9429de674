// Package quotatest tests implementations of [quota.Store].
package quotatest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/quota"
)

// Reservation returns one in the book b, whose limit is $1.
func Reservation(id string, least, most float64) quota.Reservation {
	return quota.Reservation{Book: "b", ID: id, Least: least, Most: most, Limit: 1, Expires: time.Now().Add(time.Hour), Expected: least}
}

// Run tests the stores that open returns. They are of different programs, on one storage that
// is empty in each test. There are so many workers, each with so many rounds.
func Run(t *testing.T, workers, rounds int, storage func(t *testing.T) (open func() quota.Store)) {
	t.Run("store", func(t *testing.T) { store(t, storage(t)()) })
	t.Run("amounts", func(t *testing.T) { amounts(t, storage(t)()) })
	t.Run("orders", func(t *testing.T) { orders(t, workers, rounds, storage(t)) })
}

// store: a store reserves what fits, settles it, and lets reservations of the dead expire.
func store(t *testing.T, s quota.Store) {
	want := func(step string, got quota.Balance, err error, want quota.Balance) {
		t.Helper()
		if err != nil || fmt.Sprintf("%.3f", got) != fmt.Sprintf("%.3f", want) {
			t.Errorf("%s: got %+v, %v, want %+v", step, got, err, want)
		}
	}
	ctx := t.Context()
	b, err := s.Reserve(ctx, Reservation("1", 0.1, 0.7))
	want("first", b, err, quota.Balance{Reserved: 0.7, Granted: 0.7})
	b, err = s.Reserve(ctx, Reservation("1", 0.1, 0.7))
	want("again", b, err, quota.Balance{Reserved: 0.7, Granted: 0.7})
	b, err = s.Reserve(ctx, Reservation("2", 0.1, 0.7))
	want("part", b, err, quota.Balance{Reserved: 1, Granted: 0.3})
	b, err = s.Reserve(ctx, Reservation("3", 0.1, 0.7))
	want("none", b, err, quota.Balance{Reserved: 1})
	if err := s.Settle(ctx, "b", "1", 0.2); err != nil {
		t.Fatal(err)
	}
	b, err = s.Balance(ctx, "b")
	want("settled", b, err, quota.Balance{Spent: 0.2, Reserved: 0.3})
	dead := Reservation("4", 0.1, 0.5)
	dead.Expires = time.Now()
	b, err = s.Reserve(ctx, dead)
	want("dead", b, err, quota.Balance{Spent: 0.2, Reserved: 0.8, Granted: 0.5})
	b, err = s.Balance(ctx, "b")
	want("expired", b, err, quota.Balance{Spent: 0.3, Reserved: 0.3})
	b, err = s.Reserve(ctx, Reservation("5", 0.1, 0.7))
	want("after the expiry", b, err, quota.Balance{Spent: 0.3, Reserved: 0.7, Granted: 0.4})
	b, err = s.Balance(ctx, "other")
	want("other book", b, err, quota.Balance{})
	if err := s.Settle(ctx, "new", "unknown", 0.25); err != nil {
		t.Fatal(err)
	}
	b, err = s.Balance(ctx, "new")
	want("not reserved", b, err, quota.Balance{Spent: 0.25})
}

// amounts: a store refuses amounts that are no amounts, and keeps none of them.
func amounts(t *testing.T, s quota.Store) {
	if err := s.Settle(t.Context(), "b", "paid", 0.25); err != nil {
		t.Fatal(err)
	}
	for _, usd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.1} {
		refused := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "must be a finite number of at least 0") || !strings.Contains(err.Error(), what) {
				t.Errorf("%s %v: %v", what, usd, err)
			}
		}
		refused("usd", s.Settle(t.Context(), "b", "call", usd))
		for what, change := range map[string]func(*quota.Reservation){
			"Least": func(r *quota.Reservation) { r.Least = usd }, "Most": func(r *quota.Reservation) { r.Most = usd },
			"Limit": func(r *quota.Reservation) { r.Limit = usd }, "Expected": func(r *quota.Reservation) { r.Expected = usd },
		} {
			r := Reservation(what, 0.1, 0.2)
			change(&r)
			b, err := s.Reserve(t.Context(), r)
			if what == "Limit" && math.IsInf(usd, 1) { // no limit
				if err != nil || b.Granted != 0.2 {
					t.Errorf("without a limit: %+v, %v", b, err)
				}
				if err := s.Settle(t.Context(), "b", what, 0); err != nil {
					t.Error(err)
				}
				continue
			}
			if refused(what, err); b != (quota.Balance{}) {
				t.Errorf("%s %v: %+v", what, usd, b)
			}
		}
	}
	if b, err := s.Balance(t.Context(), "b"); err != nil || b != (quota.Balance{Spent: 0.25}) {
		t.Errorf("after amounts that were refused: %+v, %v", b, err)
	}
}

// orders: any order of reserving and settling keeps what is spent and reserved within the
// limit, as long as no call costs more than was granted to it.
func orders(t *testing.T, workers, rounds int, open func() quota.Store) {
	var all sync.WaitGroup
	var mu sync.Mutex
	paid, stores := 0.0, []quota.Store{open(), open()}
	for worker := range workers {
		all.Go(func() {
			s := stores[worker%len(stores)]
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			reserved := map[string]float64{}
			settle := func(id string) {
				usd := reserved[id] * r.Float64() / 10
				delete(reserved, id)
				if err := s.Settle(t.Context(), "b", id, usd); err != nil {
					t.Error(err)
				}
				mu.Lock()
				paid += usd
				mu.Unlock()
			}
			for n := range rounds {
				id := fmt.Sprint(worker, "/", n)
				b, err := s.Reserve(t.Context(), Reservation(id, 0.001+r.Float64()/50, 0.03+r.Float64()/10))
				if err != nil || b.Spent+b.Reserved > 1+1e-9 {
					t.Errorf("%+v, %v", b, err)
					return
				}
				if b.Granted > 0 {
					reserved[id] = b.Granted
				}
				for id := range reserved {
					if r.IntN(2) > 0 {
						settle(id)
					}
				}
			}
			for id := range reserved {
				settle(id)
			}
		})
	}
	all.Wait()
	b, err := stores[0].Balance(t.Context(), "b")
	if err != nil || b.Reserved > 1e-9 || b.Spent > 1+1e-9 || b.Spent < paid-1e-6 || b.Spent > paid+1e-6 {
		t.Errorf("the balance is %+v, %v; $%f was paid", b, err, paid)
	}
}
