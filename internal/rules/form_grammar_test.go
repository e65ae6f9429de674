package rules

import (
	"math/rand/v2"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// A formGrammar makes lines that a parser and a shell may read in different ways. Beside
// what it is made of here it cuts, joins and changes the seeds.
type formGrammar struct {
	*rand.Rand
	seeds []string
	depth int
}

func (g *formGrammar) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *formGrammar) line() string {
	g.depth = 0
	line := ""
	switch g.IntN(10) {
	case 0, 1:
		line = g.seed()
	case 2:
		line = g.seed() + g.pick("\n", "; ", " && ", " | ", " ", "") + g.seed()
	default:
		line = g.list()
	}
	changed := line
	for range g.IntN(6) - 2 {
		changed = g.change(changed)
	}
	for _, word := range []string{"while", "until", "for ((", "f\n", "f()"} { // which may go on for ever
		if strings.Contains(changed, word) {
			return line
		}
	}
	return changed
}

func (g *formGrammar) seed() string { return g.seeds[g.IntN(len(g.seeds))] }

var oddBits = []string{
	"\\", "\n", "\\\n", "'", `"`, "`", "$", "$(", ")", "(", "{", "}", "${", "$((", "))", "#", " #", "*", "?", "[", "]", "~", "!", "&", ";", "|", "<", ">", "<<E\n", "\nE\n", "<<-'E'\n",
	"=", "+", "-", "@", "%", "^", " ", "\t", "${x-", "'$(touch w)'", "$(touch w)", "`touch w`", ";touch w", "\ntouch w\n", "$'", `$"`, "@(", "!(", "[[ ", " ]]", "=(", ":-", "x", "E", "0", "--", "\\'", `\"`, ",", ":", "/", "é", "&&", "do", "done", "in", "fi", "esac", ";;",
}

// change puts something in, takes something out, or doubles or moves something.
func (g *formGrammar) change(line string) string {
	if line == "" {
		return g.pick(oddBits...)
	}
	i := g.IntN(len(line))
	j := min(len(line), i+1+g.IntN(4))
	switch g.IntN(5) {
	case 0:
		return line[:i] + line[j:]
	case 1:
		return line[:j] + line[i:]
	case 2:
		k := g.IntN(len(line))
		return line[:k] + line[i:j] + line[k:]
	}
	return line[:i] + g.pick(oddBits...) + line[i:]
}

func (g *formGrammar) deep() bool {
	g.depth++
	return g.depth > 24
}

func (g *formGrammar) list() string {
	line := g.statement()
	for range g.IntN(3) {
		line += g.pick("; ", "\n", " && ", " || ", " | ", " &\n", " # c\n", ";", " |& ", " \\\n; ") + g.statement()
	}
	return line
}

func (g *formGrammar) statement() string {
	if g.deep() {
		return "echo e"
	}
	switch g.IntN(30) {
	case 0:
		return "( " + g.list() + " )"
	case 1:
		return "{ " + g.list() + "\n}"
	case 2:
		return "if " + g.list() + "\nthen " + g.list() + g.pick("", "\nelse "+g.list(), "\nelif "+g.list()+"; then "+g.list()) + "\nfi"
	case 3:
		return "for i in " + g.words() + "; do " + g.list() + "\ndone"
	case 4:
		return "case " + g.word() + " in " + g.pick("(", "") + g.word() + "|" + g.word() + ") " + g.list() + "\n" + g.pick(";;", ";&", ";;&") + " *) " + g.list() + "\nesac"
	case 5:
		return "f() " + g.pick("{ "+g.list()+"\n}", "( "+g.list()+"\n)") + "\nf"
	case 6:
		return "[[ " + g.test() + " ]]"
	case 7:
		return g.pick("! ", "time ", "time -p ", "time -- ", "! ! ", "coproc ") + g.statement()
	case 8:
		return g.pick("x=", "x+=", "y=", "export z=", "x=1 y=") + g.pick(g.word(), "", "("+g.words()+")", "("+g.words()+")#", "([1]="+g.word()+")")
	case 9:
		return g.pick("x=1 ", "x="+g.word()+" ", "A=b C= ") + g.simple()
	case 10, 11, 12:
		return g.document()
	case 13:
		return g.pick("eval ", "eval -- ", "bash -c ", "sh -c ") + g.pick(text.QuoteShell(g.list()), `"`+inQuotes.Replace(g.list())+`"`)
	case 14:
		return g.pick("((", "(( ") + g.number() + g.pick("))", " ))")
	case 15:
		i := string(rune('a' + g.depth)) // another one than in the body, which would begin it again
		return "for ((" + i + "=0; " + i + "<" + g.number() + " && " + i + "<2; " + i + "++)); do " + g.list() + "\ndone"
	case 16:
		return g.pick("while false", "until true", "while ! true") + "; do " + g.list() + "\ndone"
	}
	return g.simple()
}

