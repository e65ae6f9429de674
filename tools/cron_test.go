package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// crontab returns the tools' crontab for a new folder, in a file.
func crontab(t *testing.T) Crontab {
	return Crontab{Jobs: cron.File(filepath.Join(t.TempDir(), "jobs.json")), Dir: t.TempDir()}
}

func TestCronTools(t *testing.T) {
	c := crontab(t)
	running := false
	c.Running = func() bool { return running }
	create, list, del := CronCreate(c), CronList(c), CronDelete(c)
	if r := tooltest.Run(t, list, nil); r.IsError || !strings.Contains(r.Text(), "No jobs") {
		t.Error(r.Text())
	}
	r := tooltest.Run(t, create, `{"name":"report","schedule":"30 9 * * *","prompt":"Write the report.","zone":"Asia/Tokyo","missed":"all"}`)
	shown := regexp.MustCompile(`^Scheduled "report" as (cron_\w+)\. Next run: (\S+T09:30:00\+09:00)\. Nothing in this program runs the schedule: .*openagent cron run`).FindStringSubmatch(r.Text())
	if r.IsError || shown == nil {
		t.Fatal(r.Text())
	}
	id := shown[1]
	if next, err := time.Parse(time.RFC3339, shown[2]); err != nil || !next.After(time.Now()) || time.Until(next) > 25*time.Hour {
		t.Error(next, err)
	}
	jobs, err := c.store().Load(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].ID != id || jobs[0].Dir != c.Dir || jobs[0].Missed != cronstore.All || jobs[0].Prompt != "Write the report." {
		t.Fatal(jobs, err)
	}
	var d struct {
		Job struct {
			ID   string
			Next time.Time
		}
		Running *bool
	}
	if err := json.Unmarshal(r.Details, &d); err != nil || d.Job.ID != id || d.Job.Next.IsZero() || d.Running == nil || *d.Running {
		t.Errorf("%s %v", r.Details, err)
	}
	running = true
	r = tooltest.Run(t, create, `{"name":"check","schedule":"@every 1h","command":"make check"}`)
	if r.IsError || !strings.Contains(r.Text(), "while this program lives") {
		t.Error(r.Text())
	}
	// The list tells how it went.
	if err := c.store().Update(t.Context(), func(jobs []cronstore.Job) ([]cronstore.Job, error) {
		jobs[0].Past = []cronstore.Outcome{{Tick: time.Now(), Ended: time.Now(), Status: cronstore.Failed, Note: "no luck"}}
		jobs[1].Disabled = true
		return jobs, nil
	}); err != nil {
		t.Fatal(err)
	}
	r = tooltest.Run(t, list, nil)
	for _, want := range []string{id + ` "report", 30 9 * * * in Asia/Tokyo, prompt "Write the report.", next ` + shown[2], `last: failed at `, `"no luck"`, `command "make check", disabled`} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("%s\nlacks %s", r.Text(), want)
		}
	}
	if r := tooltest.Run(t, del, map[string]string{"id": id}); r.IsError || !strings.Contains(r.Text(), "report") {
		t.Error(r.Text())
	}
	if r := tooltest.Run(t, del, map[string]string{"id": id}); !r.IsError || !strings.Contains(r.Text(), "CronList shows the ids") {
		t.Error(r.Text())
	}
}

