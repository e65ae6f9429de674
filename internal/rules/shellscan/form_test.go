package shellscan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/permtest"
)

// TestCanonical shows forms. One that is left out is the line itself.
func TestCanonical(t *testing.T) {
	for _, tt := range []struct {
		line, form string
		bash       bool
	}{
		{line: "go test ./... -run 'A|B' -count=1"},
		{line: `for f in *.go; do echo "$f" | wc -l; done`},
		{line: "cd a && VAR=x make -j4 2>&1 | tail -n 5"},
		{line: "cat > a.txt <<'EOF'\nit's $x\nEOF\necho done"},
		{line: "cat <<EOF\n$HOME \\$x \"y\"\nEOF"},
		{line: `find . -name '*.go' -exec grep -l foo {} \;`},
		{line: "ls ~ ~/a *.go {a,b}.txt a=~/x HEAD~1"},
		{line: `f() { echo "${1:-a}"; }; f`},
		{line: "[[ -f x && $y =~ ^[0-9]+$ ]]", bash: true},
		{line: "diff <(sort a) <(sort b)", bash: true},
		{line: `a=(1 2); echo "${a[@]}" ${#a[@]} "${x//\//_}"`, bash: true},
		{line: "ls # all of them", form: "ls"},
		{line: "echo a \\\n  b", form: "echo a b"},
		{line: "echo a;\n\necho b", form: "echo a\n\necho b"},
		{line: `\ls $'a\tb' $'it\'s'`, form: "'ls' 'a\tb' 'it'\\''s'"},
		{line: `echo $'\e[1m'`, form: `echo $'\x1b[1m'`, bash: true},
		{line: "echo `date`", form: "echo $(date)"},
		{line: "echo $[1+2] $((1+2))", form: "echo $((1 + 2)) $((1 + 2))"},
		{line: "git commit -m \"$(cat <<'EOF'\nit's \"a\" $x\nEOF\n)\"", form: `git commit -m "it's \"a\" \$x"`},
		{line: "x=$(cat <<E\na $y\nE\n)", form: "x=$(cat <<<\"a $y\")", bash: true},
		{line: "cat <<-'E'\n\ta\n\tE", form: "cat <<'E'\na\nE"},
		{line: "case $x in a|b) ls;; esac", form: "case $x in (a | b) ls ;; esac"},
		{line: "eval 'ls #a'", form: "eval 'ls'"},
		{line: "eval -- l s", form: "eval -- 'l s'"},
		{line: `env A=b timeout 5 bash -c "cd a # b"`, form: "env A=b timeout 5 bash -c 'cd a'"},
		{line: `sh -c 'bash -c "ls # a"'`, form: `sh -c 'bash -c '\''ls'\'`},
		{line: "trap 'rm -f a # b' EXIT", form: "trap 'rm -f a' EXIT"},
		{line: "café é", form: "'café' 'é'"},
	} {
		want := tt.form
		if want == "" {
			want = tt.line
		}
		got, err := Canonical(tt.line)
		if err != nil || got.Line != want || got.Bash != tt.bash {
			t.Errorf("%q: %+v %v, want %q", tt.line, got, err, want)
		}
	}
}

// Lines that are taken for one thing by a parser and for another by a shell, or by one
// shell and another, have no form.
func TestNoForm(t *testing.T) {
	for _, line := range []string{
		"ls # \\\nrm x", "a=()# b", "(ls)#x", "cat <<'E'#x\nE", "cat <<\"E\\\"\"\nE\"\n", "cat <<E''\nE", "cat <<E\nE\\\n\nE",
		`echo "${x-'a'}"`, `echo "${x-"a"}"`, `echo $"a"`, "[[ a == @(b) ]]", "a=(@(b))", "a=([0]=b)", "a[0]=b", "echo +(a)", "echo $\\\n(ls)",
		"time -- ls", "time -p -- ls", "coproc ls", "select x in a; do ls; done", "for x in a; { ls; }", "echo ${!x}", "echo ${x[ @]}", "echo \"${x[@ ]#a}\"", "echo ${#x[ * ]}", "echo ${x@P}", "echo $((a[0]))",
		"ls {a}>b", "ls >&a", "ls > {a,b}", "f() ls", "echo $'\\u0041'", "let x=1", "-a", "in", "! ", "$((ls); (ls))", "export a=(b)c",
		"sh -c '[[ a > b ]]'", "sh -c 'ls #a\\\nrm'", "eval -x ls", "ssh h 'ls <(a)'", "echo 2> 2", "echo \"$${x-\"'$(rm)'\"}\"", "echo \"$$(ls\"", "echo {a,$}$(((2)))",
		"cat <<E\n$\\\n{x-?}\nE", "cat <<E\n$x\\\ny\nE", "cat <<E\n$\\\n(ls)\nE", "cat <<E\n${x-a\\\nb}\nE", "cat <<E\n$(echo a\\\nb)\nE", "cat <<E\n\\\n$\\\n\\\n{x-?}\nE",
	} {
		if form, err := Canonical(line); err == nil {
			t.Errorf("%q has the form %+v", line, form)
		}
	}
}

