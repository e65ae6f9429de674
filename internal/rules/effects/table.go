package effects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Tables holds the tables in the text files of this folder.
type tables struct {
	effects    map[string]*Effect
	steered    set // programs whose options run programs or write files
	readers    map[string]*Reader
	gitReaders map[string]*Reader
	walkers    map[string]walker
	wrappers   map[string]*Wrapper
	runOptions map[string]*Options
	dangerous  map[string]string
	openagent  map[string]set
	programs
	variables
	sshRows
}

// known reads the tables when the first command line is judged, so that a program that
// judges none does not pay for them.
var known = sync.OnceValue(func() *tables {
	t := &tables{
		effects: readEffects(), readers: readReaders("readonly.txt", readonlyTable), gitReaders: readReaders("git.txt", gitTable),
		walkers: readWalkers(), wrappers: readWrappers(), runOptions: readRunOptions(), dangerous: readDangerous(), openagent: readOpenagent(),
		programs: readPrograms(), variables: readVariables(), sshRows: readSSH(),
	}
	t.steered = findSteered(t.effects)
	return t
})

// A row is one entry of a table: names, and words that describe them.
//
// A table is a text file in this folder. "#" begins a comment. Names are separated by
// commas, words by spaces. A line that begins with a tab continues the row above it.
type row struct {
	file  string
	line  int
	names []string
	words []string
}

// readTable returns the rows of a table. It panics on a malformed one, which a test finds.
func readTable(file, text string) []row {
	var rows []row
	number, open := 0, false // open: the next line may continue the row above it
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") }); i >= 0 {
			words = words[:i]
		}
		switch {
		case len(words) == 0:
			open = open && strings.TrimSpace(line) != "" // a comment may stand within a row
			continue
		case line[0] != '\t':
			rows = append(rows, row{file: file, line: number, names: []string{""}})
			open = true
		case !open:
			r := row{file: file, line: number}
			r.fail("the line continues no row: begin it without a tab")
		}
		rows[len(rows)-1].add(words)
	}
	seen := map[string]int{}
	for _, r := range rows {
		for _, n := range r.names {
			if first, twice := seen[n]; twice {
				r.fail("%q has a row in line %d already: merge the two", n, first)
			}
			seen[n] = r.line
		}
	}
	return rows
}

// add takes in the words of a line. The first are names while names end in a comma.
func (r *row) add(words []string) {
	for _, w := range words {
		last := len(r.names) - 1
		if r.names[last] != "" {
			r.words = append(r.words, w)
			continue
		}
		r.names = append(r.names[:last], strings.Split(w, ",")...)
	}
}

// fail panics with the place of the row.
func (r *row) fail(format string, args ...any) {
	panic(fmt.Sprintf("internal/rules/effects/%s:%d: %s: ", r.file, r.line, strings.Join(r.names, ",")) + fmt.Sprintf(format, args...))
}

// unknown panics because of a word that has no meaning in the table.
func (r *row) unknown(word string) {
	r.fail("the word %q has no meaning here: see the comment at the top of the file", word)
}

// operands returns a word for the arguments that are not options, if it is one and the
// row has no other.
func (r *row) operands(word, before string, kinds []string) string {
	if before != "" || !slices.Contains(kinds, word) {
		r.unknown(word)
	}
	return word
}

// count returns the number in a word such as "max=1".
func (r *row) count(word string) int {
	_, number, _ := strings.Cut(word, "=")
	n, err := strconv.Atoi(number)
	if err != nil {
		r.fail("%s needs a whole number after \"=\"", word)
	}
	return n
}

// A set is the members of a list.
type set map[string]bool

// Lists are the rows of a table whose first word names a list.
type lists map[string][]string

func readLists(file, text string) lists {
	all := lists{}
	for _, r := range readTable(file, text) {
		if len(r.names) != 1 || len(r.words) == 0 {
			r.fail("a list needs one name and members, separated by spaces")
		}
		all[r.names[0]] = r.words
	}
	return all
}

// take removes a list and returns it.
func (l lists) take(name string) []string {
	members, ok := l[name]
	if !ok {
		panic(fmt.Sprintf("internal/rules/effects: the list %q is missing", name))
	}
	delete(l, name)
	return members
}

//go:noinline // called from many places: every program stays smaller
func (l lists) takeSet(name string) set {
	members := set{}
	for _, m := range l.take(name) {
		members[m] = true
	}
	return members
}

// done panics if a list was not taken: its name is misspelt, or nothing uses it.
func (l lists) done(file string) {
	for name := range l {
		panic(fmt.Sprintf("internal/rules/effects/%s: nothing uses the list %q", file, name))
	}
}
