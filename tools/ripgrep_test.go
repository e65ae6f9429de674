//go:build unix

package tools_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// The environment variable that asks for TestRipgrep: how many times each
// search is run.
const ripgrepRuns = "OPENAGENT_RIPGREP"

// A duel is a search that Grep or Glob and ripgrep both run.
type duel struct {
	name  string
	tool  func(tools.Workspace) tool.Tool
	input in
	rg    []string // its arguments
}

// words makes a duel of one pattern in one mode. If a pattern has classes, ripgrep is told
// to use those of ASCII, as in Go.
func words(name, mode, pattern string, flags ...string) duel {
	input := in{"pattern": pattern, "output_mode": mode, "head_limit": 0}
	args := []string{map[string]string{"files_with_matches": "-l", "count": "-c", "content": "-n"}[mode], "--with-filename", "--no-heading"}
	if slices.Contains(flags, "-i") {
		input["-i"] = true
	}
	return duel{name + ", " + mode, tools.Grep, input, append(append(args, flags...), "-e", pattern)}
}

var duels = []duel{
	words("frequent literal", "files_with_matches", "return"),
	words("frequent literal", "count", "return"),
	words("rare literal", "files_with_matches", "Deprecated: Use "),
	words("rare literal", "content", "Deprecated: Use "),
	words("no such literal", "files_with_matches", "xyzzy plugh"),
	words("literals", "files_with_matches", "ErrUnexpectedEOF|ErrShortBuffer|ErrNoProgress|ErrClosedPipe"),
	words("literals", "content", "ErrUnexpectedEOF|ErrShortBuffer|ErrNoProgress|ErrClosedPipe"),
	words("ignoring case", "files_with_matches", "unexpected eof", "-i"),
	words("ignoring case", "count", "error", "-i"),
	words("regexp with a literal", "content", `func \(\w+ \*?\w+\) ReadFrom\(`, "--no-unicode"),
	words("regexp with a literal", "count", `fmt\.[A-Z]\w+\(`, "--no-unicode"),
	words("regexp without", "files_with_matches", `[A-Z]{3,}_[a-z]+`, "--no-unicode"),
	words("regexp without", "count", `\w+\s+\d+`, "--no-unicode"),
	words("regexp without", "count", `^\s*[A-Z]\w{11}$`, "--no-unicode"),
	words("regexp without", "content", `\b[0-9a-f]{40}\b`, "--no-unicode"),
	{"all files", tools.Glob, in{"pattern": "**/*"}, []string{"--files"}},
	{"files by name", tools.Glob, in{"pattern": "**/*_test.go"}, []string{"--files", "-g", "*_test.go"}},
}

// A cost is the time of a search.
type cost struct{ wall, cpu time.Duration }

func (c cost) least(d cost) cost { return cost{min(c.wall, d.wall), min(c.cpu, d.cpu)} }

// TestRipgrep measures searches of a copy of Go's sources beside ripgrep, and compares the
// results. It prints rows of the table in docs/performance.md.
func TestRipgrep(t *testing.T) {
	runs, _ := strconv.Atoi(os.Getenv(ripgrepRuns))
	rg, err := exec.LookPath("rg")
	if err != nil || runs < 1 {
		t.Skip("this measures where ripgrep is installed and " + ripgrepRuns + " says how often")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	dir, size, binary := sources(t)
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	fmt.Printf("%d MB, 2 threads\n\n| search | ours | rg | ratio | ours, CPU | rg, CPU | ratio |\n|---|---|---|---|---|---|---|\n", size>>20)
	for _, d := range duels {
		data, err := json.Marshal(d.input)
		if err != nil {
			t.Fatal(err)
		}
		tl := d.tool(ws)
		never := cost{time.Hour, time.Hour}
		ours, theirs := never, never
		for range runs {
			cmd := exec.CommandContext(t.Context(), rg, append([]string{"-j2", "--no-config", "--no-require-git"}, d.rg...)...)
			cmd.Dir = dir
			start := time.Now()
			out, err := cmd.Output()
			wall := time.Since(start)
			if e := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &e) && e.ExitCode() == 1) {
				t.Fatal(err)
			}
			theirs = theirs.least(cost{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()})
			before := used(t)
			start = time.Now()
			r, err := tl.Run(t.Context(), tool.Call{Input: data, Dir: dir})
			wall = time.Since(start)
			ours = ours.least(cost{wall, used(t) - before})
			if err != nil {
				t.Fatal(err)
			}
			agree(t, d, r, out, binary)
		}
		fmt.Printf("| %s | %s | %s | %.1f | %s | %s | %.1f |\n", d.label(), ms(ours.wall), ms(theirs.wall), ratio(ours.wall, theirs.wall), ms(ours.cpu), ms(theirs.cpu), ratio(ours.cpu, theirs.cpu))
	}
}

func (d duel) label() string {
	return fmt.Sprintf("%s: `%s`", d.name, strings.ReplaceAll(fmt.Sprint(d.input["pattern"]), "|", `\|`))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", d.Seconds()*1e3) }

func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }

// used is the time that this process has used, user's and system's.
func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sources copies Go's own sources and lists the files that hold a NUL, on which
// the tools differ: git and Grep look at the beginning of a file alone.
func sources(t *testing.T) (dir string, size int, binary []string) {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("there is no go:", err)
	}
	dir, err = filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(strings.TrimSpace(string(out)), "src"))); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if size += len(data); bytes.IndexByte(data, 0) >= 0 {
			binary = append(binary, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, size, binary
}

var numbers = regexp.MustCompile(`[0-9]+`)

// agree compares results. Of many files Glob shows but the number.
func agree(t *testing.T, d duel, r *tool.Result, out []byte, binary []string) {
	t.Helper()
	lines := func(text string) []string {
		var list []string
		for line := range strings.Lines(text) {
			name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			if !slices.Contains(binary, name) && !strings.HasPrefix(line, "(") && !strings.HasPrefix(line, "No ") {
				list = append(list, strings.TrimRight(line, "\r\n"))
			}
		}
		slices.Sort(list)
		return list
	}
	if d.input["output_mode"] == nil {
		var details struct{ Files int }
		if err := json.Unmarshal(r.Details, &details); err != nil || details.Files != bytes.Count(out, []byte("\n")) {
			t.Errorf("%s: %s files, ripgrep has %d", d.name, numbers.FindString(string(r.Details)), bytes.Count(out, []byte("\n")))
		}
		return
	}
	got, want := lines(r.Text()), lines(string(out))
	if !slices.Equal(got, want) || (len(got) == 0) != strings.HasPrefix(d.name, "no such") {
		t.Errorf("%s: %d results, ripgrep has %d", d.label(), len(got), len(want))
	}
}
