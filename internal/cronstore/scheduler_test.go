package cronstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/cronstore"
)

// A diary takes down what a scheduler does.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) report(j cronstore.Job, o cronstore.Outcome) {
	d.write("%s %s %s", j.Name, o.Tick.UTC().Format("15:04:05"), o.Status)
}

func (d *diary) want(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("%q\nwant\n%q", d.lines, want)
	}
	d.lines = nil
}

func add(t *testing.T, s cronstore.Store, name, schedule string, missed cronstore.Missed) cronstore.Job {
	t.Helper()
	j, err := cronstore.Add(t.Context(), s, cronstore.Job{Name: name, Schedule: schedule, Zone: "UTC", Prompt: "do " + name, Dir: t.TempDir(), Missed: missed})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// begin runs a scheduler; stop ends it and returns its error.
func begin(t *testing.T, s *cronstore.Scheduler) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

func job(t *testing.T, s cronstore.Store, id string) cronstore.Job {
	t.Helper()
	jobs, err := s.Load(t.Context())
	i := slices.IndexFunc(jobs, func(j cronstore.Job) bool { return j.ID == id })
	if err != nil || i < 0 {
		t.Fatal(i, err)
	}
	return jobs[i]
}

func nothing(context.Context, cronstore.Job, time.Time) (string, error) { return "", nil }

func TestSchedulerFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := new(cronstore.Memory)
		s := &cronstore.Scheduler{Store: store, Report: d.report, Fire: func(_ context.Context, j cronstore.Job, tick time.Time) (string, error) {
			if late := time.Since(tick); late < 0 || late > time.Second {
				t.Errorf("%s comes %s late", tick, late)
			}
			time.Sleep(3 * time.Second)
			if j.Name == "bad" {
				return "half", errors.New("no\nluck")
			}
			return " it  went\nwell ", nil
		}}
		a := add(t, store, "a", "*/2 * * * *", "")
		stop := begin(t, s)
		if !s.Running() {
			t.Error("it says that it does not run")
		}
		time.Sleep(time.Minute)
		bad := add(t, store, "bad", "@every 2m", "") // seen in time, though the scheduler sleeps
		time.Sleep(3*time.Minute + 30*time.Second)
		if err := stop(); err != nil || s.Running() {
			t.Error(err)
		}
		d.want(t, "a 00:02:00 done", "bad 00:03:00 failed", "a 00:04:00 done")
		if o, ok := job(t, store, a.ID).Last(); !ok || o.Note != "it went well" || o.Took != 3*time.Second || job(t, store, a.ID).Run != nil {
			t.Errorf("%+v", job(t, store, a.ID))
		}
		if o, _ := job(t, store, bad.ID).Last(); o.Note != "no luck; half" {
			t.Errorf("%+v", o)
		}
	})
}

// While a job runs its next ticks are skipped; other jobs continue.
func TestSchedulerOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := new(cronstore.Memory)
		slow := add(t, store, "slow", "* * * * *", "")
		add(t, store, "quick", "* * * * *", "")
		s := &cronstore.Scheduler{Store: store, Report: d.report, Fire: func(_ context.Context, j cronstore.Job, _ time.Time) (string, error) {
			if j.Name == "slow" {
				time.Sleep(150 * time.Second)
			}
			return "", nil
		}, Grace: 3 * time.Minute}
		stop := begin(t, s)
		time.Sleep(215 * time.Second)
		if r := job(t, store, slow.ID).Run; r != nil {
			t.Errorf("%+v", r)
		}
		time.Sleep(35 * time.Second) // 04:10
		d.want(t, "quick 00:01:00 done", "quick 00:02:00 done", "quick 00:03:00 done", "slow 00:01:00 done", "slow 00:03:00 skipped", "quick 00:04:00 done")
		if r := job(t, store, slow.ID).Run; r == nil || r.Tick.Minute() != 4 {
			t.Errorf("%+v", r)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestSchedulerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(cronstore.Memory)
		a, b := add(t, store, "panics", "* * * * *", ""), add(t, store, "exits", "* * * * *", "")
		s := &cronstore.Scheduler{Store: store, Fire: func(_ context.Context, j cronstore.Job, _ time.Time) (string, error) {
			if j.Name == "panics" {
				panic("oh no")
			}
			runtime.Goexit()
			return "", nil
		}}
		stop := begin(t, s)
		time.Sleep(150 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for id, want := range map[string]string{a.ID: "panic: oh no", b.ID: "runtime.Goexit"} {
			j := job(t, store, id)
			if o, _ := j.Last(); len(j.Past) != 2 || o.Status != cronstore.Failed || !strings.Contains(o.Note, want) {
				t.Errorf("%+v", j.Past)
			}
		}
	})
}

