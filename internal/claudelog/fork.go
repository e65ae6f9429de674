package claudelog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

	"github.com/openagent-go/agent/internal/plainfile"
)

// maxFork is the size in bytes of the largest file that ForkOf reads.
const maxFork = 256 << 20

// ForkOf returns the session that a session's file was copied from, as forkSession of the Claude Agent
// SDKs does, and the id of the last message that it has in common with it. The id is "" if there is no
// such file or if it is not a copy.
func ForkOf(path string) (id, message string, err error) {
	data, err := plainfile.ReadFile(path, maxFork)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	lines := bytes.Split(data, []byte("\n"))
	for _, raw := range slices.Backward(lines) {
		var line struct {
			Type string `json:"type"`
			From struct {
				ID      string `json:"sessionId"`
				Message string `json:"messageUuid"`
			} `json:"forkedFrom"`
		}
		if !bytes.Contains(raw, []byte("forkedFrom")) || json.Unmarshal(raw, &line) != nil || line.Type != "user" && line.Type != "assistant" {
			continue
		}
		if uuid.MatchString(line.From.ID) && uuid.MatchString(line.From.Message) {
			return line.From.ID, line.From.Message, nil
		}
	}
	return "", "", nil
}
