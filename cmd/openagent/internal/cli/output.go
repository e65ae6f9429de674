package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/openagent-go/agent/internal/terminal"
)

// ResolveFolder returns a folder without symlinks, unchanged where that fails.
func ResolveFolder(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// WriteError returns the error for output that could not be written.
func WriteError(err error) error {
	if err != nil {
		return fmt.Errorf("writing to stdout: %w", err)
	}
	return nil
}

// EncodeLine encodes v as JSON with a line end. What stands in texts as < or &
// stays as it is. Characters that drive a terminal are escapes.
func EncodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a line: %w", err)
	}
	return terminal.JSON(b.Bytes()), nil
}

const (
	FormatText   = "text"
	FormatJSON   = "json"
	FormatStream = "stream-json"
)
