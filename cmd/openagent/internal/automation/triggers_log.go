package automation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/plainfile"
)

// Outcomes of triggers are kept as lines of JSON. A file that has grown takes the
// place of the one before it.
const (
	OutcomesName = "trigger-runs.jsonl"
	maxOutcomes  = 1 << 20 // bytes of a file
)

func keepOutcome(home string, o TriggerOutcome) (err error) {
	line, err := cli.EncodeLine(o)
	if err != nil {
		return err
	}
	path := filepath.Join(home, OutcomesName)
	if info, err := os.Lstat(path); err == nil && info.Size()+int64(len(line)) > maxOutcomes {
		if err := os.Rename(path, path+".1"); err != nil {
			return fmt.Errorf("saving the outcome of a trigger: %w", err)
		}
	}
	f, err := plainfile.Append(path)
	if err != nil {
		return fmt.Errorf("saving the outcome of a trigger: %w", err)
	}
	_, err = f.Write(line) // whole, or another process's line could come between
	return errors.Join(err, f.Close())
}

// LastOutcomes returns the newest outcome of each trigger that is still kept, by
// its id. Lines that cannot be understood are left out: a crash may have cut one.
func LastOutcomes(home string) (map[string]TriggerOutcome, error) {
	last := map[string]TriggerOutcome{}
	for _, name := range []string{OutcomesName + ".1", OutcomesName} {
		data, err := settings.ReadFile(filepath.Join(home, name), 2*maxOutcomes)
		if err != nil {
			if _, err := os.Lstat(filepath.Join(home, name)); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, cli.Usagef("reading the outcomes of triggers: %w", err)
		}
		for line := range bytes.Lines(data) {
			var o TriggerOutcome
			if json.Unmarshal(line, &o) == nil && o.Trigger != "" {
				last[o.Trigger] = o
			}
		}
	}
	return last, nil
}
