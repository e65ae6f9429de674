package rules

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/rules/shellscan"
)

// What a policy allows is really run, in a folder of its own, with a PATH of
// tripwires: programs, and a function for shells, that log their names. No line of
// the grammar leaves the folder.

// Confine confines a command, which may write in dir, and says by what. The sandbox
// imports this package, so that the tests of another one set it.
var Confine func(cmd *exec.Cmd, dir string) (by string, release func(), err error)

// A guarded policy, and the names that must not run under it.
type guardedPolicy struct {
	Policy
	never []string
}

var guardedPolicies = []guardedPolicy{
	{Policy{Mode: Bypass, Deny: []Rule{"Bash(rm *)"}}, []string{"rm"}},
	{Policy{Mode: Auto, Allow: []Rule{"Bash"}, Deny: []Rule{"Bash(rm *)", "Bash(foo *)"}}, []string{"rm", "foo"}},
	{Policy{Allow: []Rule{"Bash(*)"}, Ask: []Rule{"Bash(rm *)"}}, []string{"rm"}},
	{Policy{Allow: []Rule{"Bash(ls *)", "Bash(cat *)", "Bash(echo *)", "Bash(git *)"}}, []string{"rm", "foo", "touch"}},
	{Policy{Mode: Plan, Allow: []Rule{"Bash"}}, []string{"rm", "foo", "touch"}},
	{Policy{Mode: Bypass, Deny: []Rule{"Bash(rm *)"}}.Within(Policy{Allow: []Rule{"Bash(ls *)", "Bash(cat *)", "Bash(sort *)"}}), []string{"rm", "foo", "touch"}},
}

// trip runs a line that policies allow, and reports how many do.
func (b *bench) trip(tb testing.TB, line string) (allowed int) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "trip")
	if err != nil {
		tb.Error(err)
		return 0
	}
	defer os.RemoveAll(dir)
	never := map[string]int{} // by the number of a policy
	for i, p := range guardedPolicies {
		if p.Decide(run(dir, line)).Behavior != Allowed {
			continue
		}
		allowed++
		for _, name := range p.never {
			never[name] = i
		}
	}
	if allowed == 0 {
		return 0
	}
	if form, err := shellscan.Canonical(line); err == nil {
		line = form.Line
	}
	for _, name := range b.trips(tb, dir, line) {
		if i, is := never[name]; is {
			tb.Errorf("policy %d: bash runs %s in\n%s", i, name, line)
		}
	}
	return allowed
}

// trips runs a line in a folder, confined, and returns the tripwires that it met.
func (b *bench) trips(tb testing.TB, dir, line string) []string {
	tb.Helper()
	log := filepath.Join(dir, "log")
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.bash, "-c", line)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = []string{"PATH=" + b.bin, "STUBLOG=" + log, "HOME=" + dir, `BASH_FUNC_rm%%=() { printf 'rm\n' >>"$STUBLOG"; }`}
	cmd.Stdout = new(bytes.Buffer) // so that what goes on in the background is waited for
	_, release, err := Confine(cmd, dir)
	if err != nil {
		tb.Error(err)
		return nil
	}
	_ = cmd.Run() // a line may fail; what it ran counts
	release()
	data, _ := os.ReadFile(log)
	return strings.Fields(string(data))
}

// FuzzTripwire lets bytes choose a line of the grammar.
func FuzzTripwire(f *testing.F) {
	b := newBench(f)
	f.Add([]byte("0123456789"))
	f.Add([]byte{3, 0, 17, 5, 200, 41, 7, 9, 13})
	f.Fuzz(func(t *testing.T, data []byte) {
		b.trip(t, grammarOf(data).list())
	})
}

// TestTripwire also wants enough lines to be allowed for the test to say something,
// and the tripwires to work.
func TestTripwire(t *testing.T) {
	b := newBench(t)
	if got := b.runs(t, "rm x; env rm x; sh -c rm"); len(got) != 3 {
		t.Fatalf("the tripwires do not work: %v", got)
	}
	if names := b.trips(t, t.TempDir(), "rm x; env rm x; sh -c rm"); len(names) != 3 {
		t.Fatalf("the tripwires do not work where lines are run: %v", names)
	}
	random := rand.New(rand.NewPCG(3, 4))
	var lines []string
	for range 300 {
		g := &grammar{choose: random.IntN}
		lines = append(lines, g.list())
	}
	var ran atomic.Int64
	eachAtOnce(lines, func(line string) { ran.Add(int64(b.trip(t, line))) })
	if ran.Load() < 30 {
		t.Errorf("%d of 300 lines are allowed, by any policy: too few to tell", ran.Load())
	}
	cmd := exec.Command("true")
	if by, release, err := Confine(cmd, t.TempDir()); err == nil {
		release()
		t.Logf("300 lines were allowed %d times; what was run was confined by %s", ran.Load(), by)
	}
}

// eachAtOnce calls f for each line, several at once: they wait for processes.
func eachAtOnce(lines []string, f func(string)) {
	queue := make(chan string)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for line := range queue {
				f(line)
			}
		})
	}
	for _, line := range lines {
		queue <- line
	}
	close(queue)
	all.Wait()
}