// Ten minutes of a job that runs every two pass without a scheduler.
func TestSchedulerMissed(t *testing.T) {
	for missed, want := range map[cronstore.Missed][]string{
		"":             {"a 00:10:00 done", "a 00:12:00 done"},
		cronstore.Once: {"a 00:10:00 done", "a 00:12:00 done"},
		cronstore.Skip: {"a 00:10:00 missed", "a 00:12:00 done"},
		cronstore.All:  {"a 00:02:00 done", "a 00:04:00 done", "a 00:06:00 done", "a 00:08:00 done", "a 00:10:00 done", "a 00:12:00 done"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			store := new(cronstore.Memory)
			add(t, store, "a", "*/2 * * * *", missed)
			time.Sleep(11*time.Minute + 30*time.Second)
			stop := begin(t, &cronstore.Scheduler{Store: store, Fire: nothing, Report: d.report})
			time.Sleep(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			d.want(t, want...)
		})
	}
}

// After any absence, the ticks to make up for are bounded, and found quickly.
func TestSchedulerMissedLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := new(cronstore.Memory)
		add(t, store, "a", "@every 1s", cronstore.All)
		add(t, store, "b", "* 0 1 1 *", cronstore.All)
		time.Sleep(5*366*24*time.Hour + 500*time.Millisecond)
		s := &cronstore.Scheduler{Store: store, Fire: nothing, Report: d.report}
		if err := s.Once(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(d.lines); n != 200 {
			t.Errorf("%d runs", n)
		}
		d.lines = nil
		if err := s.Once(t.Context()); err != nil {
			t.Error(err)
		}
		d.want(t)
	})
}

// The clock is set forward and back while the scheduler runs.
func TestSchedulerClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		var mu sync.Mutex
		shift := time.Duration(0)
		set := func(by time.Duration) { mu.Lock(); shift += by; mu.Unlock() }
		store := new(cronstore.Memory)
		add(t, store, "hourly", "0 * * * *", "")
		add(t, store, "skips", "30 * * * *", cronstore.Skip)
		s := &cronstore.Scheduler{Store: store, Fire: nothing, Report: d.report}
		cronstore.SetClock(s, func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(shift) })
		stop := begin(t, s)
		time.Sleep(92*time.Minute + 10*time.Second)
		d.want(t, "skips 00:30:00 done", "hourly 01:00:00 done", "skips 01:30:00 done")
		set(24 * time.Hour) // the machine slept
		time.Sleep(10 * time.Second)
		d.want(t, "skips 01:30:00 missed", "hourly 01:00:00 done")
		set(-time.Hour)
		time.Sleep(80 * time.Minute) // 01:52 again
		d.want(t)
		time.Sleep(15 * time.Minute)
		d.want(t, "hourly 02:00:00 done")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A job that is changed, switched off or removed while the scheduler runs.
func TestSchedulerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := new(cronstore.Memory)
		a, b := add(t, store, "a", "* * * * *", ""), add(t, store, "b", "* * * * *", "")
		s := &cronstore.Scheduler{Store: store, Report: d.report, Fire: func(_ context.Context, j cronstore.Job, _ time.Time) (string, error) {
			if j.Name == "b" {
				time.Sleep(30 * time.Second)
			}
			return "", nil
		}}
		stop := begin(t, s)
		time.Sleep(70 * time.Second)
		if _, err := cronstore.Enable(t.Context(), store, a.ID, false); err != nil {
			t.Error(err)
		}
		if _, err := cronstore.Remove(t.Context(), store, b.ID); err != nil { // its run continues
			t.Error(err)
		}
		time.Sleep(5 * time.Minute)
		d.want(t, "a 00:01:00 done", "b 00:01:00 done")
		if _, err := cronstore.Enable(t.Context(), store, a.ID, true); err != nil { // 06:10
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		d.want(t, "a 00:07:00 done")
	})
}

func TestSchedulerParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := new(cronstore.Memory)
		for i := range 7 {
			add(t, store, fmt.Sprint(i), "0 * * * *", "")
		}
		on, most := 0, 0
		var mu sync.Mutex
		s := &cronstore.Scheduler{Store: store, Parallel: 3, Report: d.report, Fire: func(context.Context, cronstore.Job, time.Time) (string, error) {
			mu.Lock()
			on++
			most = max(most, on)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			on--
			mu.Unlock()
			return "", nil
		}}
		stop := begin(t, s)
		time.Sleep(time.Hour + 10*time.Second)
		if err := stop(); err != nil || most != 3 || len(d.lines) != 7 {
			t.Error(err, most, d.lines)
		}
	})
}

// The end waits for runs, which are cancelled; one that ignores that is named.
func TestSchedulerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(cronstore.Memory)
		good, bad := add(t, store, "good", "* * * * *", ""), add(t, store, "bad", "* * * * *", "")
		release := make(chan struct{})
		s := &cronstore.Scheduler{Store: store, Grace: 5 * time.Second, Fire: func(ctx context.Context, j cronstore.Job, _ time.Time) (string, error) {
			<-ctx.Done()
			if j.Name == "bad" {
				<-release
			}
			time.Sleep(time.Second)
			return "tidied up", ctx.Err()
		}}
		stop := begin(t, s)
		time.Sleep(90 * time.Second)
		start := time.Now()
		if err := stop(); !errors.Is(err, cronstore.ErrStuck) || !strings.HasSuffix(err.Error(), ": bad") || time.Since(start) != 5*time.Second {
			t.Error(err, time.Since(start))
		}
		if o, _ := job(t, store, good.ID).Last(); o.Status != cronstore.Failed || o.Note != "context canceled; tidied up" {
			t.Errorf("%+v", o)
		}
		if job(t, store, bad.ID).Run == nil {
			t.Error("a run that goes on is not on record")
		}
		close(release)
		time.Sleep(10 * time.Second)
	})
}

