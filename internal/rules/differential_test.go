package rules

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/text"

	"github.com/openagent-go/agent/internal/rules/shellscan"
)

// What ParseCommand finds is compared with what bash runs: PATH holds only
// programs that log their name, and a few that run others.

var logged = []string{"rm", "ls", "cat", "git", "sort", "grep", "touch", "foo"}

type bench struct {
	bash, bin string
}

func newBench(tb testing.TB) *bench {
	tb.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		tb.Skip("no bash to compare with")
	}
	b := &bench{bash: bash, bin: tb.TempDir()}
	stub := "#!/bin/sh\nprintf '%s\\n' \"${0##*/}\" >>\"$STUBLOG\"\n"
	for _, n := range logged {
		if err := os.WriteFile(filepath.Join(b.bin, n), []byte(stub), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	for _, n := range []string{"env", "xargs", "timeout", "nice", "nohup", "find", "sh", "bash"} {
		if p, err := exec.LookPath(n); err == nil {
			if err := os.Symlink(p, filepath.Join(b.bin, n)); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return b
}

// runs returns the names of the programs that bash runs for a line.
func (b *bench) runs(tb testing.TB, line string) []string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "line")
	if err != nil {
		tb.Error(err)
		return nil
	}
	defer os.RemoveAll(dir)
	for _, d := range []string{"a", "b"} {
		_ = os.Mkdir(filepath.Join(dir, d), 0o700)
	}
	_ = os.WriteFile(filepath.Join(dir, "x.txt"), []byte("x\n"), 0o600)
	log := filepath.Join(dir, "log")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.bash, "-c", line)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = []string{"PATH=" + b.bin, "STUBLOG=" + log, "HOME=" + dir}
	_ = cmd.Run() // a line may fail; what it ran counts
	data, _ := os.ReadFile(log)
	return strings.Fields(string(data))
}

// compare fails if bash runs what ParseCommand neither finds nor doubts.
func (b *bench) compare(tb testing.TB, line string) {
	tb.Helper()
	c, _ := shellscan.ParseCommand(line)
	readOnly := run("/work", line).WhyWrites() == ""
	if c.Unclear != "" && !readOnly {
		return
	}
	if form, err := shellscan.Canonical(line); err == nil {
		line = form.Line
	}
	for _, name := range b.runs(tb, line) {
		if !slices.ContainsFunc(c.List, func(x shellscan.Command) bool { return x.Name == name }) {
			tb.Errorf("bash runs %s in\n%s\nParseCommand finds %v", name, line, c.List)
		}
		if readOnly && (name == "rm" || name == "touch" || name == "foo") {
			tb.Errorf("taken for read-only, but bash runs %s in\n%s", name, line)
		}
	}
}

// A grammar makes lines out of choices. No word of it leaves the folder.
type grammar struct {
	choose func(n int) int
	depth  int
}

// grammarOf lets bytes choose.
func grammarOf(data []byte) *grammar {
	i := 0
	return &grammar{choose: func(n int) int {
		if i++; i > len(data) {
			return n - 1
		}
		return int(data[i-1]) % n
	}}
}

func (g *grammar) pick(list ...string) string { return list[g.choose(len(list))] }

func (g *grammar) name() string {
	if g.choose(4) > 0 {
		return g.pick("rm", "ls", "cat", "foo", "r\\m", "'rm'", "r''m", "echo", "git", "sort", "true", "false")
	}
	return g.pick("rm", "ls", "cat", "foo", "r\\m", "'rm'", "r''m", `"rm"`, `r"m"`, "\\rm", "$'rm'", "$'\\x72m'", "$x", "r$y", "{rm,a}", "r[m]", "`echo rm`", "$(echo rm)", "r\\\nm", "git", "sort")
}

