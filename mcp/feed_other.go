//go:build !unix

package mcp

import (
	"io"
	"syscall"
)

// immediate returns nil: pipes cannot be written without waiting.
func immediate(io.Writer) syscall.RawConn { return nil }

func writeNow(syscall.RawConn, []byte) int { return 0 }
