//go:build unix

package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 2000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func openWorkspace(t *testing.T, plain bool) *Workspace {
	t.Helper()
	w := &Workspace{Root: t.TempDir(), OutputDir: t.TempDir()}
	w.shell.plain = plain
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func run(t *testing.T, w *Workspace, command string) *Outcome {
	t.Helper()
	o, err := w.Run(t.Context(), CommandLine{Command: command})
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return o
}

// A step is a command with its expected output and exit code.
type step struct {
	command, want string
	code          int
}

var persistence = []struct {
	name   string
	onlyIn string // a dialect, "" is any
	steps  []step
}{
	{"directory", "", []step{{"mkdir -p 'a b/c'; cd 'a b'", "", 0}, {"basename \"$PWD\"; cd c", "a b\n", 0}, {"basename \"$(pwd)\"; cd ../..; ls", "c\na b\n", 0}}},
	{"exported", "", []step{{"export A='x  y' B='it'\\''s' C='a\nb' D='$HOME `x` \"q\"'", "", 0}, {`printf '%s|' "$A" "$B" "$C" "$D"`, "x  y|it's|a\nb|$HOME `x` \"q\"|", 0}}},
	{"unset", "", []step{{"export A=1", "", 0}, {"unset A HOME", "", 0}, {`echo "[$A][$HOME]"`, "[][]\n", 0}}},
	{"umask", "", []step{{"umask 077", "", 0}, {"umask", "0077\n", 0}}},
	{"exit", "", []step{{"export A=1; exit 3", "", 3}, {"echo $A; (exit 4)", "1\n", 4}, {"exit 255", "", 255}}},
	{"errexit", "", []step{{"set -e; export A=1; false; echo no", "", 1}, {"false; echo $A", "1\n", 0}}},
	{"nounset", "", []step{{"set -u", "", 0}, {"echo \"[$NOT_THERE]\"", "[]\n", 0}}},
	{"exec", "", []step{{"export A=1", "", 0}, {"export A=2; exec sh -c 'exit 6'", "", 6}, {"echo $A", "1\n", 0}}},
	{"killed", "", []step{{"export A=1", "", 0}, {"export A=2; kill -9 $$", "", 137}, {"echo $A", "1\n", 0}}},
	{"heredoc", "", []step{{"cat <<E\n$((1+1)) 'q'\nE", "2 'q'\n", 0}, {"cat <<'E'\n$x\nE\n", "$x\n", 0}}},
	{"comment", "", []step{{"echo a # comment", "a\n", 0}, {"export A=5 # 'unbalanced", "", 0}, {"echo $A", "5\n", 0}}},
	{"background", "", []step{{"export A=1; sleep 0.01 & wait; echo $A", "1\n", 0}, {"echo $A", "1\n", 0}}},
	{"stdin", "", []step{{"cat; read x; echo \"[$x]\"", "[]\n", 0}}},
	{"old directory", "", []step{{"cd /", "", 0}, {"cd - >/dev/null; [ \"$PWD\" != / ] && echo back", "back\n", 0}}},
	{"large", "", []step{{"cat <<'E' | wc -c\n" + strings.Repeat("0123456789abcdef", 20_000) + "\nE", "320001\n", 0}}},
	{"syntax", "", []step{{"export A=1", "", 0}, {"echo )", "*", 2}, {"echo 'open", "*", 2}, {"if true; then", "*", 2}, {"echo $A", "1\n", 0}}},
	{"variables", "bash", []step{{"a=5; b=(1 'x y' 3); declare -A m=([k]=v)", "", 0}, {`echo "$a ${b[1]} ${m[k]}"`, "5 x y v\n", 0}}},
	{"functions", "bash", []step{{"f() { echo \"f:$1\"; }; g() { f \"$@\"; }; export -f g", "", 0}, {"g 1; bash -c 'type -t g'", "f:1\nfunction\n", 0}}},
	{"aliases", "bash", []step{{"alias hi='echo hello'", "", 0}, {"hi you", "hello you\n", 0}, {"unalias hi", "", 0}, {"alias", "", 0}}},
	{"options", "bash", []step{{"shopt -s extglob nullglob; set -f", "", 0}, {"shopt -q extglob && shopt -q nullglob && echo $-", "*f*", 0}}},
	{"overridden", "bash", []step{{"pwd() { echo /nowhere; }; cd() { builtin cd \"$@\"; echo went; }; printf() { :; }; IFS=/", "", 0}, {"cd /; echo \"$IFS\"", "went\n/\n", 0}, {"builtin pwd", "/\n", 0}}},
	{"trap", "bash", []step{{"trap 'echo bye; echo err >&2' EXIT; A=1; echo $A", "1\nbye\nerr\n", 0}, {"echo $A", "1\n", 0}}},
	{"xtrace", "bash", []step{{"set -x; echo a", "++ echo a\na\n", 0}, {"echo b", "b\n", 0}}},
	{"noclobber", "bash", []step{{"set -C; A=1", "", 0}, {"echo $A; echo >f; echo >f", "1\n", 0}}},
	{"line numbers", "bash", []step{{"echo a\nno-such-program", "a\nbash: line 2: no-such-program: command not found\n", 127}}},
	{"broken path", "bash", []step{{"PATH=; A=1", "", 0}, {"echo $A; PATH=/usr/bin:/bin; ls -d .", "1\n.\n", 0}}},
	{"readonly", "bash", []step{{"readonly R=1", "", 0}, {"echo $R", "1\n", 0}, {"R=2", "*readonly*", 1}}},
	{"job mark", "bash", []step{{"OPENAGENT_JOB=mine; export OPENAGENT_JOB", "", 0}, {"[[ $OPENAGENT_JOB != mine && $OPENAGENT_JOB == *';' ]] && echo own", "own\n", 0}}},
}

func TestPersistence(t *testing.T) {
	for _, dialect := range []string{"bash", "sh"} {
		t.Run(dialect, func(t *testing.T) {
			if dialect == "sh" {
				onlySh(t)
			}
			w := openWorkspace(t, true)
			for _, c := range persistence {
				if c.onlyIn != "" && c.onlyIn != dialect {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					for _, s := range c.steps {
						o, err := w.Run(t.Context(), CommandLine{Session: c.name, Command: s.command})
						if err != nil {
							t.Fatal(err)
						}
						if o.Code != s.code || !matches(o.Text, s.want) {
							t.Errorf("%.80q: code %d, output %q; want %d, %q", s.command, o.Code, o.Text, s.code, s.want)
						}
					}
				})
			}
		})
	}
}

