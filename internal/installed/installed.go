// Package installed finds programs that tests need and internal/devtools/servers/install.sh
// installs. CI must have them; elsewhere a test without them is skipped.
package installed

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Server returns the program of a language server: as it was installed, or by its
// name in PATH.
func Server(t testing.TB, local, name string) string {
	t.Helper()
	path := filepath.Join(Repository(t), ".cache", "servers", filepath.FromSlash(local))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return Program(t, name)
}

// Program returns a program that is in PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, err)
	}
	return path
}

// Chromium returns the program of a browser without a window.
func Chromium(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("chromium"); err == nil {
		return path
	}
	path := filepath.Join(Repository(t), ".cache", "chromium", "bin", "chromium")
	if _, err := os.Stat(path); err != nil {
		missing(t, err)
	}
	return path
}

// Module returns a file of the npm packages for tests of MCP.
func Module(t testing.TB, file string) string {
	t.Helper()
	return module(t, "mcp", file)
}

// ACPModule returns a file of the npm packages for tests of the Agent Client Protocol.
func ACPModule(t testing.TB, file string) string {
	t.Helper()
	return module(t, "acp", file)
}

// ClaudeSDK returns the main file of the Claude Agent SDK for TypeScript.
func ClaudeSDK(t testing.TB) string {
	t.Helper()
	return module(t, "claude", "@anthropic-ai/claude-agent-sdk/sdk.mjs")
}

// ChatModule returns a file of the npm packages of chat programs.
func ChatModule(t testing.TB, file string) string {
	t.Helper()
	return module(t, "chat", file)
}

func module(t testing.TB, folder, file string) string {
	t.Helper()
	path := filepath.Join(Repository(t), ".cache", folder, "node_modules", filepath.FromSlash(file))
	if _, err := os.Stat(path); err != nil {
		missing(t, err)
	}
	return path
}

// Repository returns the root of the repository, under which the test runs. Installed
// programs are in its folder .cache.
func Repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "internal", "devtools", "servers")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("the test is not in the repository")
		}
		dir = parent
	}
}

func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v: run internal/devtools/servers/install.sh", err)
	}
	t.Skipf("%v: run internal/devtools/servers/install.sh", err)
}
