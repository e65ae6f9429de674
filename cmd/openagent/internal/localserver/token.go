// Package localserver is about the servers of this user on this machine: their token, and which run.
package localserver

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
)

// tokenLength is the length of a token: 256 bits in hexadecimal digits.
const tokenLength = 64

// OpenToken returns the token of the user's servers, and its file. The first call makes it.
func OpenToken(h *cli.IO) (path, token string, err error) {
	home, err := h.Home()
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(home, "serve", "token")
	token, err = ReadToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return path, token, err
	}
	bits := make([]byte, tokenLength/2)
	_, _ = rand.Read(bits)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", "", cli.Usagef("storing the token: %w; set OPENAGENT_HOME to a writable folder", err)
	}
	there := func() error { // another server may have begun meanwhile: its token stays
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
		return nil
	}
	if err := (safefile.Replacement{Ready: there}).Bytes(path, []byte(hex.EncodeToString(bits)+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", "", cli.Usagef("storing the token: %w; set OPENAGENT_HOME to a writable folder", err)
	}
	token, err = ReadToken(path)
	return path, token, err
}

// ReadToken reads a token that only its owner can read.
func ReadToken(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", cli.Usagef("%s is not a file; remove it, and a new token is made", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", cli.Usagef("others can read the token in %s; remove the file, and a new token is made", path)
	}
	b, err := plainfile.ReadFile(path, 1<<10)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < tokenLength {
		return "", cli.Usagef("the token in %s is too short; remove the file, and a new one is made", path)
	}
	return token, nil
}
