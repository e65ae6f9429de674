package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/plainfile"
)

// Outcomes of triggers are kept as lines of JSON. A file that has grown takes the
// place of the one before it.
const (
	outcomesName = "trigger-runs.jsonl"
	maxOutcomes  = 1 << 20 // bytes of a file
)

func keepOutcome(home string, o triggerOutcome) (err error) {
	line, err := encodeLine(o)
	if err != nil {
		return err
	}
	path := filepath.Join(home, outcomesName)
	if info, err := os.Lstat(path); err == nil && info.Size()+int64(len(line)) > maxOutcomes {
		if err := os.Rename(path, path+".1"); err != nil {
			return fmt.Errorf("keeping the outcome of a trigger: %w", err)
		}
	}
	f, err := plainfile.Append(path)
	if err != nil {
		return fmt.Errorf("keeping the outcome of a trigger: %w", err)
	}
	_, err = f.Write(line) // whole, or another process's line could come between
	return errors.Join(err, f.Close())
}

// lastOutcomes returns the newest outcome of each trigger that is still kept, by
// its id. Lines that cannot be understood are left out: a crash may have cut one.
func lastOutcomes(home string) (map[string]triggerOutcome, error) {
	last := map[string]triggerOutcome{}
	for _, name := range []string{outcomesName + ".1", outcomesName} {
		data, err := readFile(filepath.Join(home, name), 2*maxOutcomes)
		if err != nil {
			if _, err := os.Lstat(filepath.Join(home, name)); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, cli.Usagef("reading the outcomes of triggers: %w", err)
		}
		for line := range bytes.Lines(data) {
			var o triggerOutcome
			if json.Unmarshal(line, &o) == nil && o.Trigger != "" {
				last[o.Trigger] = o
			}
		}
	}
	return last, nil
}
