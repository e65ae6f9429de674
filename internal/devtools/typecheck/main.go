// Typecheck checks the types of packages and of their tests for other systems, from source: the
// systems' standard libraries are not compiled, so it takes a few seconds for each.
//
//	typecheck GOOS[,GOOS…] PATTERN…
//
// It checks the module or workspace of the folder that it runs in, prints each error, and ends
// with the exit code 1 if there is one.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOOS[,GOOS…] PATTERN…")
		os.Exit(2)
	}
	failed := false
	for _, system := range strings.Split(os.Args[1], ",") {
		n, err := check(system, os.Args[2:])
		if err != nil {
			fmt.Fprintf(os.Stderr, "typecheck: %s: %v\n", system, err)
			failed = true
			continue
		}
		fmt.Printf("%s: the types of %d packages are right\n", system, n)
	}
	if failed {
		os.Exit(1)
	}
}

// check returns how many packages the patterns name, tests included.
func check(system string, patterns []string) (int, error) {
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedModule,
		Tests: true,
		Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system),
	}, patterns...)
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("no packages match %s", strings.Join(patterns, " "))
	}
	if n := packages.PrintErrors(all); n > 0 {
		return 0, fmt.Errorf("%d errors", n)
	}
	return len(all), nil
}
