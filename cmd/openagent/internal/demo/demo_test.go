package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A demoTest is what a demo runs in, and what it wrote.
type demoTest struct {
	host     cli.IO
	out, err bytes.Buffer
	temp     string // where the demo makes its folder
}

func newDemoTest(t *testing.T, typed string, env ...string) *demoTest {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh in PATH")
	}
	d := &demoTest{temp: t.TempDir()}
	t.Setenv("TMPDIR", d.temp)
	d.host = cli.IO{In: strings.NewReader(typed), Out: &d.out, Err: &d.err, Getenv: func(name string) string {
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}}
	return d
}

// onTerminal makes a person sit there.
func (d *demoTest) onTerminal() *demoTest {
	d.host.InTerminal, d.host.OutTerminal, d.host.ErrTerminal = true, true, true
	return d
}

func (d *demoTest) run(t *testing.T, code int, args ...string) string {
	t.Helper()
	if got := d.host.Exit(t.Context(), Command(&d.host).Execute(t.Context(), args, func(text string) error { return d.host.Show(text) })); got != code {
		t.Fatalf("demo %q: exit code %d, want %d\n%s%s", args, got, code, &d.out, &d.err)
	}
	return d.out.String()
}

// show runs a scenario in the folder temp, without the pace of a terminal.
func (d *demoTest) show(t *testing.T, scene func(*demoCall, string) (*showing, error), c *demoCall) string {
	t.Helper()
	s, err := scene(c, d.temp)
	if err != nil {
		t.Fatal(err)
	}
	defer s.workspace.Close()
	if err := s.run(t.Context(), &d.host, cli.FormatText, d.temp); err != nil {
		t.Fatalf("%v\n%s", err, &d.out)
	}
	return d.out.String()
}

func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("the output lacks %q:\n%s", p, text)
		}
	}
}

// wantPlain checks that text can do nothing to a terminal.
func wantPlain(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("the output holds %U:\n%q", r, text)
		}
	}
}

// leftBehind lists what is in the folder for temporary files.
func (d *demoTest) leftBehind(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.temp, "openagent-demo-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDemoFix(t *testing.T) {
	d := newDemoTest(t, "")
	out := d.run(t, cli.ExitDone)
	wantPlain(t, out)
	wantAll(t, out, "simulated", "Read cart.sh", "sh test.sh", "FAIL  discount 2000 10: want 1800, got 0", "exit 1", "exit 0",
		"rm test.sh", "denied: rule Bash(rm *)", "a rule of the demo says yes", "-    echo $(($1 - $1 * $2 / 10))", "+    echo $(($1 - $1 * $2 / 100))",
		"before  4 passed, 2 failed", "after   6 passed, 0 failed", "changed cart.sh, line 10: 10 became 100",
		"divides | Bash grep -n / cart.sh", "wants | Bash grep -n expect test.sh", "end     completed; 6 turns, 8 calls, 1 denied", "person 0.00 s", "openagent demo survey --dir .")
	if left := d.leftBehind(t); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// Six agents work at once, and what is said of them is what their tools returned.
func TestDemoTeam(t *testing.T) {
	d := newDemoTest(t, "")
	out := d.run(t, cli.ExitDone, "team")
	wantPlain(t, out)
	wantAll(t, out, "simulated", "orders.csv | Bash wc -l orders.csv", "end     completed; 2 turns, 6 calls, 0 denied")
	sum := 0
	for _, name := range teamFiles {
		data, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(data, []byte("\n"))
		wantAll(t, out, fmt.Sprintf("%-12s%4d lines", name, n))
		sum += n
	}
	wantAll(t, out, fmt.Sprintf("%-12s%4d lines", "in all", sum))
	if left := d.leftBehind(t); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestDemoFixKeeps(t *testing.T) {
	d := newDemoTest(t, "")
	d.run(t, cli.ExitDone, "fix", "--keep")
	left := d.leftBehind(t)
	if len(left) != 1 || !strings.Contains(d.out.String(), left[0]+" (kept)") {
		t.Fatalf("left behind: %v\n%s", left, &d.out)
	}
	cmd := exec.Command("sh", "test.sh")
	cmd.Dir = left[0]
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the program that was kept is not fixed: %v\n%s", err, out)
	}
}

func TestDemoFixAsks(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		yes         bool
		want        string
	}{
		{"yes", "y\n", true, "after   6 passed, 0 failed"},
		{"at last", "\nperhaps\nYES\n", true, "Please type y or n"},
		{"no", "n\n", false, "denied by you"},
		{"end of input", "", false, "your no was obeyed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDemoTest(t, c.typed, "TERM=dumb").onTerminal()
			out := d.show(t, newFix, &demoCall{})
			wantAll(t, out, "Allow this? [y/n]", c.want)
			code, err := os.ReadFile(filepath.Join(d.temp, fixCode))
			if err != nil {
				t.Fatal(err)
			}
			if fixed := strings.Contains(string(code), "/ 100))"); fixed != c.yes {
				t.Errorf("fixed: %v, want %v", fixed, c.yes)
			}
			if !c.yes {
				wantAll(t, out, "nothing has changed, and the tests still fail")
			}
		})
	}
}

