//go:build unix

package mcp

import (
	"io"
	"os"
	"syscall"
	"time"
)

// immediate returns the connection of a pipe that [writeNow] can write, nil for others.
func immediate(w io.Writer) syscall.RawConn {
	f, ok := w.(*os.File)
	if !ok || f.SetWriteDeadline(time.Time{}) != nil { // a write without a deadline blocks its thread
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// writeNow writes as much as the pipe takes at once, and returns how much that was. An error
// comes again when the rest is written.
func writeNow(pipe syscall.RawConn, data []byte) (n int) {
	_ = pipe.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), data)
		return true
	})
	return max(n, 0)
}
