package teamstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
)

// Tasks, teams and mail that were acknowledged are there after any crash, and an operation that
// was cut off was carried out or not.
func TestCrash(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), func() time.Time { return time.Unix(1000, 0).UTC() }
	errLook := errors.New("only looking")
	faultdisk.Check(t, faultdisk.Case[teamtest.Store]{
		Open:  func(folder string) teamtest.Store { return &teamstore.Dir{Path: folder, Now: now} },
		Same:  func() teamtest.Store { return &teamstore.Memory{Now: now} },
		Close: func(s teamtest.Store) error { return s.(*teamstore.Dir).Close() },
		Change: func(s teamtest.Store, n int) (err error) {
			switch n % 6 {
			case 1:
				_, err = s.CreateTeam(ctx, "s", fmt.Sprint("team", n), fmt.Sprint("boss", n), []string{fmt.Sprint("worker", n)}, "")
			case 2:
				_, err = s.Send(ctx, "s", teamstore.Message{ID: fmt.Sprint(n), From: fmt.Sprint("boss", n-1), To: fmt.Sprint("worker", n-1), Content: "do it"})
			case 3, 4:
				_, err = s.AddTask(ctx, "s", teamstore.Task{Subject: fmt.Sprint("task ", n)})
			case 5:
				status := teamstore.Completed
				_, err = s.UpdateTask(ctx, "s", fmt.Sprint("task_", 1+n/6*2), teamstore.Change{Status: status})
			case 0:
				err = s.Take(ctx, "s", fmt.Sprint("worker", n-5), func([]teamstore.Message) error { return nil })
			}
			return err
		},
		State: func(s teamtest.Store) (string, error) {
			tasks, err := s.Tasks(ctx, "s", teamstore.Filter{})
			teams, err2 := s.Teams(ctx, "s")
			out := []any{len(tasks), len(teams), tasks, teams}
			for n := 1; n < 14; n += 6 {
				err3 := s.Take(ctx, "s", fmt.Sprint("worker", n), func(m []teamstore.Message) error {
					out = append(out, m)
					return errLook
				})
				if err3 != nil && !errors.Is(err3, errLook) {
					err = errors.Join(err, err3)
				}
			}
			text, _ := json.MarshalIndent(out, "", " ")
			return string(text), errors.Join(err, err2)
		},
	})
}
