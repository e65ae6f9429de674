package team_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/team"
)

// A worker does what there is to do, one task after the other. Its lease lets
// others have a task again if the worker dies with it.
func ExampleStore() {
	ctx := context.Background()
	tasks := team.Memory()
	for _, t := range []team.Task{{Subject: "build"}, {Subject: "test", BlockedBy: []string{"task_1"}}} {
		if _, err := tasks.AddTask(ctx, "session", t); err != nil {
			fmt.Println(err)
		}
	}
	for {
		t, err := tasks.Claim(ctx, "session", "worker", time.Minute)
		if errors.Is(err, team.ErrNone) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		output := t.Subject + " done"
		t, err = tasks.UpdateTask(ctx, "session", t.ID, team.Change{Status: team.Completed, Output: &output, Holder: "worker"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(t.ID, t.Status, t.Output)
	}
	// Output:
	// task_1 completed build done
	// task_2 completed test done
}
