package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
)

// A Variant is an agent to evaluate.
type Variant struct {
	Name string // unique, such as the name of the model
	// Open returns the agent of one trial, which works in p.Dir. Run changes its Budget, Quota
	// and Permissions, and its Sessions if they are nil. What the agent needs to be closed is
	// for [Place.Cleanup].
	Open func(ctx context.Context, p *Place) (*agent.Agent, error)
}

// An Evaluation runs a suite. Suite and Variants are required.
type Evaluation struct {
	Suite                 *Suite
	Variants              []Variant
	Repetitions, Parallel int       // in place of those of the Suite; 0: those
	BudgetUSD             float64   // in place of that of the Suite; 0: that
	Judge                 llm.Model // for judges; nil: there is none
	// Dir is the folder of the results: the report, the sessions, and a journal of the trials
	// that have ended. If the folder has some results, Run continues with the missing trials,
	// and repeats those that ended with an Error. It fails with [ErrChanged] if the results are
	// of another suite. "": nothing is kept.
	Dir  string
	Keep bool // the folders of trials stay, see Trial.Workspace
	// Progress gets each trial that has ended, one at a time. Those of an earlier Run are not
	// repeated. Nil: nobody gets them.
	Progress func(Trial)
}

// A run is a running evaluation.
type run struct {
	e        *Evaluation
	account  *quota.Account // nil: no limit
	sessions session.Store  // nil: they are not kept
	settings sandbox.Settings
	work     string   // has a folder for each trial
	left     []string // such folders of killed processes
	repeat   int

	mu      sync.Mutex // guards the fields below
	journal *journal   // nil: there is none
	trials  []Trial
	todo    int    // trials that are to run
	failure error  // of the journal
	stopped string // why no further trial begins
	number  int    // of the next trial's folder
}

// Run runs all trials that have no result yet, or only an Error, and returns the report. If the budget is used up or
// ctx ends, trials are missing and the Report says why. It returns the error of ctx together with
// a report.
func (e *Evaluation) Run(ctx context.Context) (_ *Report, err error) {
	r, err := e.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	report := &Report{Suite: e.Suite.Name, Started: time.Now().UTC()}
	for i := range e.Suite.Cases {
		report.Cases = append(report.Cases, e.Suite.Cases[i].Name)
	}
	for _, v := range e.Variants {
		report.Variants = append(report.Variants, v.Name)
	}
	if r.journal != nil {
		report.Started = r.journal.head.Started
	}
	r.all(ctx)
	if err := ctx.Err(); err != nil && r.stopped == "" && r.todo > 0 {
		r.stopped = "it was interrupted: " + context.Cause(ctx).Error()
	}
	report.Ended, report.Trials, report.Stopped = time.Now().UTC(), r.trials, r.stopped
	slices.SortFunc(report.Trials, compareTrials(report.Cases, report.Variants))
	if r.failure != nil {
		return report, r.failure
	}
	if r.journal != nil {
		if err := r.journal.finish(report); err != nil {
			return report, err
		}
	}
	if r.stopped != "" {
		return report, context.Cause(ctx)
	}
	return report, nil
}

