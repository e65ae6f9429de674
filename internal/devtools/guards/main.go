// Command guards shows that the tests watch the guards of this repository: the checks that keep
// an agent from doing what it must not do, or a session from losing what it has.
//
// It switches off one guard at a time, in a copy of the file that only the compiler sees, and runs
// the tests that must notice it. Nothing in the checkout changes.
//
//	make guards                    # all of them; it takes long
//	make guards ARGS="-run fence"  # those whose name matches
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
	"time"
)

func main() {
	run := flag.String("run", "", "only guards whose `name` matches this regular expression")
	jobs := flag.Int("j", 2, "how many guards are tried at a time")
	update := flag.Bool("update", false, "write docs/guards.md if every guard that was tried is noticed")
	simulator := flag.Bool("simulator", false, "run the simulator as well, without each guard that has an answer of it")
	whole := flag.Bool("whole", false, "run all tests of the packages and list which fail, to find tests that notice")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := try(ctx, *run, *jobs, *update, *simulator, *whole); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

func try(ctx context.Context, run string, jobs int, update, simulator, whole bool) error {
	match, err := regexp.Compile(run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	var guards []Guard
	for _, a := range all() {
		for _, g := range a.guards {
			if match.MatchString(g.Name) {
				guards = append(guards, g)
			}
		}
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

	unwatched := 0
	var mu sync.Mutex
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(jobs, 1))
	for _, g := range guards {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			var o outcome
			var err error
			bad := g.among(unfit)
			if len(bad) == 0 {
				o, err = tryGuard(ctx, root, g, whole)
			}
			answer := g.Simulator
			if simulator && answer != "" && err == nil {
				answer, err = simulate(ctx, root, g)
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
			if !ok {
				unwatched++
			}
			fmt.Printf("%s: %s\n", g.Name, verdict)
		})
	}
	wait.Wait()
	if unwatched > 0 {
		return fmt.Errorf("%d of %d guards are not watched", unwatched, len(guards))
	}
	fmt.Printf("%d guards, each noticed by its tests, in %v\n", len(guards), time.Since(begin).Round(time.Second))
	if update {
		return os.WriteFile(root+"/"+page, []byte(table()), 0o644)
	}
	return nil
}

// baseline returns the tests of the guards that fail, or do not run, while all guards are on. Their
// failure would say nothing.
func baseline(ctx context.Context, root string, guards []Guard) (unfit map[string]bool, err error) {
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
