// Package build builds the programs of peers.
package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program builds a package of a folder below peers into dir, without cgo and symbols,
// and returns the program's path. It is called in the folder benchmarks.
func Program(ctx context.Context, dir, name, peer, pkg string) (string, error) {
	file, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", file}
	mod, err := module(dir, peer)
	if err != nil {
		return "", err
	}
	if mod != "" {
		args = append(args, "-mod=mod", "-modfile="+mod)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = filepath.Join("peers", peer)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", peer, err, LastLines(string(out), 5))
	}
	return file, nil
}

// module copies the go.mod and go.sum of a peer that is a module of its own, so
// that what this repository's other modules have come to need can be added. It
// returns the copy, "" for a peer of this module.
func module(dir, peer string) (string, error) {
	copied := filepath.Join(dir, peer+".mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join("peers", peer, name))
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err == nil {
			err = os.WriteFile(strings.TrimSuffix(copied, "mod")+name[3:], data, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return copied, nil
}

// LastLines returns the last n lines of what a program printed, as one.
func LastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