// check returns the mistakes of the evaluation.
func (e *Evaluation) check() error {
	if e.Suite == nil || len(e.Variants) == 0 {
		return errors.New("eval: Evaluation.Suite and Evaluation.Variants must be set")
	}
	errs := []error{e.Suite.check()}
	seen := map[string]bool{}
	for _, v := range e.Variants {
		if v.Name == "" || v.Open == nil || seen[v.Name] {
			errs = append(errs, fmt.Errorf("eval: the variant %q needs a name of its own and an Open", v.Name))
		}
		seen[v.Name] = true
	}
	for _, c := range e.Suite.Cases {
		for _, g := range c.Graders {
			if g.Kind == kindJudge && e.Judge == nil {
				errs = append(errs, fmt.Errorf("eval: case %q has a judge, and there is no model for it; set Evaluation.Judge, for the command --judge or the key judge of the suite", c.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// start opens everything that trials share.
func (e *Evaluation) start(ctx context.Context) (_ *run, err error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	r := &run{e: e, repeat: max(cmp.Or(e.Repetitions, e.Suite.Repetitions), 1), settings: sandbox.Settings{Enabled: true}}
	if e.Suite.Sandbox != nil {
		r.settings = *e.Suite.Sandbox
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	if r.work, err = os.MkdirTemp(temp, workPrefix); err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	var books quota.Store = quota.Memory()
	if e.Dir != "" {
		if err := r.open(ctx); err != nil {
			return nil, err
		}
		books = quota.Dir(filepath.Join(e.Dir, quotaDir))
		r.sessions = session.Dir(filepath.Join(e.Dir, sessionsDir))
	}
	if usd := cmp.Or(e.BudgetUSD, e.Suite.BudgetUSD); usd > 0 {
		r.account = &quota.Account{Store: books, Key: "evaluation", USD: usd, WarnAt: -1}
	}
	return r, nil
}

// open opens the journal, and removes what a dead process has left.
func (r *run) open(ctx context.Context) error {
	now := head{Version: 1, Suite: r.e.Suite.Name, Started: time.Now().UTC(), Repetitions: r.repeat, Cases: map[string]string{}}
	for _, v := range r.e.Variants {
		now.Variants = append(now.Variants, v.Name)
	}
	for i := range r.e.Suite.Cases {
		c := &r.e.Suite.Cases[i]
		sum, err := c.sum()
		if err != nil {
			return err
		}
		now.Cases[c.Name] = sum
	}
	var err error
	if r.journal, err = openJournal(ctx, r.e.Dir, now); err != nil {
		return err
	}
	r.trials = slices.Clone(r.journal.trials)
	return r.adopt()
}

// adopt takes over the folders that killed processes have left, with the remains of trials. A process
// of theirs may still write there: close tries again.
func (r *run) adopt() error {
	path := filepath.Join(r.e.Dir, workFile)
	old, err := plainfile.ReadFile(path, maxFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("eval: %w", err)
	}
	list := []string{r.work}
	for _, dir := range strings.Split(string(old), "\n") {
		if !r.e.Keep && isWork(dir) && removeAll(dir) != nil {
			r.left = append(r.left, dir)
			list = append(list, dir)
		}
	}
	if err := (safefile.Replacement{}).Bytes(path, []byte(strings.Join(list, "\n")+"\n")); err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	return nil
}

func (r *run) close() error {
	var errs []error
	if r.work != "" && !r.e.Keep {
		for _, dir := range append(r.left, r.work) {
			errs = append(errs, removeAll(dir))
		}
	}
	if r.journal != nil {
		errs = append(errs, r.journal.close())
	}
	return errors.Join(errs...)
}

// A job is a trial to run.
type job struct {
	c          *Case
	v          *Variant
	repetition int
}

// missing returns the trials that have no result yet, or only an Error. Repetitions are the outer
// loop: if the budget ends, each case has about as many trials as the others.
func (r *run) missing() (out []job) {
	done := map[slot]bool{}
	for _, t := range r.trials {
		done[slotOf(t)] = t.Error == ""
	}
	for n := 1; n <= r.repeat; n++ {
		for i := range r.e.Suite.Cases {
			for k := range r.e.Variants {
				if j := (job{&r.e.Suite.Cases[i], &r.e.Variants[k], n}); !done[slot{j.c.Name, j.v.Name, n}] {
					out = append(out, j)
				}
			}
		}
	}
	return out
}

// all runs the trials that are missing.
func (r *run) all(ctx context.Context) {
	missing := r.missing()
	r.todo = len(missing)
	jobs := make(chan job)
	var workers sync.WaitGroup
	for range max(cmp.Or(r.e.Parallel, r.e.Suite.Parallel, 2), 1) {
		workers.Go(func() {
			for j := range jobs {
				r.one(ctx, j)
			}
		})
	}
	defer workers.Wait()
	defer close(jobs)
	for _, j := range missing {
		if ctx.Err() != nil || r.ends() {
			return
		}
		select {
		case jobs <- j:
		case <-ctx.Done():
			return
		}
	}
}

// ends reports whether no further trial begins.
func (r *run) ends() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped != "" || r.failure != nil
}

// one runs a trial and keeps its result. A trial that was interrupted, or that the budget has
// stopped, has none.
func (r *run) one(ctx context.Context, j job) {
	if ctx.Err() != nil || r.ends() {
		return
	}
	t, err := r.trial(ctx, j)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, errExhausted):
		r.stopped = fmt.Sprintf("the budget of %v USD is used up", r.account.USD)
		return
	case err != nil, r.failure != nil:
		return
	}
	if r.journal != nil {
		if r.failure = r.journal.write(t); r.failure != nil {
			return
		}
	}
	r.trials = keep(r.trials, t)
	r.todo--
	if r.e.Progress != nil {
		r.failure = guarded("eval: Progress", func() error { r.e.Progress(t); return nil })
	}
}
