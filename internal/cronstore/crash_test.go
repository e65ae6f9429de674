package cronstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/faultdisk"
)

// Updates that returned are in the file after any crash, and one that was cut off is there or not.
func TestCrash(t *testing.T) {
	t.Parallel()
	faultdisk.Check(t, faultdisk.Case[cronstore.Store]{
		Open: func(folder string) cronstore.Store { return cronstore.File{Path: filepath.Join(folder, "cron.json")} },
		Same: func() cronstore.Store { return &cronstore.Memory{} },
		Change: func(s cronstore.Store, n int) error {
			return s.Update(context.Background(), func(jobs []cronstore.Job) ([]cronstore.Job, error) {
				if n%3 == 0 {
					jobs = jobs[1:]
				}
				return append(jobs, cronstore.Job{ID: fmt.Sprint("job", n), Created: time.Unix(int64(n), 0).UTC()}), nil
			})
		},
		State: func(s cronstore.Store) (string, error) {
			jobs, err := s.Load(context.Background())
			if len(jobs) == 0 {
				return "", err
			}
			text, _ := json.MarshalIndent(jobs, "", " ")
			return string(text), err
		},
	})
}
