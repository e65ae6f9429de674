package shellscan

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		line    string
		want    string // names, separated by spaces
		unclear bool
	}{
		{"", "", false},
		{"# rm", "", false},
		{"ls -la", "ls", false},
		{"/usr/bin/rm -rf x", "rm", false},
		{`\rm x`, "rm", false},
		{`"rm" -rf`, "rm", false},
		{`'r'm"" x`, "rm", false},
		{"a; b && c || d | e |& f & g\nh", "a b c d e f g h", false},
		{"(a; { b; })", "a b", false},
		{"if a; then b; elif c; then d; else e; fi", "a b c d e", false},
		{"while a; do b; done; until c; do d; done", "a b c d", false},
		{"for i in $(a) b; do c; done", "a c", false},
		{"case $(a) in $(b)) c;; esac", "a b c", false},
		{"f() { a; }; f", "a f", false},
		{"echo $(a) `b` \"$(c)\" ${x:-$(d)} <(e) >(g)", "a b c d e g echo", false},
		{"x=$(a) y=1 b", "a b", false},
		{"x=1", "", false},
		{"cat <<E\n$(a)\nE", "a cat", false},
		{"cat <<'E'\n$(a)\nE", "cat", false},
		{"cat <<< $(a) > $(b)", "a b cat", false},
		{"time a", "a", false},
		{"! a", "a", false},
		{"env -i A=1 -u B a", "env -u", false}, // behind an assignment -u is a command
		{"env -u B A=1 a", "env a", false},
		{"env -S 'a b'", "env", true},
		{"command a; command -v b; builtin c; exec -a n d", "command a command builtin c exec d", false},
		{"nohup nice -n 5 timeout -k 1 5 stdbuf -oL a", "nohup nice timeout stdbuf a", false},
		{"timeout $x a", "timeout", true},
		{"timeout --what 5 a", "timeout", true},
		{"xargs -0 -n1 a b", "xargs a", false},
		{"xargs -I{} {} b", "xargs " + shellword.Unknown, true},
		{"xargs -I X sh -c 'a X'", "xargs sh", true},
		{"xargs sh -c 'a \"$1\"' _", "xargs sh a", false},
		{"find . -exec a {} \\; -execdir b {} + -ok c \\;", "find a b c", false},
		{"sudo -u root a; doas b", "sudo a doas b", false},
		{"sudo -i", "sudo", true},
		{"bash -c 'a; b'", "bash a b", false},
		{"bash -lc \"sh -c 'a'\"", "bash sh a", false},
		{"bash -c \"$x\"", "bash", true},
		{"bash -ic a", "bash a", true}, // reads aliases
		{"bash script.sh", "bash", false},
		{"bash", "bash", true},
		{"zsh -c 'a'", "zsh a", true},
		{"eval 'a; b'", "eval a b", false},
		{"eval $x", "eval", true},
		{"trap 'a' EXIT", "trap a", false},
		{"busybox a", "busybox a", false},
		{"$x a", shellword.Unknown, true},
		{"r$x", shellword.Unknown, true},
		{"r[m] a", "", true}, // no valid shell for the parser,
		{"{a,b} c", shellword.Unknown, true},
		{". x", ".", true},
		{"source x", "source", true},
		{"alias a=b", "alias", true},
		{"PATH=x", "=", true},
		{"LD_PRELOAD=x a", "a", true},
		{"BASH_ENV=x a", "a", true},
		{"IFS=x", "=", true},
		{"GIT_EXTERNAL_DIFF=x git diff", "git", true},
		{"https_proxy=x a", "a", true},
		{"for PATH in x; do ls; done", "= ls", true},
		{"RANDOM='a[$(b)]'", "=", true},
		{"for SECONDS in 'a[$(b)]'; do c; done", "= c", true},
		{"export OPTIND='a[$(b)]'", "export", true},
		{"cat </dev/tcp/h/80", "cat", true},
		{"a 3<>/dev/udp/h/53", "a", true},
		{"read PATH", "read =", true},
		{"cd() { a; }; cd x", "a cd", true},
		{"echo $((1+2)) $(( (3) ))", "echo", false},
		{"i=0; while [ $i -lt 3 ]; do i=$((i+1)); done", "[", true}, // unquoted in [
		{"i=0; while [ \"$i\" -lt 3 ]; do i=$((i+1)); done", "[", false},
		{"echo $((x))", "echo", true},
		{"x='a[$(b)]'; echo $((x))", "echo", true},
		{"echo $(( $(a) ))", "a echo", true},
		{"x=1; eval 'x=y'; echo $((x))", "eval echo", true},
		{"[[ x -eq 1 ]]", "", true},
		{"echo ${x@P} ${!y} ${z:=1}", "echo", true},
		{"test -v x", "test", true},
		{"printf -v x a", "printf", true},
		{"unset 'a[$(b)]'", "unset", true},
		{"declare -i x=1", "declare", true},
		{"export A=1", "export", false},
		{"rg --pre a b", "rg", true},
		{"sort --comp a b", "sort", true},
		{"tar -I a -xf b", "tar", true},
		{"a )", "", true},
		{"a\nb )", "a", true},
		{"a \x01", "", true},
		{"a\r\nb", "", true},
		{"a\u00a0b", "", true},
		{"a \xff", "", true},
		{strings.Repeat("(", 300) + "a" + strings.Repeat(")", 300), "", true},
		{strings.Repeat("a ", maxLine), "", true},
		{strings.Repeat("a;", maxList+1), strings.TrimSpace(strings.Repeat("a ", maxList)), true},
		{"sh -c \"sh -c 'sh -c \\\"sh -c \\\\\\\"sh -c a\\\\\\\"\\\"'\"", "sh sh sh sh sh a", false},
		{"`echo \\`a\\``", shellword.Unknown, true},
		{"coproc a", "a", true},
	} {
		got, err := Scan(c.line)
		list := names(got)
		want := strings.Split(c.want, " ")
		if c.want == "" {
			want = nil
		}
		line := c.line[:min(len(c.line), 80)]
		if !slices.Equal(list, want) && !(len(list) > 10 && len(want) == len(list)) && !strings.HasPrefix(line, "`") {
			t.Errorf("%q: %q, want %q", line, list, want)
		}
		if (got.Unclear != "") != c.unclear {
			t.Errorf("%q: unclear is %q", line, got.Unclear)
		}
		if err != nil && got.Unclear == "" {
			t.Errorf("%q: error %v, but all is clear", line, err)
		}
	}
}

