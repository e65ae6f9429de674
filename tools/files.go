package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// maxFile is the size in bytes of the largest file that is read as a whole.
const maxFile = 64 << 20

// filesState is the slot of the session's state that says which files were
// read: path → seen.
const filesState = "files"

// A seen is the state of a file when the model saw it or wrote it.
type seen struct {
	Hash string `json:"h"` // SHA-256 of its bytes
}

// sight returns the change to the session's state that says that the model
// knows the file at path to hold data.
func sight(path string, data []byte) json.RawMessage {
	sum := sha256.Sum256(data)
	return toolapi.Details(map[string]seen{path: {hex.EncodeToString(sum[:])}})
}

// checkSeen returns an error for the model unless it has seen the file at path
// as it is now. The hash decides, as a time and a size can be the same by
// accident or by intent.
func checkSeen(call tool.Call, path string, data []byte) error {
	if call.Hides(path) { // it may have been seen before there was a rule
		return fmt.Errorf("%s may not be read: a rule forbids it. Leave the file as it is", path)
	}
	files := map[string]seen{}
	if len(call.State) > 0 {
		if err := json.Unmarshal(call.State, &files); err != nil {
			return fmt.Errorf("reading the session's record of files: %w", err)
		}
	}
	was, ok := files[path]
	if !ok {
		return fmt.Errorf("%s exists and has not been read in this session. Read it first, then change it", path)
	}
	if sum := sha256.Sum256(data); was.Hash != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("%s has changed since it was last read or written in this session. Read it again, then change it", path)
	}
	return nil
}

// classifyEdit returns the traits of a call that changes the file called name.
func classifyEdit(files toolapi.Files, call tool.Call, name string) tool.Traits {
	path, err := files.Resolve(call.Dir, name)
	if err != nil {
		return tool.Traits{}
	}
	return access(permission.EditFile, path)
}

// current returns the content of the file at path, nil if there is none.
func current(files toolapi.Files, path string) ([]byte, error) {
	f, err := files.Open(context.Background(), "", path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	data, err := readWhole(f, size)
	if err == nil && len(data) > maxFile {
		err = errors.New("the file is too large")
	}
	return data, err
}

// readWhole reads a file of about that size, at most one byte more than maxFile.
func readWhole(f io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(size, maxFile)) + bytes.MinRead) // the end is found without growing
	_, err := b.ReadFrom(io.LimitReader(f, maxFile+1))
	return b.Bytes(), err
}

// preview returns the diff of a change to the present file, which is nil if there is none;
// "" if it cannot be shown.
func preview(files toolapi.Files, call tool.Call, file string, diff func(path string, old []byte) (string, error)) string {
	path, err := files.Resolve(call.Dir, file)
	if err != nil {
		return ""
	}
	old, err := current(files, path)
	if err != nil {
		return ""
	}
	text, err := diff(path, old)
	if err != nil {
		return ""
	}
	return text
}