// matches compares with a text in which a leading and a trailing * stand for anything.
func matches(s, pattern string) bool {
	inner := strings.Trim(pattern, "*")
	if inner != pattern {
		return s != "" && strings.Contains(s, inner)
	}
	return s == pattern
}

// onlySh makes a PATH without bash.
func onlySh(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"sh", "cat", "ls", "mkdir", "basename", "sleep", "wc", "ps", "grep", "sed"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("this system has no %s", name)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestDirectoryGone(t *testing.T) {
	w := openWorkspace(t, true)
	run(t, w, "mkdir sub; cd sub; export A=1")
	if err := os.RemoveAll(filepath.Join(w.Root, "sub")); err != nil {
		t.Fatal(err)
	}
	o := run(t, w, "pwd; echo $A")
	if want := w.folders().work; o.Text != want+"\n1\n" || o.Dir != want || !strings.Contains(o.Note, "is gone") {
		t.Errorf("%+v", o)
	}
	if o := run(t, w, "true"); o.Note != "" {
		t.Errorf("said twice: %s", o.Note)
	}
}

func TestSessionsHaveTheirOwnShells(t *testing.T) {
	w := openWorkspace(t, true)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for _, command := range []string{fmt.Sprintf("X=%d", i), "echo $X"} {
				o, err := w.Run(t.Context(), CommandLine{Session: fmt.Sprint(i), Command: command})
				if err != nil || command == "echo $X" && o.Text != fmt.Sprintln(i) {
					t.Errorf("%d: %+v %v", i, o, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestLinesOfOneSessionTakeTurns(t *testing.T) {
	w := openWorkspace(t, true)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { run(t, w, "n=$((n+1))") })
	}
	wg.Wait()
	if o := run(t, w, "echo $n"); o.Text != "5\n" {
		t.Errorf("n is %s", o.Text)
	}
}

func TestResume(t *testing.T) {
	first := openWorkspace(t, true)
	root := first.folders().work
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	o, err := first.Run(t.Context(), CommandLine{Command: "cd sub", Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	second := openWorkspace(t, true)
	second.Root = root
	for _, c := range []struct{ dir, want string }{
		{root, filepath.Join(root, "sub")}, // continues in its place
		{"/", "/"},                         // the session has moved since
	} {
		got, err := second.Run(t.Context(), CommandLine{Command: "true", Dir: c.dir, State: o.State})
		if err != nil || got.Dir != c.want {
			t.Errorf("in %s: %+v, %v, want %s", c.dir, got, err, c.want)
		}
	}
	for _, hostile := range []string{`{`, `[]`, `{"dir":"relative"}`, `{"dir":5}`, `null`} {
		if got, err := second.Run(t.Context(), CommandLine{Session: hostile, Command: "pwd", State: json.RawMessage(hostile)}); err != nil || got.Text != root+"\n" {
			t.Errorf("state %s: %+v, %v", hostile, got, err)
		}
	}
}

func TestFunctionNamedBuiltin(t *testing.T) {
	w := openWorkspace(t, true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o, err := w.Run(ctx, CommandLine{Command: "A=1; builtin() { :; }"})
	if err != nil || o.Stopped {
		t.Fatalf("%+v, %v", o, err)
	}
	if o := run(t, w, "echo $A"); o.Text != "1\n" {
		t.Errorf("output %q", o.Text)
	}
}

func TestCancelledLineChangesNothing(t *testing.T) {
	w := openWorkspace(t, true)
	run(t, w, "A=1")
	ctx, cancel := context.WithCancel(t.Context())
	o, err := w.Run(ctx, CommandLine{Command: "A=2; cd /; echo started; sleep 1000", Tail: func(lines []string) {
		if lines[0] == "started" {
			cancel()
		}
	}})
	if err != nil || !o.Stopped || o.Text != "started\n" {
		t.Errorf("%+v, %v", o, err)
	}
	if o := run(t, w, "echo $A; pwd"); o.Text != "1\n"+w.folders().work+"\n" {
		t.Errorf("output %q", o.Text)
	}
}

func TestHugeStateIsNotKept(t *testing.T) {
	w := openWorkspace(t, true)
	run(t, w, "A=1")
	if o := run(t, w, "A=2; B=$(head -c 6000000 /dev/zero | tr '\\0' x); exit 9"); o.Code != 9 {
		t.Errorf("code %d", o.Code)
	}
	if o := run(t, w, "echo $A ${#B}"); o.Text != "1 0\n" {
		t.Errorf("output %q", o.Text)
	}
}

func TestFilesArePrivate(t *testing.T) {
	w := openWorkspace(t, true)
	run(t, w, "umask 0; export SECRET_THING=1")
	err := filepath.WalkDir(w.shell.temp, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, _ := d.Info(); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	w.Close()
	if _, err := os.Stat(w.shell.temp); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	for _, plain := range []bool{true, false} {
		b.Run(fmt.Sprintf("plain=%v", plain), func(b *testing.B) {
			w := &Workspace{Root: b.TempDir()}
			w.shell.plain = plain
			defer w.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Run(b.Context(), CommandLine{Command: "true"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