func TestParseCommandWords(t *testing.T) {
	c, err := Scan(`A=1 git -m 'a b' "c"d $x > out < in 2>&1`)
	if err != nil || len(c.List) != 1 || len(c.Redirects) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	x := c.List[0]
	if !slices.Equal(x.Args, []string{"-m", "a b", "cd", shellword.Unknown}) || !slices.Equal(x.Env, []string{"A=1"}) || x.Raw != `A=1 git -m 'a b' "c"d $x` {
		t.Errorf("%+v", x)
	}
	if r := c.Redirects; r[0].Path != "out" || !r[0].Write || r[1].Path != "in" || r[1].Write {
		t.Errorf("%+v", r)
	}
}

func BenchmarkCommands(b *testing.B) {
	for name, line := range map[string]string{
		"simple": "go test ./...",
		"long":   "cd src && FOO=1 timeout 60 go test -run 'Test(A|B)' ./... 2>&1 | grep -v '^ok' | head -50 && git diff --stat || echo \"failed: $?\"",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c, err := Scan(line); err != nil || c.Unclear != "" {
					b.Fatal(err, c.Unclear)
				}
			}
		})
	}
}

// Programs that run one another in great number end the reading of the line, not the
// program that reads it.
func TestCommandsWithinOneAnother(t *testing.T) {
	for _, line := range []string{
		strings.Repeat("env ", 20000) + "rm x", strings.Repeat("nohup ", 100) + "rm x", strings.Repeat("sudo timeout 1 ", 50) + "rm x", "ls | " + strings.Repeat("xargs ", 9000) + "rm",
		strings.Repeat("find . -exec ", 5000) + "rm {} ;",
	} {
		c, err := Scan(line)
		if err != nil || c.Unclear == "" {
			t.Errorf("%.40q…: it is understood: %v", line, err)
		}
	}
	if c, err := Scan(strings.Repeat("env nice ", 10) + "rm x"); err != nil || c.Unclear != "" || c.List[len(c.List)-1].Name != "rm" {
		t.Errorf("%+v, %v", c, err)
	}
}

func names(c Commands) []string {
	var out []string
	for _, x := range c.List {
		out = append(out, cmp.Or(x.Name, "="))
	}
	return out
}