// Keys that were typed before a person can have read the question approve nothing.
func TestDemoAnswerTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyboard, typing := io.Pipe()
		var out bytes.Buffer
		v := newDemoView(&cli.IO{In: keyboard, Out: &out, Getenv: func(string) string { return "dumb" }}, &showing{})
		v.reading = readingTime
		go func() {
			time.Sleep(readingTime / 2)
			io.WriteString(typing, "y\n")
			time.Sleep(readingTime)
			io.WriteString(typing, "n\n")
		}()
		if yes, ok := v.ask(t.Context(), "Allow this? "); yes || !ok {
			t.Errorf("%v, %v: %s", yes, ok, &out)
		}
		wantAll(t, out.String(), "Allow this? ", "Too early: read the change first")
	})
}

// What the demo tells comes from the files and from the output of the tests.
func TestDemoFixFollowsTheFiles(t *testing.T) {
	read := func(name string) string {
		data, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	code, tests := read(fixCode), read(fixTest)
	good := strings.Replace(code, "/ 10)", "/ 100)", 1)
	for _, c := range []struct {
		name, code, tests string
		want              []string
	}{
		{"operator", strings.Replace(good, "$1 * $2))", "$1 + $2))", 1), tests,
			[]string{"1 of 6 tests fail", "line 5", "before  5 passed, 1 failed", "after   6 passed, 0 failed", "+ became *"}},
		{"further tests", code, strings.Replace(tests, "expect 490", "expect 4500 discount 5000 10\nexpect 490", 1),
			[]string{"3 of 7 tests fail", "before  4 passed, 3 failed", "after   7 passed, 0 failed"}},
		{"moved", "\n\n" + code, tests, []string{"changed cart.sh, line 12: 10 became 100"}},
		{"two bugs", strings.Replace(code, "$1 * $2))", "$1 - $2))", 1), tests, []string{"before  3 passed, 3 failed", "after   4 passed, 2 failed", "The tests still fail"}},
		{"no bug", good, tests, []string{"All 6 tests pass", "nothing to fix"}},
		{"beyond it", strings.Replace(code, "echo $(($1 - $1 * $2 / 10))", "cat /dev/null", 1), tests, []string{"I find no change", "1 denied"}},
		{"broken", "syntax (", tests, []string{"The tests did not run to their end"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantAll(t, newDemoTest(t, "").show(t, func(call *demoCall, temp string) (*showing, error) {
				s, err := newFix(call, temp)
				write(t, temp, map[string]string{fixCode: c.code, fixTest: c.tests})
				return s, err
			}, &demoCall{}), c.want...)
		})
	}
}

func TestDemoColours(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		env      []string
		want     bool
	}{
		{"terminal", true, []string{"TERM=xterm"}, true},
		{"NO_COLOR", true, []string{"TERM=xterm", "NO_COLOR=1"}, false},
		{"dumb", true, []string{"TERM=dumb"}, false},
		{"no terminal", false, []string{"TERM=xterm"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDemoTest(t, "", c.env...)
			d.host.OutTerminal = c.terminal
			out := d.show(t, newSurvey, &demoCall{dir: t.TempDir()})
			if got := strings.Contains(out, "\x1b["); got != c.want {
				t.Errorf("colours: %v, want %v", got, c.want)
			}
			if !c.want {
				wantPlain(t, out)
			}
		})
	}
}

