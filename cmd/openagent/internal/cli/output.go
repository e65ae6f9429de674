package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/openagent-go/agent/internal/terminal"
)

// ResolveFolder resolves the symlinks in a folder's path. On failure it returns the path unchanged.
func ResolveFolder(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// WriteError wraps the error of a failed write to stdout.
func WriteError(err error) error {
	if err != nil {
		return fmt.Errorf("writing to stdout: %w", err)
	}
	return nil
}

// EncodeLine encodes v as JSON with a line end. It keeps < and & in texts. It escapes terminal
// control characters.
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
