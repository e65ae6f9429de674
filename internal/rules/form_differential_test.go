package rules

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/text"

	"github.com/openagent-go/agent/internal/rules/permtest"

	"github.com/openagent-go/agent/internal/rules/shellscan"
)

// What is allowed is run, as the form in which it was judged, by bash and dash, and must
// not reach a tripwire. What is understood does in its form what it does as written.

var formLines = flag.Int("form.lines", 0, "lines that TestFormDifferential tries, instead of trying for a time")

// wire is the command that must not run. It is a function of the shells, in which no
// program is in PATH.
const wire = "touch"

// wirePolicies are those under which what they allow does not reach the wire.
var wirePolicies = []*Compiled{
	Policy{}.Compile(),
	Policy{Mode: Plan}.Compile(),
	Policy{Mode: DontAsk, Allow: []Rule{"Bash(echo *)", "Bash(cat *)", "Bash(true)", "Bash(eval *)", "Bash(bash -c *)"}}.Compile(),
	Policy{Mode: AcceptEdits}.Compile(),
	Policy{Mode: Auto, Deny: []Rule{"Bash(touch *)"}}.Compile(),
	Policy{Mode: Bypass, Deny: []Rule{"Bash(touch *)"}}.Compile(),
	Policy{Allow: []Rule{"Bash"}, Deny: []Rule{"Bash(touch *)"}}.Compile(),
}

// shellPrelude: what is not built in is a function, and nothing leaves the folder.
const shellPrelude = `PATH=/nowhere; W=$1/log; ulimit -v 2000000 2>/dev/null; FUNCNEST=40; HOME=/home/x; unset x y OLDPWD
touch() { echo "$N" >>"$W"; echo WIRE; }
cat() { if [ $# -gt 0 ]; then printf 'cat'; printf '<%s>' "$@"; fi; while IFS= read -r line; do printf '%s\n' "$line"; done; printf '%s' "$line"; }
ls() { printf 'ls'; printf '<%s>' "$@"; echo; }
git() { printf 'git'; printf '<%s>' "$@"; echo; }
bash() { if [ "$1" = -c ]; then ( T=$2; set --; eval "$T" ); else echo bash; fi; }
sh() { if [ "$1" = -c ]; then ( T=$2; set --; eval "$T" ); else echo sh; fi; }
r() { N=$1; T=$2; set -- one 't w o'; out=$( ulimit -t 1; eval "$T" 2>/dev/null </dev/null ); printf '%s\036%s\037' "$?" "$out"; }
`

// A lineRun is a text that a shell runs.
type lineRun struct {
	shell, text string
	outcome     string // exit code and output
	tripped     bool
}

// ended reports whether a text was read and ran to its end: bash took it for its language
// and did not kill it for what it used.
func (r *lineRun) ended() bool {
	code, out, ran := strings.Cut(r.outcome, "\x1e")
	n, _ := strconv.Atoi(code)
	return ran && n <= 128 && n != 2 && !strings.Contains(out, "error token") && !strings.Contains(out, "BASH_VERSINFO")
}

// runAll runs texts in one process for each shell.
func runAll(t *testing.T, runs []*lineRun) {
	t.Helper()
	for _, shell := range []string{"bash", "dash"} {
		var mine []*lineRun
		for _, r := range runs {
			if r.shell == shell {
				mine = append(mine, r)
			}
		}
		if len(mine) > 0 {
			runIn(t, shell, mine)
		}
	}
}

func runIn(t *testing.T, shell string, runs []*lineRun) {
	dir, err := os.MkdirTemp("", "forms")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	here := t.TempDir() // in which nothing can be written, so that lines do not see each other
	for _, name := range []string{"a", "b", "x.txt"} {
		_ = os.WriteFile(filepath.Join(here, name), []byte(name+"\n"), 0o600)
	}
	var script strings.Builder
	script.WriteString(shellPrelude)
	for i, r := range runs {
		fmt.Fprintf(&script, "r %d %s\n", i, text.QuoteShell(r.text))
	}
	_ = os.WriteFile(filepath.Join(dir, "script"), []byte(script.String()), 0o600)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, filepath.Join(dir, "script"), dir)
	cmd.Dir, cmd.WaitDelay, cmd.Env = here, time.Second, []string{"LC_ALL=C.UTF-8"}
	var out bytes.Buffer
	cmd.Stdout = &out
	_, release, err := Confine(cmd, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	_ = cmd.Run() // how lines end is part of their outcome
	outcomes := strings.Split(out.String(), "\x1f")
	if len(outcomes) != len(runs)+1 {
		if len(runs) > 1 { // one of them has ended the shell
			runIn(t, shell, runs[:len(runs)/2])
			runIn(t, shell, runs[len(runs)/2:])
		}
		return
	}
	for i, r := range runs {
		r.outcome = lineNumber.ReplaceAllString(strings.NewReplacer(dir, "DIR", here, "HERE").Replace(outcomes[i]), "")
	}
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	for _, n := range strings.Fields(string(log)) {
		if i, err := strconv.Atoi(n); err == nil && i < len(runs) {
			runs[i].tripped = true
		}
	}
}

// A formCase is a line with what it is run as.
type formCase struct {
	line    string
	form    shellscan.Form
	odd     error
	allowed int // 1 + the policy that allows it, 0 for none
	raw     *lineRun
	runs    []*lineRun
}

