package permission

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

// trip runs a line under each policy that allows it, and reports how many do.
func (b *bench) trip(tb testing.TB, line string) (ran int) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "trip")
	if err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for i, p := range guardedPolicies {
		if p.Decide(run(dir, line)).Behavior != Allowed {
			continue
		}
		ran++
		for _, name := range b.trips(tb, dir, line) {
			if slices.Contains(p.never, name) {
				tb.Errorf("policy %d: bash runs %s in\n%s", i, name, line)
			}
		}
	}
	return ran
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
	by, release, err := Confine(cmd, dir)
	if err != nil {
		tb.Fatal(err)
	}
	b.by = by
	_ = cmd.Run() // a line may fail; what it ran counts
	release()
	data, _ := os.ReadFile(log)
	_ = os.Remove(log)
	return strings.Fields(string(data))
}

// FuzzTripwire lets bytes choose a line of the grammar.
func FuzzTripwire(f *testing.F) {
	b := newBench(f)
	f.Add([]byte("0123456789"))
	f.Add([]byte{3, 0, 17, 5, 200, 41, 7, 9, 13})
	f.Fuzz(func(t *testing.T, data []byte) {
		i := 0
		g := &grammar{choose: func(n int) int {
			if i++; i > len(data) {
				return n - 1
			}
			return int(data[i-1]) % n
		}}
		b.trip(t, g.list())
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
	ran := 0
	for range 300 {
		g := &grammar{choose: random.IntN}
		ran += b.trip(t, g.list())
	}
	if ran < 30 {
		t.Errorf("only %d runs of 300 lines were allowed", ran)
	}
	t.Logf("%d runs of 300 lines were allowed, by %s", ran, b.by)
}