func TestCronCreateErrors(t *testing.T) {
	c := crontab(t)
	create := CronCreate(c)
	for input, want := range map[string]string{
		`{"name":"a","schedule":"61 * * * *","prompt":"p"}`:                              `the minute "61" is wrong`,
		`{"name":"a","schedule":"0 0 30 2 *","prompt":"p"}`:                              "never runs",
		`{"name":"a","schedule":"@daily"}`:                                               "exactly one of",
		`{"name":"a","schedule":"@daily","prompt":"p","command":"c"}`:                    "exactly one of",
		`{"name":"a","schedule":"@daily","prompt":"p","zone":"Mars"}`:                    `no time zone "Mars"`,
		`{"name":"a","schedule":"@daily","prompt":"p","missed":"often"}`:                 "once, skip or all",
		`{"name":"a\u001b[2J","schedule":"@daily","prompt":"p"}`:                         "printable characters",
		`{"name":"a","schedule":"` + strings.Repeat("9", 1<<20) + `","prompt":"p"}`:      "the limit is 200",
		`{"name":"a","schedule":"@daily","prompt":"` + strings.Repeat("x", 1<<20) + `"}`: "at most 64 KB",
		`{"schedule":"@daily","prompt":"p"}`:                                             "name",
	} {
		r := tooltest.Run(t, create, input)
		if !r.IsError || !strings.Contains(r.Text(), want) || len(r.Text()) > 1000 {
			t.Errorf("%.100s: %.1000s, want %s", input, r.Text(), want)
		}
	}
	if jobs, _ := c.store().Load(t.Context()); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}

// The permission asked for: a command is judged as one, and a person must agree to it.
func TestCronClass(t *testing.T) {
	c := crontab(t)
	class := func(tl tool.Tool, input string) tool.Traits {
		return toolrun.Classify(tl, tool.Call{Name: tl.Spec().Name, Dir: "/elsewhere", Input: json.RawMessage(input)})
	}
	got := class(CronCreate(c), `{"name":"a","schedule":"@daily","command":"rm -r x"}`)
	if len(got.Access) != 1 || got.Access[0] != (permission.Access{Kind: permission.RunCommand, Target: "rm -r x", Dir: c.Dir, Later: true}) || got.ConfirmReason == "" || got.ReadOnly {
		t.Errorf("%+v", got)
	}
	got = class(CronCreate(c), `{"name":"a","schedule":"@daily","prompt":"p"}`)
	if len(got.Access) != 1 || got.Access[0] != (permission.Access{Kind: permission.UseName, Target: "a", Once: true}) || got.ConfirmReason == "" {
		t.Errorf("%+v", got)
	}
	if got = class(CronDelete(c), `{"id":"cron_x"}`); got.ReadOnly || got.Access[0].Target != "cron_x" {
		t.Errorf("%+v", got)
	}
	if got = class(CronList(c), `{}`); !got.ReadOnly || got.ConfirmReason != "" {
		t.Errorf("%+v", got)
	}
	// A command that only reads is kept all the same: it waits for the plan, and is asked about.
	keeps := permission.Request{Tool: "CronCreate", Dir: c.Dir, Access: class(CronCreate(c), `{"name":"a","schedule":"@daily","command":"ls"}`).Access}
	if d := policies.Compile(permission.Policy{Mode: permission.Plan}).Waits(&keeps); d == nil || d.Behavior != permission.Denied {
		t.Errorf("in plan mode: %+v", d)
	}
	if d := (permission.Policy{}).Decide(keeps); d.Behavior != permission.Asked || !strings.Contains(d.Reason, "runs later") {
		t.Errorf("%+v", d)
	}
	deny := permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"CronCreate(rm *)"}}
	if d := deny.Decide(permission.Request{Tool: "CronCreate", Dir: c.Dir,
		Access: []permission.Access{{Kind: permission.RunCommand, Target: "echo; rm -r x", Dir: c.Dir}}}); d.Behavior != permission.Denied {
		t.Errorf("%+v", d)
	}
}

