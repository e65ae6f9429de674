package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/text"
)

// maxFile bounds a report in bytes.
const maxFile = 1 << 30

// fileName is the name of a report in a folder.
const fileName = "report.json"

// Save writes a report as JSON to a file that only its owner can read. A reader, or a crash,
// finds the old file or the new one, whole.
func Save(name string, r *eval.Report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = safefile.Replacement{}.Bytes(name, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing the report %s: %w", name, err)
	}
	return nil
}

// Load reads a report of [Save]. For a folder it reads the file report.json in it.
func Load(name string) (*eval.Report, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, fileName)
	}
	data, err := plainfile.ReadFile(name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the report %s: %w", name, err)
	}
	r := new(eval.Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reading the report %s: %w", name, text.JSONMismatch(err, "the report"))
	}
	if !bytes.Contains(data, []byte(`"trials"`)) {
		return nil, fmt.Errorf("reading the report %s: it has no trials; name a file or folder that openagent eval wrote", name)
	}
	return r, nil
}
