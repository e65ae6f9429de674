package quota_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/quota"
)

// Costs and reservations that were acknowledged are there after any crash.
func TestCrash(t *testing.T) {
	t.Parallel()
	book := func(n int) string { return fmt.Sprint("book", n%2) }
	faultdisk.Check(t, faultdisk.Case[quota.Store]{
		Open: quota.Dir,
		Same: quota.Memory,
		Change: func(s quota.Store, n int) error {
			if n%3 == 0 {
				return s.Settle(context.Background(), book(n-2), fmt.Sprint("call", n-2), float64(n)/8)
			}
			_, err := s.Reserve(context.Background(), quota.Reservation{Book: book(n), ID: fmt.Sprint("call", n),
				Least: 0.5, Most: 1, Limit: 100, Expires: time.Now().Add(time.Hour), Expected: 1})
			return err
		},
		State: func(s quota.Store) (string, error) {
			var b strings.Builder
			for i := range 2 {
				balance, err := s.Balance(context.Background(), book(i))
				if err != nil {
					return "", err
				}
				fmt.Fprintln(&b, balance)
			}
			return b.String(), nil
		},
	})
}
