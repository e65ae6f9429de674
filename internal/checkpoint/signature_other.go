//go:build !linux && !darwin

package checkpoint

import "io/fs"

func signatureOf(info fs.FileInfo) signature {
	return signature{size: info.Size(), mtime: info.ModTime().UnixNano()}
}