// TestFormDoesTheSame runs lines and their forms in folders of their own, and compares
// what they print, the code that they exit with, and what they leave behind.
func TestFormDoesTheSame(t *testing.T) {
	permtest.NeedBash(t)
	for _, line := range []string{
		"cat > a.txt <<'EOF'\nit's $x \\\n`b`\nEOF\ncat a.txt; wc -l < a.txt",
		"cat <<E\n\\$x\\\\\na \\\n $HOME b\\\nc\nE", "cat <<'E'\n$\\\n{x-?}\nE",
		"cat > a.sh <<EOF\necho \\$HOME $HOME \\\n  b\nEOF\ncat a.sh",
		"cat <<-E\n\ta\n\t\tb $((1+1))\n\tE\necho c",
		"x=$(cat <<E\na $HOME\n\nE\n); echo \"[$x]\"",
		"printf '%s|' \"$(cat <<'EOF'\nfix: it's (a) \"b\"\n\n- $x `y`\nEOF\n)\"",
		"printf '<%s>' *.txt ~ ~/a {a,b}{1,2} 'a b' \"a  b\" a\\ b $'c\\td' \"\\$x\" '' \"\"",
		"for f in *.txt; do echo \"$f\"; done | sort -r; echo ${f%.txt} \"${f#x}\" ${#f} ${f/t/T} ${f^^}",
		"set -e; false; echo no", "set -o pipefail; false | true; echo $?", "(exit 3)", "! true", "cd .. && basename \"$OLDPWD\" | wc -l",
		"if [ -f x.txt ]; then\n  echo yes # a\nelse\n  echo no\nfi\nno_such_command; echo $?", "[[ -f x.txt && 12 =~ ^[0-9]+$ ]] && echo 1",
		"i=0; while [ $i -lt 3 ]; do i=$((i+1)); [ $i = 2 ] && continue; echo $i; done", "case abc in a*) echo 1;& x|y) echo 2;; *) echo 3;; esac",
		"f() { local a=$1; echo \"$a-$#\"; return 4; }; f 'x y' z; echo $?", "a=(1 '2 3' *.txt); echo \"${#a[@]}\" \"${a[@]}\" ${a[1]}",
		"VAR=x sh -c 'echo \"$VAR\" # c'; echo \"[$VAR]\"", "echo a 2>&1 >/dev/null | cat; echo b >out 2>&1; cat out", "diff <(echo a) <(echo b)",
		"echo $((1+2*3)) $((0x10)) $((i++ ? 1 : 2)) $[4/2]", "trap 'echo bye # c' EXIT; echo hi", "eval 'echo a # b'; eval -- echo c",
		"shopt -q extglob; echo $?", "echo \"${x:-a b}\" ${x:-a b} \"${x:+y}\" ${1-none}", "IFS=,; x=a,b; printf '<%s>' $x", "false || { echo a; } && (echo b)",
		"echo \"line $LINENO\"\n# c\n\necho $LINENO\nif true\nthen\n  echo $LINENO\nfi\necho $LINENO", "type ls >/dev/null && \\\n  echo ok",
	} {
		form, err := Canonical(line)
		if err != nil {
			// Reading what is not known does not matter here; having a form does.
			sc, bad := readScript(line)
			if bad != nil || sc.odd != "" {
				t.Errorf("%q: %v %v %s", line, err, bad, sc.odd)
				continue
			}
			form = sc.Form
		}
		if raw, as := runOnce(t, line), runOnce(t, form.Line); raw != as {
			t.Errorf("%q does\n%s\nbut its form %q\n%s", line, raw, form.Line, as)
		}
	}
}

func runOnce(t *testing.T, line string) string {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.txt", "y.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	out, err := cmd.CombinedOutput()
	var left strings.Builder
	names, _ := os.ReadDir(dir)
	for _, e := range names {
		data, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		left.WriteString(e.Name() + ": " + string(data))
	}
	text := strings.ReplaceAll(string(out)+"\n"+left.String(), top, "TOP")
	if err != nil {
		text += err.Error()
	}
	return text
}