func (g *formGrammar) simple() string {
	return g.pick("echo", "echo", "echo", "printf '%s,'", "cat", "ls", ":", "git log", "touch", "'touch'", "tou\\ch", "$x", "\\echo", "ec\"h\"o") + " " + g.words() +
		g.pick("", "", "", "", " >/dev/null", " 2>&1", " </dev/null", " 2> /dev/null", " &>/dev/null", " <<<"+g.word(), " >&2", " # "+g.word(), "#"+g.word())
}

func (g *formGrammar) words() string {
	var b strings.Builder
	for i := range g.IntN(4) {
		if i > 0 {
			b.WriteString(g.pick(" ", " ", " ", "  ", "\t", " \\\n "))
		}
		b.WriteString(g.word())
	}
	return b.String()
}

func (g *formGrammar) word() string {
	var b strings.Builder
	for range 1 + g.IntN(3) {
		b.WriteString(g.part())
	}
	return b.String()
}

func (g *formGrammar) part() string {
	if g.deep() {
		return "p"
	}
	switch g.IntN(26) {
	case 0:
		return "$(" + g.list() + ")"
	case 1:
		return "`" + strings.NewReplacer("`", "").Replace(g.simple()) + "`"
	case 2, 3, 4:
		return `"` + g.inQuotes() + `"`
	case 5, 6:
		return g.expansion()
	case 7:
		return "$((" + g.number() + "))"
	case 8:
		return "$'" + g.pick("a", `\n`, `\'`, `\x41`, `\\`, `\e`, `$(touch w)`, `\"`) + "'"
	case 9:
		return "'" + g.pick("a b", "$(touch w)", `"`, "#", "\n", "a\\\n", "{x,y}") + "'"
	case 10:
		return g.pick(`\$`, `\'`, `\"`, `\\`, `\ `, "\\\n", `\*`, `\;`, `\#`, `\~`, `\{`, `\a`)
	case 11:
		return g.pick("*", "?", "[ab]", "[!a]*", "*.txt", "**")
	case 12:
		return g.pick("~", "~/a", "=~", ":~", "a~", "~x")
	case 13:
		return g.pick("{a,b}", "{1..3}", "{a,"+g.part()+"}", "{", "}", "{}", "{a}", "{a,b")
	case 14:
		return g.pick("@(", "!(", "+(", "?(", "*(") + g.word() + ")"
	case 15:
		return g.pick("<(", ">(") + g.list() + ")"
	case 16:
		return `$"` + g.inQuotes() + `"`
	}
	return g.pick("a", "b", "x.txt", "-n", "--", "a=b", "x", "1", "E", "é", "#", "a#b", "if", "done", "^", "!", "%", ",", "a:b", "[", "]", "=")
}

func (g *formGrammar) inQuotes() string {
	var b strings.Builder
	for range 1 + g.IntN(3) {
		switch g.IntN(10) {
		case 0, 1, 2:
			b.WriteString(g.expansion())
		case 3:
			b.WriteString("$(" + g.list() + ")")
		case 4:
			b.WriteString("$((" + g.number() + "))")
		case 5:
			b.WriteString("`" + strings.NewReplacer("`", "", `"`, "").Replace(g.simple()) + "`")
		default:
			b.WriteString(g.pick("a", " ", "'", `\"`, `\$`, "$", `\\`, "\n", "\\\n", "#", "*", "~", "{a,b}", `\a`, "\\`", "'$(touch w)'", "!", "}"))
		}
	}
	return b.String()
}