// Another program claims and runs. While it shows signs of life no other runs the job. Once
// it is silent its run is lost and the next tick is free.
func TestSchedulerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := new(cronstore.Memory)
		long := add(t, store, "long", "@every 1m", "")
		first := &cronstore.Scheduler{Store: store, Report: d.report, Fire: func(context.Context, cronstore.Job, time.Time) (string, error) {
			time.Sleep(10*time.Minute + 30*time.Second)
			return "", nil
		}}
		second := &cronstore.Scheduler{Store: store, Report: d.report, Fire: nothing}
		stop1 := begin(t, first)
		time.Sleep(61 * time.Second)
		stop2 := begin(t, second)
		time.Sleep(9 * time.Minute)
		d.want(t)
		time.Sleep(80 * time.Second) // 11:21
		_ = stop1()
		time.Sleep(49 * time.Second) // 12:10
		if err := stop2(); err != nil {
			t.Error(err)
		}
		if d.lines[0] != "long 00:01:00 done" && d.lines[0] != "long 00:01:00 failed" {
			t.Error(d.lines)
		}
		d.lines = nil

		// A program that dies.
		err := store.Update(t.Context(), func(jobs []cronstore.Job) ([]cronstore.Job, error) {
			now := time.Now()
			jobs[0].Run = &cronstore.Run{Tick: now.Truncate(time.Minute), Started: now, Owner: "dead", Alive: now}
			return jobs, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		stop2 = begin(t, second)
		time.Sleep(110 * time.Second) // 14:00
		d.want(t)
		time.Sleep(12 * time.Second)
		d.want(t, "long 00:12:00 lost", "long 00:14:00 done")
		if err := stop2(); err != nil || job(t, store, long.ID).Run != nil {
			t.Error(err)
		}
	})
}

// A broken store is an error at first; later it is reported once, and tried again.
func TestSchedulerTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := &flaky{Memory: new(cronstore.Memory)}
		add(t, store, "a", "* * * * *", "")
		s := &cronstore.Scheduler{Store: store, Fire: nothing, Report: d.report}
		store.set(true)
		if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "broken disk") {
			t.Error(err)
		}
		if err := s.Once(t.Context()); err == nil {
			t.Error("no error")
		}
		store.set(false)
		var log bytes.Buffer
		s.Log = slog.New(slog.NewTextHandler(&log, nil))
		stop := begin(t, s)
		store.set(true)
		time.Sleep(90 * time.Second)
		store.set(false)
		time.Sleep(20 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		d.want(t, "a 00:01:00 done")
		if n := strings.Count(log.String(), "broken disk"); n != 1 {
			t.Errorf("told %d times: %s", n, &log)
		}
	})
}

type flaky struct {
	*cronstore.Memory
	mu     sync.Mutex
	broken bool
}

func (f *flaky) set(broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = broken
}

func (f *flaky) Version(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return "", errors.New("broken disk")
	}
	return f.Memory.Version(ctx)
}

// A job that someone has broken by hand does not keep the others from running.
func TestSchedulerBadJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := new(cronstore.Memory)
		bad := add(t, store, "bad", "* * * * *", "")
		add(t, store, "good", "* * * * *", "")
		err := store.Update(t.Context(), func(jobs []cronstore.Job) ([]cronstore.Job, error) {
			jobs[0].Command = "and a command"
			return jobs, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := begin(t, &cronstore.Scheduler{Store: store, Fire: nothing, Report: d.report})
		time.Sleep(90 * time.Second)
		if err := stop(); err != nil || !job(t, store, bad.ID).Next(time.Now()).IsZero() {
			t.Error(err)
		}
		d.want(t, "good 00:01:00 done")
	})
}

func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		store := new(cronstore.Memory)
		add(t, store, "a", "@every 2s", "")
		add(t, store, "b", "@every 1h", "")
		s := &cronstore.Scheduler{Store: store, Report: d.report, Fire: func(ctx context.Context, _ cronstore.Job, _ time.Time) (string, error) {
			select {
			case <-time.After(10 * time.Second):
				return "", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}}
		time.Sleep(5 * time.Second)
		if err := s.Once(t.Context()); err != nil {
			t.Error(err)
		}
		d.want(t, "a 00:00:04 done", "a 00:00:14 skipped")
		time.Sleep(time.Hour - 10*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Once(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if !slices.Contains(d.lines, "b 01:00:00 failed") {
			t.Error(d.lines)
		}
	})
}
