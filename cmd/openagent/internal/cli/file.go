package cli

import (
	"io"

	"github.com/openagent-go/agent/internal/safefile"
)

// WriteFile writes a file that only its owner can read. On failure the old file stays unchanged.
func WriteFile(name string, write func(io.Writer) error) error {
	began := false
	err := safefile.Replacement{}.Stream(name, func(w io.Writer) error {
		began = true
		return write(w)
	})
	if err != nil && !began {
		return Usagef("writing %s: %w", name, err)
	}
	return err
}