func TestDemoJSON(t *testing.T) {
	for _, args := range [][]string{{"fix"}, {"team"}, {"survey", "--dir", "."}} {
		for _, format := range []string{cli.FormatJSON, cli.FormatStream} {
			t.Run(args[0]+" "+format, func(t *testing.T) {
				d := newDemoTest(t, "").onTerminal() // nobody is asked all the same
				out := d.run(t, cli.ExitDone, append(args, "--output-format", format)...)
				lines := strings.Split(strings.TrimSpace(out), "\n")
				var last struct {
					Type, Subtype, Result string
					Denials               []any `json:"permission_denials"`
				}
				for _, line := range lines {
					var o struct{ Simulated bool }
					if err := json.Unmarshal([]byte(line), &o); err != nil || !o.Simulated {
						t.Errorf("%v: not marked as simulated: %s", err, line)
					}
				}
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Type != "result" || last.Subtype != cli.Success || last.Result == "" {
					t.Errorf("%v: the last line is %s", err, lines[len(lines)-1])
				}
				if args[0] == "fix" && len(last.Denials) != 1 {
					t.Errorf("denials: %v", last.Denials)
				}
				if (format == cli.FormatJSON) != (len(lines) == 1) {
					t.Errorf("%d lines", len(lines))
				}
			})
		}
	}
}

func TestDemoUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"surwey"}, "did you mean survey?"},
		{[]string{"fix", "survey"}, "one scenario"},
		{[]string{"survey", "--dir", file + "/none"}, "--dir: "},
		{[]string{"survey", "--dir", file}, "is not a folder"},
		{[]string{"fix", "--dir", "."}, "openagent demo survey --dir ."},
		{[]string{"chaos", "--dir", "."}, "demo chaos works in a folder of its own"},
		{[]string{"kaos"}, "openagent demo fix|survey|chaos|team"},
		{[]string{"survey", "--keep"}, "--keep"},
		{[]string{"--output-format", "xml"}, "stream-json"},
		{[]string{"--nonsense"}, "unknown flag --nonsense"},
	} {
		d := newDemoTest(t, "")
		d.run(t, cli.ExitUsage, c.args...)
		if got := d.err.String(); !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 || d.out.Len() > 0 {
			t.Errorf("demo %q says %q and %q, want %q", c.args, got, &d.out, c.want)
		}
	}
	wantAll(t, newDemoTest(t, "").run(t, cli.ExitDone, "--help"), "survey", "chaos", "--keep", "simulated")
}

// An interrupt while a person is asked ends the demo and leaves nothing behind.
func TestDemoInterrupted(t *testing.T) {
	d := newDemoTest(t, "", "TERM=dumb").onTerminal()
	keyboard, typing := io.Pipe()
	defer typing.Close()
	d.host.In = keyboard
	ctx, cancel := context.WithCancelCause(t.Context())
	d.host.Out = &tripwire{on: "[y/n]", do: func() { cancel(cli.Interruption) }, Writer: &d.out}
	if code := d.host.Exit(ctx, Command(&d.host).Execute(ctx, nil, func(text string) error { return d.host.Show(text) })); code != cli.ExitInterrupted {
		t.Errorf("exit code %d, want %d\n%s%s", code, cli.ExitInterrupted, &d.out, &d.err)
	}
	wantAll(t, d.out.String(), "interrupted; 4 turns")
	if left := d.leftBehind(t); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// A tripwire is a writer that does something once a text has been written.
type tripwire struct {
	io.Writer
	on   string
	do   func()
	once sync.Once
}

func (w *tripwire) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.on) {
		w.once.Do(w.do)
	}
	return w.Writer.Write(p)
}

func TestDemoOutputLost(t *testing.T) {
	for _, format := range settings.Formats {
		d := newDemoTest(t, "")
		r, w := io.Pipe()
		r.Close()
		d.host.Out = w
		d.run(t, cli.ExitInternal, "--output-format", format)
		if !strings.Contains(d.err.String(), "writing to stdout") || d.leftBehind(t) != nil {
			t.Errorf("%s: %s left %v", format, &d.err, d.leftBehind(t))
		}
	}
}

