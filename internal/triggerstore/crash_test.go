package triggerstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/internal/triggerstore"
)

// Updates that returned are in the file after any crash, and one that was cut off is there or not.
func TestCrash(t *testing.T) {
	t.Parallel()
	faultdisk.Check(t, faultdisk.Case[triggerstore.Store]{
		Open: func(folder string) triggerstore.Store {
			return &triggerstore.File{Path: filepath.Join(folder, "triggers.json")}
		},
		Same: func() triggerstore.Store { return &triggerstore.Memory{} },
		Change: func(s triggerstore.Store, n int) error {
			id := fmt.Sprint("trigger", n%4)
			return s.Update(context.Background(), id, func(old *triggerstore.Record) (*triggerstore.Record, error) {
				if old != nil && n%5 == 0 {
					return nil, nil
				}
				at := time.Unix(int64(n), 0).UTC()
				return &triggerstore.Record{
					Trigger: triggerstore.Trigger{ID: id, Name: fmt.Sprint("name ", n), Prompt: "do it", Created: at},
					Secrets: []triggerstore.Secret{triggerstore.Secret(strings.Repeat("k", 20+n))},
				}, nil
			})
		},
		State: func(s triggerstore.Store) (string, error) {
			list, err := s.List(context.Background())
			var b strings.Builder
			for _, r := range list {
				fmt.Fprintln(&b, r.ID, r.Name, r.Created, string(r.Secrets[0]))
			}
			return b.String(), err
		},
	})
}
