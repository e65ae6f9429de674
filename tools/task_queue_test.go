package tools_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// A queue is one list of tasks for all sessions.
type queue struct {
	teamstore.Shared
	list teamstore.Tasks
}

const queueSpace = "queue"

func (q queue) AddTask(ctx context.Context, _ string, t teamstore.Task) (teamstore.Task, error) {
	return q.list.AddTask(ctx, queueSpace, t)
}

func (q queue) Task(ctx context.Context, _, id string) (teamstore.Task, error) {
	return q.list.Task(ctx, queueSpace, id)
}

func (q queue) Tasks(ctx context.Context, _ string, f teamstore.Filter) ([]teamstore.Task, error) {
	return q.list.Tasks(ctx, queueSpace, f)
}

func (q queue) UpdateTask(ctx context.Context, _, id string, c teamstore.Change) (teamstore.Task, error) {
	return q.list.UpdateTask(ctx, queueSpace, id, c)
}

var (
	listed  = regexp.MustCompile(`(?m)^\[(task_\d+)\] pending - [^(\n]*$`) // without an owner, blocked by nothing
	claimed = regexp.MustCompile(`^Task updated: (task_\d+) - in_progress`)
)

// worker plays a model that takes the tasks of the list, one after the other, until there
// is none to take. Blocked tasks are left to the worker whose task blocks them. It notes
// its tasks.
func worker(had func(id string)) llmtest.Rule {
	var free []string
	use := func(name string, input map[string]any) llmtest.Step {
		return llmtest.Call(llmtest.Use("", name, input))
	}
	return func(r *llmtest.Request, _ int) llmtest.Step {
		last := llmtest.Result{}
		if results := r.Results(); len(results) > 0 {
			last = results[0]
		}
		if id := claimed.FindStringSubmatch(last.Text); id != nil {
			had(id[1])
			return use("TaskUpdate", map[string]any{"id": id[1], "status": "completed", "output": "done"})
		}
		if last.Use.Name == "TaskList" {
			for _, found := range listed.FindAllStringSubmatch(last.Text, 20) {
				free = append(free, found[1])
			}
			rand.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
			if len(free) == 0 {
				return llmtest.Say("nothing is left")
			}
		}
		if len(free) == 0 {
			return use("TaskList", map[string]any{"status": "pending"})
		}
		id := free[0]
		free = free[1:]
		return use("TaskUpdate", map[string]any{"id": id, "status": "in_progress"})
	}
}

// TestWorkQueue: eight agents work on a list of two hundred tasks at once, in
// memory and on disk. Each task is done once.
func TestWorkQueue(t *testing.T) {
	const tasks, agents = 200, 8
	dir := &teamstore.Dir{Path: t.TempDir()}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, store := range map[string]teamstore.Shared{"memory": &teamstore.Memory{}, "dir": dir} {
		t.Run(name, func(t *testing.T) {
			leases := &teamstore.Leases{List: store}
			defer leases.Close()
			q := queue{store, leases}
			list := (*team.Store)(teamstore.NewStore(q))
			for i := range tasks {
				x := teamstore.Task{Subject: fmt.Sprintf("part %d", i+1)}
				if i%10 == 9 {
					x.BlockedBy = []string{fmt.Sprintf("task_%d", i-3)}
				}
				if _, err := q.AddTask(t.Context(), "", x); err != nil {
					t.Fatal(err)
				}
			}
			var mu sync.Mutex
			times := map[string]int{}
			had := func(id string) {
				mu.Lock()
				defer mu.Unlock()
				times[id]++
			}
			var wg sync.WaitGroup
			for i := range agents {
				a := &agent.Agent{Name: fmt.Sprintf("worker-%d", i+1), Model: &llmtest.Model{Rule: worker(had)},
					Tools: []tool.Tool{tools.TaskList(list), tools.TaskUpdate(list)}}
				wg.Go(func() {
					if _, err := a.Prompt(t.Context(), "Do the tasks of the list."); err != nil {
						t.Errorf("%s: %v", a.Name, err)
					}
				})
			}
			wg.Wait()
			all, err := q.Tasks(t.Context(), "", teamstore.Filter{})
			if err != nil || len(all) != tasks {
				t.Fatalf("%d tasks, %v", len(all), err)
			}
			for _, x := range all {
				if times[x.ID] != 1 || x.Status != teamstore.Completed || x.Output != "done" || x.Owner == "" {
					t.Errorf("%s was had %d times and is %s, owned by %q", x.ID, times[x.ID], x.Status, x.Owner)
				}
			}
		})
	}
}