func TestDemoVerdict(t *testing.T) {
	done := event.RunEnd{Reason: event.Completed}
	if err := demoVerdict(t.Context(), nil, nil, done); err != nil {
		t.Error(err)
	}
	var h cli.IO
	h.Err = io.Discard
	broken := []string{"request 0 to the model broke rule A01"}
	if code := h.Exit(t.Context(), demoVerdict(t.Context(), broken, nil, done)); code != cli.ExitInternal {
		t.Errorf("a broken rule of the wire ends the demo with code %d", code)
	}
	if code := h.Exit(t.Context(), demoVerdict(t.Context(), nil, nil, event.RunEnd{Reason: event.MaxTurns})); code != cli.ExitInternal {
		t.Errorf("a demo that is cut short ends with code %d", code)
	}
}

func TestTestCommands(t *testing.T) {
	for _, c := range []struct {
		files string            // found, in the folder /p
		texts map[string]string // by name, as they are in the file
		want  string
	}{
		{"go.mod", nil, "go test ./... (go.mod)"},
		{"Makefile Cargo.toml", map[string]string{"Makefile": "all:\n\tcc x.c\n"}, "cargo test (Cargo.toml)"},
		{"Makefile", map[string]string{"Makefile": "check: all\n"}, "make check (Makefile)"},
		{"Makefile", map[string]string{"Makefile": "test := 1\n"}, ""},
		{"justfile", map[string]string{"justfile": "test arg='':\n  run\n"}, "just test (justfile)"},
		{"package.json", map[string]string{"package.json": `{"scripts":{"test":"vitest"}}`}, "npm test (package.json)"},
		{"package.json pnpm-lock.yaml", map[string]string{"package.json": `{"scripts":{"test":"vitest"}}`}, "pnpm test (package.json)"},
		{"package.json", map[string]string{"package.json": `{"scripts":{}}`}, ""},
		{"package.json", map[string]string{"package.json": `not JSON`}, ""},
		{"pyproject.toml", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest (pyproject.toml)"},
		{"pyproject.toml", map[string]string{"pyproject.toml": "[project]\n"}, "python3 -m unittest (pyproject.toml)"},
		{"pom.xml test.sh", nil, "mvn test (pom.xml), sh test.sh (test.sh)"},
	} {
		results := map[string]string{}
		var found strings.Builder
		root := t.TempDir()
		for _, name := range strings.Fields(c.files) {
			found.WriteString(filepath.Join(root, name) + "\n")
		}
		results["builds"] = found.String()
		k := surveyTalk(results)
		for i, name := range k.readableBuilds() {
			shown := ""
			for line := range strings.Lines(c.texts[name]) {
				shown += "     1→" + line
			}
			k.results[buildID(i)] = llmtest.Result{Text: shown}
		}
		if got := strings.Join(k.testCommands(), ", "); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.files, c.texts, got, c.want)
		}
	}
}

func FuzzFindRepair(f *testing.F) {
	f.Add("     1→f() {\n     2→\techo $(($1 * $2))\n", "FAIL  f 2 3: want 5, got 6\nok    f 0 0\n")
	f.Add("     1→f() { echo $((1 / 0)); }", "FAIL  f: want 1, got \n")
	f.Add("     1→f() { echo $((a[$1]=9)) $((x", "FAIL  f 99999999999999999999: want 1, got 2")
	f.Fuzz(func(t *testing.T, code, report string) {
		if len(code)+len(report) > 4<<10 {
			return
		}
		r, ok := findRepair(code, report)
		if ok && (r.old == r.new || r.from == r.to || !strings.Contains(code, r.old)) {
			t.Errorf("not a repair: %+v", r)
		}
	})
}

func TestChangedLines(t *testing.T) {
	diff := "--- a\n+++ b\n@@ -1,5 +1,5 @@\n one\n two\n-three\n+3\n four\n five\n@@ -20 +20 @@\n-x\n"
	if got := strings.Join(changedLines(diff), "|"); got != " two|-three|+3| four|-x" {
		t.Errorf("got %q", got)
	}
	if got := changedLines(""); got != nil {
		t.Errorf("got %q", got)
	}
}

func TestDemoNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 999: "999 files", 1000: "1,000 files", 1234567: "1,234,567 files"} {
		if got := cli.Plural(n, "file"); got != want {
			t.Errorf("plural(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{7: "7 bytes", 2048: "2 KB", 3 << 20: "3.0 MB", 3 << 29: "1.5 GB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("bytesOf(%d) = %q, want %q", n, got, want)
		}
	}
}
