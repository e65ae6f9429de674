package effects

import (
	_ "embed"
	"strings"
)

//go:embed programs.txt
var programsTable string

// Programs holds the lists of programs.txt. Comments there explain each.
type programs struct {
	opensNoFile, changesNoFile, writers, replacers, scriptFirst set
	interpreters, readsNoProgram, tars, awks, fileList          set
	shells, opaque, followed, findTests, findTestsWithValue     set
	gitValueOptions, gitLeavesFiles                             set
	changers, changesWithI, changesWithW                        set
	gitPlainSettings                                            []string
	gitRunsText                                                 map[string]string // commands of git, with the argument by which they do, "" for any
}

func readPrograms() programs {
	l := readLists("programs.txt", programsTable)
	p := programs{
		opensNoFile: l.takeSet("opens-no-file"), changesNoFile: l.takeSet("changes-no-file"),
		writers: l.takeSet("writers"), replacers: l.takeSet("replacers"), scriptFirst: l.takeSet("script-first"),
		interpreters: l.takeSet("interpreters"), readsNoProgram: l.takeSet("interpreter-reads-no-program"),
		tars: l.takeSet("tars"), awks: l.takeSet("awks"), fileList: l.takeSet("file-list"),
		shells: l.takeSet("shells"), opaque: l.takeSet("opaque"), followed: l.takeSet("followed"),
		findTests: l.takeSet("find-tests"), findTestsWithValue: l.takeSet("find-tests-value"),
		gitValueOptions: l.takeSet("git-value-options"), gitPlainSettings: l.take("git-plain-settings"),
		changers: l.takeSet("changes-arguments"), changesWithI: l.takeSet("changes-with-i"), changesWithW: l.takeSet("changes-with-w"), gitLeavesFiles: l.takeSet("git-leaves-files"),
		gitRunsText: map[string]string{},
	}
	for _, m := range l.take("git-runs-text") {
		command, by, _ := strings.Cut(m, "=")
		p.gitRunsText[command] = by
	}
	l.done("programs.txt")
	return p
}

// IsShell reports whether a program is a shell.
func IsShell(name string) bool { return known().shells[name] }

// IsOpaque reports whether a program runs commands in ways that are not followed.
func IsOpaque(name string) bool { return known().opaque[name] }

// IsFollowed reports whether a built-in command is followed in a way of its own.
func IsFollowed(name string) bool { return known().followed[name] }

//go:embed openagent.txt
var openagentTable string

func readOpenagent() map[string]set {
	table := map[string]set{}
	for command, verbs := range readLists("openagent.txt", openagentTable) {
		table[command] = set{}
		for _, v := range verbs {
			table[command][v] = true
		}
	}
	return table
}

// OpenagentLists reports whether a command of openagent only shows or lists things. verb is
// its next argument, "" for none.
func OpenagentLists(command, verb string) bool {
	verbs, lists := known().openagent[command]
	return lists && (verb == "" || verbs[verb])
}
