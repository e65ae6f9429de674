package walk

import (
	"errors"
	"io/fs"
	"time"
)

// errNotFile is the error for what is no longer a regular file.
var errNotFile = errors.New("not a regular file")

// Facts are what is known of a name in a folder without following it.
type facts struct {
	mode    fs.FileMode // its type; of entries nothing else
	size    int64
	modTime time.Time
}