func newFormCase(line string) *formCase {
	c := &formCase{line: line}
	c.form, c.odd = shellscan.Canonical(line)
	r := run("/w", line)
	for i, p := range wirePolicies {
		if p.Decide(&r).Behavior == Allowed {
			c.allowed = i + 1
			break
		}
	}
	text := c.form.Line
	if c.odd != nil {
		text = line
	}
	if c.odd == nil && c.form.Line != line {
		c.raw = &lineRun{shell: "bash", text: line}
	}
	if c.allowed > 0 || c.raw != nil {
		c.runs = append(c.runs, &lineRun{shell: "bash", text: text})
	}
	if c.allowed > 0 && !c.form.Bash {
		c.runs = append(c.runs, &lineRun{shell: "dash", text: text})
	}
	return c
}

// check reports what is wrong with a case that was run.
func (c *formCase) check(t *testing.T) {
	t.Helper()
	for _, r := range c.runs {
		if c.allowed > 0 && r.tripped {
			t.Errorf("policy %d allows what %s runs the wire for:\n%q\nas\n%q", c.allowed-1, r.shell, c.line, r.text)
		}
	}
	if c.odd != nil {
		return
	}
	if again, err := shellscan.Canonical(c.form.Line); err != nil || again != c.form {
		t.Errorf("the form of %q is %+v, but that of the form is %+v (%v)", c.line, c.form, again, err)
	}
	if c.raw != nil && c.raw.ended() && c.runs[0].outcome != "" && sameEverywhere(c.line) && !concurrent.MatchString(c.form.Line) && c.raw.outcome != c.runs[0].outcome {
		t.Errorf("bash makes %.1000q of\n%q\nbut %.1000q of its form\n%q", c.raw.outcome, c.line, c.runs[0].outcome, c.form.Line)
	}
}

// sameEverywhere reports whether a line tells nothing of its own text or process.
func sameEverywhere(line string) bool {
	if strings.Contains(line, "<<") && (strings.Contains(line, "(") || strings.Contains(line, "`")) {
		return false // bash itself prints and reads substitutions again, and errs where documents are in them
	}
	for _, name := range []string{"$$", "$!", "RANDOM", "LINENO", "BASH", "declare", "typeset", "$-", "trap", "$_", "${_", "${-", "${$", "${!"} {
		if strings.Contains(line, name) {
			return false
		}
	}
	return true
}

var (
	concurrent = regexp.MustCompile(` &($|[ \n)])|>\(`) // in a form
	lineNumber = regexp.MustCompile(`line [0-9]+: `)
)

func tryForms(t *testing.T, lines []string) (understood, allowed int) {
	t.Helper()
	var cases []*formCase
	var runs []*lineRun
	_, noDash := exec.LookPath("dash")
	for _, line := range lines {
		c := newFormCase(line)
		cases = append(cases, c)
		if c.raw != nil {
			runs = append(runs, c.raw)
		}
		for _, r := range c.runs {
			if r.shell != "dash" || noDash == nil {
				runs = append(runs, r)
			}
		}
		if c.odd == nil {
			understood++
		}
		if c.allowed > 0 {
			allowed++
		}
	}
	runAll(t, runs)
	for _, c := range cases {
		c.check(t)
	}
	return understood, allowed
}

// classes returns the seeds.
func classes(tb testing.TB) []string {
	text, err := os.ReadFile("testdata/classes.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var lines []string
	unfold := strings.NewReplacer("⏎", "\n", "→", "\t", "§", wire+" w")
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") && line != "#" {
			lines = append(lines, unfold.Replace(line))
		}
	}
	return lines
}

// TestForms runs the seeds.
func TestForms(t *testing.T) {
	permtest.NeedBash(t)
	lines := classes(t)
	if got := (&lineRun{shell: "bash", text: wire}); true {
		runAll(t, []*lineRun{got})
		if !got.tripped || got.outcome != "0\x1eWIRE" {
			t.Fatalf("the wire does not work: %+v", got)
		}
	}
	understood, allowed := tryForms(t, lines)
	t.Logf("%d lines, %d understood, %d allowed", len(lines), understood, allowed)
	if len(lines) < 100 || understood < 20 || allowed < 20 {
		t.Error("too few to tell")
	}
}

// TestFormDifferential runs lines of a grammar, parts of the seeds, and what chance
// makes of both.
func TestFormDifferential(t *testing.T) {
	permtest.NeedBash(t)
	seed := uint64(1) // the same lines whenever it is run for a time, so that a change is what makes it fail
	if *formLines > 0 {
		seed = uint64(time.Now().UnixNano())
	}
	random := rand.New(rand.NewPCG(seed, 1))
	g := &formGrammar{Rand: random, seeds: classes(t)}
	limit := 3 * time.Second
	if os.Getenv("CI") == "true" {
		limit = 10 * time.Second
	}
	start, lines, understood, allowed := time.Now(), 0, 0, 0
	for lines < *formLines || *formLines == 0 && time.Since(start) < limit {
		var batch []string
		for range 400 {
			batch = append(batch, g.line())
		}
		u, a := tryForms(t, batch)
		lines, understood, allowed = lines+len(batch), understood+u, allowed+a
		if t.Failed() {
			break
		}
	}
	t.Logf("seed %d: %d lines, %d understood, %d allowed, in %s", seed, lines, understood, allowed, time.Since(start).Round(time.Second))
	if understood*10 < lines || allowed*20 < lines {
		t.Error("too few are understood, or allowed, to tell")
	}
}

// FuzzForm lets the fuzzer of Go choose the line. Without the fuzzer it tries a few:
// TestForms tries them all, in one shell.
func FuzzForm(f *testing.F) {
	permtest.NeedBash(f)
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	for i, line := range classes(f) {
		if fuzzing || i%40 == 0 {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		tryForms(t, []string{line})
	})
}
