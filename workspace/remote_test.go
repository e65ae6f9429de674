//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var plainShell = ExecThrough("sh", "-c")

func newTestRemote(t *testing.T, exec Exec) *Workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &Workspace{Root: dir, OutputDir: t.TempDir(), Exec: exec, Timeout: 2 * time.Second}
	t.Cleanup(func() { r.Close() })
	return r
}

// Whatever a place answers, a call ends soon with an error, and nothing is changed.
func TestRemoteHostile(t *testing.T) {
	endless := func(w io.Writer) func(context.Context) {
		return func(ctx context.Context) {
			for ctx.Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}
	}
	for name, exec := range map[string]Exec{
		"silent": func(context.Context, RemoteCommand) (int, error) { return 0, nil },
		"fails":  func(context.Context, RemoteCommand) (int, error) { return 0, errors.New("no such container") },
		"exit code": func(_ context.Context, c RemoteCommand) (int, error) {
			fmt.Fprintln(c.Stderr, "no such box")
			return 125, nil
		},
		"panics": func(context.Context, RemoteCommand) (int, error) { panic("oh") },
		"garbage": func(_ context.Context, c RemoteCommand) (int, error) {
			fmt.Fprint(c.Stdout, "\x00\xffgarbage\n\n")
			return 0, nil
		},
		"endless": func(ctx context.Context, c RemoteCommand) (int, error) { endless(c.Stdout)(ctx); return 0, nil },
		"endless errors": func(ctx context.Context, c RemoteCommand) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			endless(c.Stderr)(ctx)
			return 0, nil
		},
		"hangs": func(ctx context.Context, c RemoteCommand) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
		"answers all with yes": func(_ context.Context, c RemoteCommand) (int, error) {
			in, _ := io.ReadAll(c.Stdin)
			_, args, _ := strings.Cut(string(in), "\nmain '")
			fields := strings.Split(args, "' '")
			if len(fields) > 1 {
				fmt.Fprintf(c.Stdout, strings.Repeat("\ny\n%s\n", 20), fields[1], fields[1], fields[1])
			}
			return 0, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestRemote(t, exec)
			start := time.Now()
			if _, err := r.Resolve("", "a"); err == nil {
				t.Error("it resolves")
			}
			if f, err := r.Open(t.Context(), "", "a"); err == nil {
				f.Close()
				t.Error("it opens")
			}
			if err := r.WriteFile(t.Context(), "", "a", nil); err == nil {
				t.Error("it writes")
			}
			if _, err := r.Run(t.Context(), CommandLine{Session: "s", Command: "true"}); err == nil {
				t.Error("it runs")
			}
			if took := time.Since(start); took > 40*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// What a login prints before an answer does not matter, nor do errors beside it.
func TestRemoteBanner(t *testing.T) {
	r := newTestRemote(t, func(ctx context.Context, c RemoteCommand) (int, error) {
		fmt.Fprint(c.Stdout, "Welcome!\nYou have mail.\n")
		fmt.Fprint(c.Stderr, "warning: a key\n")
		return plainShell(ctx, c)
	})
	if err := r.WriteFile(t.Context(), "", "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(r.Root, "a")); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
}

// A content that is cut on its way leaves the old file.
func TestRemoteCutWrite(t *testing.T) {
	r := newTestRemote(t, func(ctx context.Context, c RemoteCommand) (int, error) {
		if strings.Contains(strings.Join(c.Args, " "), "main 'stage'") {
			c.Stdin = io.LimitReader(c.Stdin, 2)
		}
		return plainShell(ctx, c)
	})
	name := filepath.Join(r.Root, "a")
	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFile(t.Context(), "", "a", []byte("new content")); err == nil {
		t.Error("half a file was written")
	}
	entries, _ := os.ReadDir(r.Root)
	if data, err := os.ReadFile(name); err != nil || string(data) != "old" || len(entries) != 1 {
		t.Errorf("%q, %v, %v", data, err, entries)
	}
}

// A replaced file keeps its mode. A link is followed within the roots only.
func TestRemoteModesAndLinks(t *testing.T) {
	r := newTestRemote(t, plainShell)
	name := filepath.Join(r.Root, "run.sh")
	if err := os.WriteFile(name, []byte("old"), 0o751); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "run.sh", "out": "/etc", "loop": "loop", "gone": "none", "up": "../.."} {
		if err := os.Symlink(to, filepath.Join(r.Root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.WriteFile(t.Context(), "", "link", []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if data, _ := os.ReadFile(name); err != nil || info.Mode() != 0o751 || string(data) != "new" {
		t.Errorf("%v, %q, %v", info, data, err)
	}
	if path, err := r.Resolve("", "link"); err != nil || path != name {
		t.Errorf("%s, %v", path, err)
	}
	for link, want := range map[string]error{"out/passwd": ErrOutside, "up/x": ErrOutside, "loop": nil} {
		if _, err := r.Resolve("", link); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v", link, err)
		}
	}
	folder, _, err := r.OpenFolder(t.Context(), "", ".")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(folder, "link"); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
	if f, err := folder.Open("out/passwd"); err == nil {
		f.Close()
		t.Error("a link leads out of the folder")
	}
}

// A folder that becomes a link after it was resolved is not followed.
func TestRemoteSwappedFolder(t *testing.T) {
	outside := t.TempDir()
	var r *Workspace
	r = newTestRemote(t, func(ctx context.Context, c RemoteCommand) (int, error) {
		if strings.Contains(strings.Join(c.Args, " "), "main 'stage'") {
			dir := filepath.Join(r.Root, "d")
			if err := errors.Join(os.RemoveAll(dir), os.Symlink(outside, dir)); err != nil {
				t.Error(err)
			}
		}
		return plainShell(ctx, c)
	})
	if err := os.Mkdir(filepath.Join(r.Root, "d"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFile(t.Context(), "", "d/a", []byte("x")); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("it wrote %v", entries)
	}
}

func TestRemoteChanged(t *testing.T) {
	r := newTestRemote(t, plainShell)
	name := filepath.Join(r.Root, "a")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := r.UpdateAll(t.Context(), "", []string{"b", "a"}, func([][]byte) ([]Content, error) {
		return []Content{{Data: []byte("new")}, {Data: []byte("new")}}, os.WriteFile(name, []byte("not"), 0o600)
	})
	entries, _ := os.ReadDir(r.Root)
	if data, _ := os.ReadFile(name); !errors.Is(err, ErrChanged) || string(data) != "not" || len(entries) != 1 {
		t.Errorf("%v, %q, %v", err, data, entries)
	}
}

// The checksum is that of the program.
func TestChecksum(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("0123456789", 30000)} {
		cmd := exec.Command("cksum")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || checksum([]byte(text)) != got {
			t.Errorf("%s, want %s, %v", checksum([]byte(text)), got, err)
		}
	}
}

// A connection that breaks is told, and the next command runs.
func TestRemoteBroken(t *testing.T) {
	broken := false
	r := newTestRemote(t, func(ctx context.Context, c RemoteCommand) (int, error) {
		if broken && len(c.Args) > 4 {
			fmt.Fprint(c.Stdout, "half")
			return 255, errors.New("connection reset")
		}
		return plainShell(ctx, c)
	})
	if _, err := r.Run(t.Context(), CommandLine{Session: "s", Command: "mkdir d; cd d; export x=1"}); err != nil {
		t.Fatal(err)
	}
	broken = true
	o, err := r.Run(t.Context(), CommandLine{Session: "s", Command: "true"})
	if err != nil || o.Code == 0 || o.Text != "half" || !strings.Contains(o.Note, "connection reset") {
		t.Errorf("%+v, %v", o, err)
	}
	broken = false
	o, err = r.Run(t.Context(), CommandLine{Session: "s", Command: "echo $x; pwd"})
	if err != nil || o.Text != "1\n"+r.Root+"/d\n" {
		t.Errorf("%+v, %v", o, err)
	}
	if err := os.RemoveAll(filepath.Join(r.Root, "d")); err != nil {
		t.Fatal(err)
	}
	o, err = r.Run(t.Context(), CommandLine{Session: "s", Command: "touch here"})
	if err != nil || o.Code != 1 || !strings.Contains(o.Note, "is gone") || o.Dir != r.Root {
		t.Errorf("%+v, %v", o, err)
	}
	if entries, _ := os.ReadDir(r.Root); len(entries) != 0 {
		t.Errorf("the command ran in another directory: %v", entries)
	}
}

// An Exec that does not keep to its context holds up nothing for ever.
func TestRemoteStubborn(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	r := newTestRemote(t, func(ctx context.Context, c RemoteCommand) (int, error) {
		if len(c.Args) > 4 {
			<-forever
		}
		return plainShell(ctx, c)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	o, err := r.Run(ctx, CommandLine{Session: "s", Command: "true"})
	if err != nil || !o.Stopped || !strings.Contains(o.Note, "may still run") {
		t.Errorf("%+v, %v", o, err)
	}
}

// Variables reach commands, on no command line.
func TestRemoteEnv(t *testing.T) {
	r := newTestRemote(t, func(ctx context.Context, c RemoteCommand) (int, error) {
		if strings.Contains(c.Line(), "hunter2") {
			t.Errorf("a secret is in %s", c.Line())
		}
		return plainShell(ctx, c)
	})
	r.Env = map[string]string{"TOKEN": "it's hunter2-and-more"}
	o, err := r.Run(t.Context(), CommandLine{Session: "s", Command: `echo "$TOKEN"`})
	if err != nil || o.Text != "it's hunter2-and-more\n" {
		t.Errorf("%+v, %v", o, err)
	}
}

// Close ends what runs and removes the files of the shells.
func TestRemoteClose(t *testing.T) {
	r := newTestRemote(t, plainShell)
	if _, _, err := r.StartJob(t.Context(), CommandLine{Session: "s", Command: "touch begun; sleep 3; touch late"}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.Root, "begun")); err == nil || time.Now().After(end) {
			break
		}
	}
	temp := r.elsewhere().disk.(*remote).base.temp
	start := time.Now()
	if err := r.Close(); err != nil || time.Since(start) > 2500*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", temp, err)
	}
	time.Sleep(3 * time.Second)
	if _, err := os.Stat(filepath.Join(r.Root, "late")); err == nil {
		t.Error("the command went on")
	}
}
