//go:build !windows

// Package winjob is of Windows.
package winjob
