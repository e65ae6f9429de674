//go:build unix

package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// A confined command may write the folder of its shell's files, and the host
// works there: it must not be led out of it, nor be made to wait.
func TestHostIsNotLedOutOfTheShellFolder(t *testing.T) {
	const secret = "s3cret-of-the-host"
	for name, plant := range map[string]string{
		"link":          `rm -rf "$f/$n"; ln -s "$victim" "$f/$n"`,
		"dangling link": `rm -rf "$f/$n"; ln -s "$victim.new" "$f/$n"`,
		"pipe":          `rm -rf "$f/$n"; mkfifo "$f/$n"`,
		"folder":        `rm -rf "$f/$n"; mkdir -p "$f/$n/full"`,
	} {
		for _, n := range []string{"init", "command", "state", "save", "folder", "bash_1"} {
			t.Run(name+" for "+n, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				victim := filepath.Join(dir, "victim")
				if err := os.WriteFile(victim, []byte(secret), 0o600); err != nil {
					t.Fatal(err)
				}
				w := openWorkspace(t, true)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				var said strings.Builder
				run := func(command string) {
					t.Helper()
					o, err := w.Run(ctx, CommandLine{Command: command})
					if err != nil {
						t.Fatalf("the shell cannot be used any more: %v", err)
					}
					said.WriteString(o.Text + o.Dir + o.Note + string(o.State))
				}
				run("x() { :; }") // state to be kept
				folder := w.shell.sessions[""].folder
				// The shell itself saves nothing: confined, it could not follow the link.
				run("f=" + text.QuoteShell(folder) + " n=" + n + " victim=" + text.QuoteShell(victim) + `; printf '\n# complete\n' >"$f/save"; pwd >"$f/folder"; ` +
					plant + "; exec true")
				run("echo evil")
				id, _, err := w.StartJob(ctx, CommandLine{Command: "echo evil"})
				if err != nil {
					t.Fatalf("no job can be started any more: %v", err)
				}
				r, err := w.Job(ctx, "", id, nil, 1<<40)
				if err != nil || !strings.Contains(r.Text, "evil") {
					t.Errorf("the job says %q, %v", r.Text, err)
				}
				run("echo again")
				if !strings.Contains(said.String(), "again") {
					t.Errorf("the shell says %q", said.String())
				}
				if b, err := os.ReadFile(victim); err != nil || string(b) != secret {
					t.Errorf("a file outside holds %q now, %v", b, err)
				}
				if _, err := os.Lstat(victim + ".new"); err == nil {
					t.Error("a file was made outside")
				}
				if strings.Contains(said.String(), secret) {
					t.Errorf("the host told what it read outside: %q", said.String())
				}
			})
		}
	}
}
