package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

// The files of a folder of results.
const (
	journalFile = "trials.jsonl" // a head, then a line for each trial that has ended
	reportFile  = "report.json"
	lockFile    = "lock"
	workFile    = "work" // the folders that hold the folders of trials, a line each
	quotaDir    = "spent"
	sessionsDir = "sessions"
)

// A head is the first line of a journal: what was evaluated.
type head struct {
	Version     int               `json:"version"`
	Suite       string            `json:"suite"`
	Started     time.Time         `json:"started"`
	Variants    []string          `json:"variants"`
	Repetitions int               `json:"repetitions"`
	Cases       map[string]string `json:"cases"` // their sums
}

// differs says what has changed since a head was written, "" if nothing has.
func (h *head) differs(now *head) string {
	var out []string
	if h.Suite != now.Suite {
		out = append(out, fmt.Sprintf("it was the suite %q", h.Suite))
	}
	for _, name := range slices.Sorted(maps.Keys(now.Cases)) {
		if sum, ok := h.Cases[name]; !ok {
			out = append(out, "the case "+name+" is new")
		} else if sum != now.Cases[name] {
			out = append(out, "the case "+name+" has changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Cases)) {
		if _, ok := now.Cases[name]; !ok {
			out = append(out, "the case "+name+" is gone")
		}
	}
	if !slices.Equal(h.Variants, now.Variants) {
		out = append(out, "the variants were "+strings.Join(h.Variants, ", "))
	}
	if h.Repetitions != now.Repetitions {
		out = append(out, fmt.Sprintf("the repetitions were %d", h.Repetitions))
	}
	if len(out) > 5 {
		out = append(out[:5], fmt.Sprintf("and %d more changes", len(out)-5))
	}
	return strings.Join(out, ", ")
}

// A journal keeps the trials that have ended.
type journal struct {
	folder string
	file   safefile.File
	unlock func() error
	head   head
	trials []Trial
	size   int64
}

// ErrChanged is matched by the error of [Evaluation.Run] for a folder of results that belongs to
// another suite, or to another version of it.
var ErrChanged = errors.New("the results belong to another evaluation")

const lockTime = 3 * time.Second

var errLocked = errors.New("it is locked")

// openJournal opens the journal in a folder, and begins it if it is new.
func openJournal(ctx context.Context, folder string, now head) (_ *journal, err error) {
	if err := safefile.MakeFolders(folder); err != nil {
		return nil, fmt.Errorf("eval: making the folder of results: %w", err)
	}
	j := &journal{folder: folder}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.close())
		}
	}()
	// A child that a killed process has just forked holds the lock for a moment.
	limited, cancel := context.WithTimeoutCause(ctx, lockTime, errLocked)
	defer cancel()
	if j.unlock, err = safefile.Lock(limited, filepath.Join(folder, lockFile)); errors.Is(err, errLocked) {
		return nil, fmt.Errorf("eval: another evaluation is writing its results to %s; wait for it, or choose another folder", folder)
	} else if err != nil {
		return nil, fmt.Errorf("eval: locking %s: %w", folder, err)
	}
	path := filepath.Join(folder, journalFile)
	if j.file, err = safefile.Open(path, os.O_RDWR|os.O_CREATE); err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	if err := j.read(path); err != nil {
		return nil, err
	}
	if j.head.Version == 0 {
		j.head = now
		return j, errors.Join(j.write(now), safefile.SyncFolder(folder))
	}
	if j.head.Version != now.Version {
		return nil, fmt.Errorf("eval: %s has version %d, this program reads version %d; choose another folder", path, j.head.Version, now.Version)
	}
	if d := j.head.differs(&now); d != "" {
		return nil, fmt.Errorf("eval: %s: %w: %s; choose another folder, or undo the change", folder, ErrChanged, d)
	}
	return j, nil
}

// read reads what is there. A last line without an end was torn by a crash: its trial runs again.
func (j *journal) read(path string) error {
	data, err := io.ReadAll(j.file)
	if err != nil {
		return fmt.Errorf("eval: reading %s: %w", path, err)
	}
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			break
		}
		var t Trial
		to := any(&t)
		if n == 1 {
			to = &j.head
		}
		if err := json.Unmarshal(line, to); err != nil {
			return fmt.Errorf("eval: %s:%d is damaged: %w; remove the line to run its trial again, or choose another folder", path, n, err)
		}
		if n > 1 {
			j.trials = keep(j.trials, t)
		}
		j.size += int64(len(line)) + 1
		data = rest
	}
	return j.file.Truncate(j.size)
}

// write adds a line and brings it to the disk.
func (j *journal) write(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	data = append(data, '\n')
	n, err := j.file.WriteAt(data, j.size)
	if err == nil {
		j.size += int64(n)
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("eval: writing the results: %w", err)
	}
	return nil
}

// finish writes the report.
func (j *journal) finish(r *Report) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err == nil {
		err = safefile.Replacement{}.Bytes(filepath.Join(j.folder, reportFile), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("eval: writing the report: %w", err)
	}
	return nil
}

func (j *journal) close() error {
	var errs []error
	if j.file != nil {
		errs = append(errs, j.file.Close())
	}
	if j.unlock != nil {
		errs = append(errs, j.unlock())
	}
	return errors.Join(errs...)
}

// workPrefix begins the name of the folder that the trials' folders are in.
const workPrefix = "openagent-eval-"

// isWork reports whether a folder can be one that this package has made on this machine.
func isWork(dir string) bool {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	return err == nil && strings.HasPrefix(filepath.Base(dir), workPrefix) && filepath.Dir(dir) == temp
}

// A slot is the place of a trial in a report.
type slot struct {
	c, v string
	n    int
}

func slotOf(t Trial) slot { return slot{t.Case, t.Variant, t.Repetition} }

// keep adds a trial, in the place of one that had an Error.
func keep(trials []Trial, t Trial) []Trial {
	at := slices.IndexFunc(trials, func(old Trial) bool { return slotOf(old) == slotOf(t) })
	if at < 0 {
		return append(trials, t)
	}
	trials[at] = t
	return trials
}

// compareTrials orders trials by cases, variants and repetitions.
func compareTrials(cases, variants []string) func(a, b Trial) int {
	return func(a, b Trial) int {
		return cmp.Or(cmp.Compare(slices.Index(cases, a.Case), slices.Index(cases, b.Case)),
			cmp.Compare(slices.Index(variants, a.Variant), slices.Index(variants, b.Variant)),
			cmp.Compare(a.Repetition, b.Repetition))
	}
}
