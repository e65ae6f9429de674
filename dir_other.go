//go:build !linux

package agent

func kernelDir() (dir string, ok bool) { return "", false }