func (g *formGrammar) expansion() string {
	name := g.pick("x", "PWD", "y", "1", "@", "#", "?", "HOME", "*", "z")
	switch g.IntN(9) {
	case 0:
		return g.pick("$$", "$$", "$-", "$!", "$") + g.pick("", "{x-", "(", "'", "[")
	case 1:
		return "$" + name
	case 2:
		return "${" + name + "}"
	case 3:
		return "${#" + g.pick("x", "PWD", "@", "") + "}"
	case 4:
		return "${" + g.pick("x", "PWD") + g.pick("/", "//", "/#", "/%") + g.operand() + g.pick("", "/"+g.operand()) + "}"
	case 5:
		return "${" + g.pick("x", "PWD") + g.pick(":0:1", ": -1", ":1", "^^", ",", "@Q", "[0]", "[@]", ":"+g.number()) + "}"
	case 6:
		return "${" + name + g.pick("#", "##", "%", "%%") + g.operand() + "}"
	}
	return "${" + name + g.pick("-", ":-", "+", ":+", "?", ":?", "=", ":=") + g.operand() + "}"
}

func (g *formGrammar) operand() string {
	if g.deep() {
		return "o"
	}
	return g.pick("a", "", "*/", "a b", `\/`, "[a-z]", "'a'", `"a"`, "'$(touch w)'", `"$(touch w)"`, `\}`, "~", "?", "$'a'", g.part(), g.inQuotes(), g.expansion())
}

func (g *formGrammar) number() string {
	if g.deep() {
		return "1"
	}
	switch g.IntN(8) {
	case 0:
		return g.number() + g.pick("+", "-", "*", " - ", "==", " && ", "?1:", ",", "<<", "**") + g.number()
	case 1:
		return g.pick("-", "!", "~", "++", "- -", "+") + g.number()
	case 2:
		return "(" + g.number() + ")"
	case 3:
		return g.pick("$x", "x", "x=1", "x++", "a[0]", "a[$(touch w)]", "${x:-1}", "$(echo 1)", "$#")
	}
	return g.pick("1", "2", "10", "0x1f", "16#ff", "0")
}

func (g *formGrammar) test() string {
	if g.deep() {
		return "a"
	}
	switch g.IntN(10) {
	case 0:
		return g.test() + g.pick(" && ", " || ") + g.test()
	case 1:
		return g.pick("! ", "( ") + g.test() + g.pick("", " )")
	case 2:
		return g.pick("-n ", "-z ", "-f ", "-e ", "-d ", "-v ") + g.word()
	case 3:
		return g.word() + " =~ " + g.pick("^[a-z]+$", "a|b", "(a)", `a\.b`, "'a'", "[0-9]{2}", g.word())
	case 4:
		return g.pick("1", "$x", "a[$(touch w)]") + g.pick(" -eq ", " -lt ") + g.number()
	case 5:
		return g.word()
	}
	return g.word() + g.pick(" == ", " = ", " != ", " < ", " > ") + g.word()
}

func (g *formGrammar) document() string {
	end := g.pick("E", "E", "E", "'E'", `"E"`, `\E`, "EF", "'E\"'", `"E\\"`, "E''", "$E", "'E F'")
	op := g.pick("<<", "<<", "<<-", "<< ", "3<<")
	var b strings.Builder
	for range g.IntN(4) {
		b.WriteString(g.pick("", "", "\t") + g.pick("a", g.inQuotes(), g.word(), "E\\", "\\", "E", "$x", "'", `"`, "${x-'$(touch w)'}", "it's", "\\$(touch w)") + "\n")
	}
	plain := strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(end)
	return "cat " + op + end + g.pick("", "", "", " "+g.words(), " | cat", "; echo d", "#"+g.word(), " # c") + "\n" + b.String() + g.pick("", "", "\t") + plain + "\n" + g.pick("", g.statement())
}

// inQuotes escapes a text for double quotes.
var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`)
