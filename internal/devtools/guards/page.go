package main

import (
	"fmt"
	"strings"
)

// page is what -update writes.
const page = "docs/guards.md"

const head = `# Guards and the tests that watch them

A guard is a check that keeps an agent from doing what it must not do, or a session from losing what it has.
This page lists %d of them. Without the guard of a row, each test in its third column fails.
The last column says yes if the first ` + programs + ` programs of the [simulator](simulator.md) notice it as well, without knowing of the guard. Where it is empty, the simulator was not asked.

` + "`make guards`" + ` proves it: it switches off one guard at a time, in a copy that only the compiler sees, and runs the tests of its row.
That takes long, so CI only checks that each guard's text is still in the code once, and that the code compiles without it.
It also tries one of the guards.

The rows are in [internal/devtools/guards](../internal/devtools/guards/main.go), and this page is written from them:

` + "```sh" + `
make guards                    # try all guards
make guards ARGS="-run fence"  # try the guards whose name matches
make guards ARGS=-simulator    # run the simulator without each guard as well
make guards ARGS=-update       # try all guards, and write this page if each is noticed
` + "```" + `
`

// table is the text of the page.
func table() string {
	var b strings.Builder
	n := 0
	for _, a := range all() {
		n += len(a.guards)
	}
	fmt.Fprintf(&b, head, n)
	for _, a := range all() {
		fmt.Fprintf(&b, "\n## %s\n\n| guard | without it | noticed by | simulator |\n|---|---|---|---|\n", a.name)
		for _, g := range a.guards {
			prevents := g.Prevents
			if g.Note != "" {
				prevents += " " + g.Note
			}
			var tests []string
			for _, t := range g.Tests {
				tests = append(tests, "`"+title(t.Package, t.Name)+"`")
			}
			simulated := ""
			if g.Simulated {
				simulated = "yes"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(g.Name), cell(prevents), strings.Join(tests, " "), simulated)
		}
	}
	return b.String()
}

// cell keeps a text in its cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