// Jobs of other folders are neither seen nor deleted.
func TestCronFolders(t *testing.T) {
	mine := crontab(t)
	other := Crontab{Jobs: mine.Jobs, Dir: t.TempDir()}
	j, err := cronstore.Add(t.Context(), other.store(), cronstore.Job{Name: "secret", Schedule: "@daily", Prompt: "p", Dir: other.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if r := tooltest.Run(t, CronList(mine), nil); strings.Contains(r.Text()+string(r.Details), "secret") {
		t.Error(r.Text())
	}
	if r := tooltest.Run(t, CronDelete(mine), map[string]string{"id": j.ID}); !r.IsError {
		t.Error(r.Text())
	}
	own, err := cronstore.Put(t.Context(), mine.store(), cronstore.Job{Name: "of a trigger", Schedule: "@daily", Trigger: "t1", Dir: mine.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if r := tooltest.Run(t, CronDelete(mine), map[string]string{"id": own.ID}); !r.IsError || !strings.Contains(r.Text(), "RemoteTrigger, action update") {
		t.Error(r.Text())
	}
	if r := tooltest.Run(t, CronList(mine), nil); !strings.Contains(r.Text(), `trigger "t1"`) {
		t.Error(r.Text())
	}
	all := Crontab{Jobs: mine.Jobs}
	if r := tooltest.Run(t, CronList(all), nil); !strings.Contains(r.Text(), "secret") {
		t.Error(r.Text())
	}
	if r := tooltest.RunCall(t, CronCreate(all), tool.Call{Dir: mine.Dir, Input: json.RawMessage(`{"name":"a","schedule":"@daily","prompt":"p"}`)}); r.IsError {
		t.Error(r.Text())
	}
	if r := tooltest.Run(t, CronList(mine), nil); !strings.Contains(r.Text(), `"a"`) {
		t.Error(r.Text())
	}
}

func TestCronMany(t *testing.T) {
	c := crontab(t)
	c.Jobs = cron.Memory()
	for i := range 300 {
		j := cronstore.Job{Name: fmt.Sprintf("job%d", i), Schedule: "@daily", Prompt: strings.Repeat("long\n", 10000), Dir: c.Dir}
		if _, err := cronstore.Add(t.Context(), c.store(), j); err != nil {
			t.Fatal(err)
		}
	}
	r := tooltest.Run(t, CronList(c), nil)
	if !strings.Contains(r.Text(), "… and 200 more") || len(r.Text()) > 50<<10 {
		t.Errorf("%d bytes: %.300s", len(r.Text()), r.Text())
	}
}

// A schedule that cannot be read is reported, and stays as it is.
func TestCronUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.json")
	if err := os.WriteFile(path, []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Crontab{Jobs: cron.File(path), Dir: t.TempDir()}
	for _, r := range []*tool.Result{
		tooltest.Run(t, CronList(c), nil),
		tooltest.Run(t, CronDelete(c), `{"id":"x"}`),
		tooltest.Run(t, CronCreate(c), `{"name":"a","schedule":"@daily","prompt":"p"}`),
	} {
		if !r.IsError || !strings.Contains(r.Text(), "cannot be read") {
			t.Error(r.Text())
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "{torn" {
		t.Errorf("%q %v", data, err)
	}
}

func TestCronTogether(t *testing.T) {
	c := crontab(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r := tooltest.Run(t, CronCreate(c), fmt.Sprintf(`{"name":"job%d","schedule":"@daily","prompt":"p"}`, i))
			if r.IsError {
				t.Error(r.Text())
			}
			tooltest.Run(t, CronList(c), nil)
		})
	}
	all.Wait()
	if jobs, err := c.store().Load(t.Context()); err != nil || len(jobs) != 8 {
		t.Error(len(jobs), err)
	}
}

func TestCronContract(t *testing.T) {
	c := crontab(t)
	c.Jobs = cron.Memory()
	for _, tl := range []tool.Tool{CronCreate(c), CronDelete(c), CronList(c)} {
		tooltest.Check(t, tl)
	}
}

// A call that is cancelled while another program works on the schedule adds
// nothing.
func TestCronCancelled(t *testing.T) {
	c := crontab(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := c.store().Update(t.Context(), func(jobs []cronstore.Job) ([]cronstore.Job, error) {
		done := make(chan toolrun.Outcome)
		go func() {
			call := tool.Call{ID: "c1.0", Name: "CronCreate", Input: json.RawMessage(`{"name":"a","schedule":"@daily","prompt":"p"}`)}
			done <- toolrun.Run(ctx, CronCreate(c), call, time.Minute)
		}()
		cancel()
		if o := <-done; !o.Result.IsError || o.Err != nil {
			t.Errorf("%+v", o)
		}
		return jobs, nil
	})
	if jobs, loadErr := c.store().Load(t.Context()); err != nil || loadErr != nil || len(jobs) != 0 {
		t.Error(jobs, err, loadErr)
	}
}
