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
	whole := flag.Bool("whole", false, "run all tests of the packages and list which fail, to find tests that notice")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := try(ctx, *run, *jobs, *update, *whole); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

func try(ctx context.Context, run string, jobs int, update, whole bool) error {
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
	if !whole {
		if err := baseline(ctx, root, guards); err != nil {
			return err
		}
	}

	bad := 0
	var mu sync.Mutex
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(jobs, 1))
	for _, g := range guards {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			o, err := tryGuard(ctx, root, g, whole)
			mu.Lock()
			defer mu.Unlock()
			ok := false
			verdict := ""
			switch {
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
			}
			if !ok {
				bad++
			}
			fmt.Printf("%s: %s\n", g.Name, verdict)
		})
	}
	wait.Wait()
	if bad > 0 {
		return fmt.Errorf("%d of %d guards are not watched", bad, len(guards))
	}
	fmt.Printf("%d guards, each noticed by its tests, in %v\n", len(guards), time.Since(begin).Round(time.Second))
	if update {
		return os.WriteFile(root+"/"+page, []byte(table()), 0o644)
	}
	return nil
}

// baseline makes sure that the tests pass while all guards are on. Otherwise a failure would say nothing.
func baseline(ctx context.Context, root string, guards []Guard) error {
	var tests []Test
	for _, g := range guards {
		tests = append(tests, g.Tests...)
	}
	folders, names := byPackage(tests)
	for _, folder := range folders {
		o, err := test(ctx, root, folder, "", names[folder])
		if err != nil {
			return err
		}
		if o.unbuilt != "" {
			return fmt.Errorf("%s does not compile:\n%s", folder, o.unbuilt)
		}
		if missing := slices.Concat(o.failed, o.skipped); len(missing) > 0 {
			return fmt.Errorf("with all guards on, these tests fail, are skipped or do not exist: %s", strings.Join(missing, ", "))
		}
	}
	return nil
}

// repository returns the root of the repository that the command is started in.
func repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