func (g *grammar) word() string {
	if g.depth > 4 {
		return "a"
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.choose(40) {
	case 0:
		return "$(" + g.list() + ")"
	case 1:
		return "`" + strings.NewReplacer("`", "", `\`, "").Replace(g.simple()) + "`"
	case 2:
		return `"$(` + g.list() + `)"`
	case 3:
		return "<(" + g.list() + ")"
	case 4:
		return "${x:-$(" + g.simple() + ")}"
	case 5:
		return "$((1 + $(" + g.simple() + ")))"
	case 6:
		return `"a ${x:+` + g.word() + `}"`
	case 7:
		return "$((" + g.pick("x", "1+1", "a[1]", "x[$(rm)]", "$x") + "))"
	case 8:
		return "'a; rm'"
	case 9:
		return `"; rm"`
	case 10:
		return "{a," + g.pick("b", "$(rm)") + "}"
	case 11:
		return "*.txt"
	case 12:
		return "x=$(" + g.simple() + ")"
	case 13:
		return "\\;"
	case 14:
		return "#rm"
	case 15:
		return "$\"rm\""
	}
	return g.pick("a", "-n", "b", "x.txt", "\"$x\"", "$1", "~", "-")
}

func (g *grammar) words() string {
	var b strings.Builder
	for range g.choose(3) {
		b.WriteString(" " + g.word())
	}
	return b.String()
}

func (g *grammar) simple() string {
	if g.depth > 4 {
		return "ls"
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.choose(56) {
	case 0:
		return "env " + g.pick("", "-i PATH=\"$PATH\" STUBLOG=\"$STUBLOG\" ", "A=1 ", "-u X ", "-S ") + g.simple()
	case 1:
		return "timeout " + g.pick("5 ", "-k 1 5 ", "--signal=KILL 5 ", "$x ", "-v 5 ") + g.simple()
	case 2:
		return g.pick("nohup ", "command ", "exec ", "builtin ", "nice ", "nice -n 5 ", "nice -5 ", "time ", "command -p ", "! ", "time -p ", "coproc ", "command -v ") + g.simple()
	case 3:
		return g.pick("echo a | xargs ", "xargs -I{} ", "echo rm | xargs -I{} ", "echo a | xargs -n1 ", "echo b | xargs -i ") + g.pick(g.simple(), "{}", "sh -c {}", "sh -c 'rm {}'")
	case 4:
		return g.pick("sh", "bash", "\\sh", "bash --norc", "bash -e") + " -c " + text.QuoteShell(g.list()) + g.pick("", " a b")
	case 5:
		return "eval " + text.QuoteShell(g.list())
	case 6:
		return "eval " + g.simple()
	case 7:
		return "find . -maxdepth 0 " + g.pick("-exec ", "-execdir ", "-ok ") + g.name() + g.pick(" {} ';'", " {} +", " \\;")
	case 8:
		return g.pick("A=1 ", "x=rm ", "x=$(rm) ", "y=m ", "A=(a $(rm)) ") + g.simple()
	case 9:
		return g.pick("x=rm", "y=m", "x='a[$(rm)]'", "x=1", "x+=2", "x=\"$(foo)\"")
	case 10:
		return "trap " + text.QuoteShell(g.simple()) + " EXIT"
	case 11:
		return "echo " + text.QuoteShell(g.simple()) + " | " + g.pick("sh", "bash -s", "sh -", "bash /dev/stdin")
	case 12:
		return "cat <<" + g.pick("E", "'E'", "\"E\"", "-E") + "\n" + g.word() + "\n" + g.simple() + "\nE\n"
	case 13:
		return g.pick("sh", "cat") + " <<< " + text.QuoteShell(g.simple())
	case 14:
		return "[[ " + g.pick("$x -eq 1", "-n $(rm)", "-v x", "a == $(foo)", "'a[$(rm)]' -eq 1") + " ]]"
	case 15:
		return g.pick("[ -v 'a[$(rm)]' ]", "test -n \"$(rm)\"", "[ $x ]", "printf -v 'a[$(rm)]' x", "unset 'a[$(rm)]'", "read 'a[$(rm)]' <<< 1", "let 'a[$(rm)]=1'", "declare -i z='a[$(rm)]'", "declare -n q='a[$(rm)]'; echo $q", "(( a[$(rm)] ))")
	case 16:
		return "echo ${" + g.pick("x@P", "!x", "x:=$(rm)", "x/a/$(rm)", "#x", "x^^", "x:0:1", "a[$(rm)]", "x//$(foo)/b", "x:a[0]") + "}"
	case 17:
		return g.pick(". x.txt", "source x.txt", "alias ls=rm", "shopt -s expand_aliases", "set -- rm a", "\"$@\"", "cd a", "cd ..", "hash -p rm ls", "enable -n echo")
	case 18:
		return g.pick("PATH=a:$PATH", "export PATH", "export A=$(rm)", "local x", "BASH_ENV=x", "IFS=m", "readonly z=`rm`")
	}
	return g.name() + g.words() + g.pick("", "", "", " >a/o", " 2>&1", " >/dev/null", " <x.txt", " >$(rm)", " &>b/o")
}

func (g *grammar) statement() string {
	if g.depth > 3 {
		return g.simple()
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.choose(16) {
	case 0:
		return "( " + g.list() + " )"
	case 1:
		return "{ " + g.list() + "\n}"
	case 2:
		return "if " + g.list() + "\nthen " + g.list() + "\nelse " + g.list() + "\nfi"
	case 3:
		return "for i in a " + g.word() + "; do " + g.list() + "\ndone"
	case 4:
		return "case " + g.word() + " in a) " + g.list() + "\n;; " + g.pick("*", "$(rm)", "b") + ") " + g.list() + "\nesac"
	case 5:
		f := g.pick("f", "ls", "cd")
		return f + "() { " + g.list() + "\n}\n" + f
	case 6:
		return g.simple() + " | " + g.statement()
	case 7:
		return "while " + g.simple() + "\ndo " + g.list() + "\nbreak\ndone"
	case 8:
		return g.simple() + " & wait"
	case 9:
		return "for ((i=0;i<" + g.pick("1", "x", "$(rm)") + ";i++)); do " + g.list() + "\ndone"
	}
	return g.simple()
}

func (g *grammar) list() string {
	line := g.statement()
	for range g.choose(3) {
		line += g.pick("; ", " && ", " || ", "\n", " | ", " |& ", " &\n") + g.statement()
	}
	return line
}

func TestDifferential(t *testing.T) {
	b := newBench(t)
	lines := []string{
		"rm x", "/nowhere/rm x; rm y", "ls\nrm x", "ls $(rm x)", "cat <(rm x)", "r\\\nm x", "ls;rm x", "ls|rm", "ls&rm x", "x=rm; $x a", "f(){ rm; }; f",
		"echo `rm`", "if true; then rm; fi", "env rm", "env -i PATH=\"$PATH\" STUBLOG=\"$STUBLOG\" rm", "echo a | xargs rm", "sh -c 'rm'", "sh -c \"sh -c 'rm'\"",
		"eval 'r''m'", "eval rm a", "eval \"r\"m", "cat <<E\n$(rm)\nE", "cat <<'E'\n$(rm)\nE", "find . -maxdepth 0 -exec rm {} \\;", "x='a[$(rm)]'; echo $((x))",
		"x='$(rm)'; echo \"${x@P}\"", "trap rm EXIT", "alias ls=rm; ls", "case a in a) rm;; esac", "! rm", "time rm", "coproc rm; wait", "ls() { rm; }; ls",
		"a=(x $(rm))", "ls >$(rm)", "ls 2>&1 | rm", "[[ -n $(rm) ]]", "((1)) && rm", "for i in $(rm); do ls; done", "echo \"a $(rm) b\"", "echo ${x:-$(rm)}",
		"printf -v 'a[$(rm)]' x", "[ -v 'a[$(rm)]' ]", "declare -n q='a[$(rm)]'; echo $q", "export A=$(rm)", "{ rm; }", "(rm)", "ls || rm", "command rm", "exec rm",
		"rm x\n)", "\\rm", "'rm'", "echo x; # rm\nrm", "echo a \\\n; rm", "{rm,a}", "set -- rm; \"$@\"", "sh <<E\nrm\nE", "echo rm | sh", "sh <<< rm", "IFS=x; a=rxm; $a",
		"shopt -s expand_aliases\nalias z=rm\nz", "echo $(echo $(rm))", "cat <<E\n`rm`\nE", "echo a | while read l; do rm; done", "function g { rm; }; g",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		g := &grammar{choose: random.IntN}
		lines = append(lines, g.list())
	}
	eachAtOnce(lines, func(line string) { b.compare(t, line) })
}

// FuzzDifferential lets bytes choose a line of the grammar.
func FuzzDifferential(f *testing.F) {
	b := newBench(f)
	f.Add([]byte("0123456789"))
	f.Add([]byte{3, 0, 17, 5, 200, 41, 7, 9, 13})
	f.Fuzz(func(t *testing.T, data []byte) {
		b.compare(t, grammarOf(data).list())
	})
}
