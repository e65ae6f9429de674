// Command guards shows that the tests watch the guards of this repository: the checks that keep
// an agent from doing what it must not do, or a session from losing what it has.
//
// It switches off one guard at a time, in a copy of the file that only the compiler sees, and runs
// the tests that must notice it. Nothing in the checkout changes.
//
//	make guards                    # all of them; it takes long
//	make guards ARGS="-run fence"  # those whose name matches
//	make guards ARGS="-from 120"   # continue a run that was stopped
//
// A guard that no test notices is a missing test. The guards are in the files named after their
// area; docs/guards.md is written from them with -update.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.run, "run", "", "only guards whose `name` matches this regular expression")
	flag.IntVar(&o.from, "from", 1, "only guards from this `number` on; each line of the output begins with one")
	flag.IntVar(&o.to, "to", 0, "only guards up to this `number`")
	flag.IntVar(&o.jobs, "j", 2, "how many guards are tried at a time")
	flag.BoolVar(&o.update, "update", false, "write docs/guards.md if every guard that was tried is noticed")
	flag.BoolVar(&o.simulator, "simulator", false, "run the simulator as well, without each guard that has an answer of it")
	flag.BoolVar(&o.whole, "whole", false, "run all tests of the packages and list which fail, to find tests that notice")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := try(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	run                      string
	from, to, jobs           int
	update, simulator, whole bool
}

// A row is a guard with its number in the list of all guards, from 1 on.
type row struct {
	Guard
	number int
}

// choose returns the guards that are to be tried.
func (o options) choose() ([]row, error) {
	match, err := regexp.Compile(o.run)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	var rows []row
	number := 0
	for _, a := range all() {
		for _, g := range a.guards {
			number++
			if number >= o.from && (o.to == 0 || number <= o.to) && match.MatchString(g.Name) {
				rows = append(rows, row{g, number})
			}
		}
	}
	return rows, nil
}

func try(ctx context.Context, opts options) error {
	simulator, whole := opts.simulator, opts.whole
	guards, err := opts.choose()
	if err != nil {
		return err
	}
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	unfit := map[string]bool{}
	if !whole {
		if unfit, err = baseline(ctx, root, guards); err != nil {
			return err
		}
	}

	if simulator {
		switch answer, err := simulate(ctx, root, Guard{}); {
		case err != nil:
			return err
		case answer == Notices:
			return errors.New("the simulator finds something with all guards on: repair that first")
		}
	}

	var unwatched []string
	next := 0 // the number of the first guard that was not tried, if the run was stopped
	var mu sync.Mutex
	stopped := func(g row) {
		mu.Lock()
		defer mu.Unlock()
		if next == 0 || g.number < next {
			next = g.number
		}
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(opts.jobs, 1))
	for _, g := range guards {
		slots <- struct{}{}
		if ctx.Err() != nil {
			stopped(g)
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			var o outcome
			var err error
			bad := g.among(unfit)
			if len(bad) == 0 {
				o, err = tryGuard(ctx, root, g.Guard, whole)
			}
			answer := g.Simulator
			if simulator && answer != "" && err == nil {
				answer, err = simulate(ctx, root, g.Guard)
			}
			if ctx.Err() != nil {
				stopped(g)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ok := false
			verdict := ""
			switch {
			case len(bad) > 0:
				verdict = "NOT TRIED: with all guards on, these tests fail, are skipped or do not exist: " + strings.Join(bad, ", ")
			case err != nil:
				verdict = err.Error()
			case o.unbuilt != "":
				verdict = "did not compile:\n" + o.unbuilt
			case len(o.passed) > 0:
				verdict = "NOT NOTICED by " + strings.Join(o.passed, ", ")
			case len(o.skipped) > 0:
				verdict = "NOT NOTICED: skipped, or there is no such test: " + strings.Join(o.skipped, ", ")
			case len(o.failed) == 0:
				verdict = "NOT NOTICED: no test failed"
			default:
				ok = true
				verdict = "noticed by " + strings.Join(o.failed, ", ")
				if answer != g.Simulator {
					ok = false
					verdict += fmt.Sprintf("; the simulator says %s, and the list %s", answer, g.Simulator)
				}
			}
			line := fmt.Sprintf("%d %s: %s", g.number, g.Name, verdict)
			if !ok {
				unwatched = append(unwatched, line)
			}
			fmt.Println(line)
		})
	}
	wait.Wait()
	took := fmt.Sprintf("%v, with %v of processor time", time.Since(begin).Round(time.Second), processorTime().Round(time.Second))
	if len(unwatched) > 0 {
		fmt.Printf("\nNot watched:\n%s\n\n", strings.Join(unwatched, "\n"))
	}
	switch {
	case next > 0:
		return fmt.Errorf("stopped after %s: continue with -from %d", took, next)
	case len(unwatched) > 0:
		return fmt.Errorf("%d of %d guards are not watched; they took %s", len(unwatched), len(guards), took)
	}
	fmt.Printf("%d guards, each noticed by its tests, in %s\n", len(guards), took)
	if opts.update {
		return os.WriteFile(root+"/"+page, []byte(table()), 0o644)
	}
	return nil
}

// processorTime returns what all programs that this one has started and waited for have used.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// baseline returns the tests of the guards that fail, or do not run, while all guards are on. Their
// failure would say nothing.
func baseline(ctx context.Context, root string, guards []row) (unfit map[string]bool, err error) {
	var tests []Test
	for _, g := range guards {
		tests = append(tests, g.Tests...)
	}
	unfit = map[string]bool{}
	folders, names := byPackage(tests)
	for _, folder := range folders {
		o, err := test(ctx, root, folder, "", names[folder])
		if err != nil {
			return nil, err
		}
		if o.unbuilt != "" {
			return nil, fmt.Errorf("%s does not compile:\n%s", folder, o.unbuilt)
		}
		for _, name := range slices.Concat(o.failed, o.skipped) {
			unfit[name] = true
		}
	}
	return unfit, nil
}

// among returns the guard's tests that are in a set.
func (g Guard) among(set map[string]bool) (names []string) {
	for _, t := range g.Tests {
		if name := title(t.Package, t.Name); set[name] {
			names = append(names, name)
		}
	}
	return names
}

// repository returns the root of the repository that the command is started in.
func repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
