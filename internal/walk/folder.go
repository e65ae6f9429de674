package walk

import (
	"errors"
	"io/fs"
	"time"
)

// errNotFile is the error for a file that is not regular any more.
var errNotFile = errors.New("not a regular file")

// Facts describe a name in a folder without following it.
type facts struct {
	mode    fs.FileMode // its type; of entries nothing else
	size    int64
	modTime time.Time
}
