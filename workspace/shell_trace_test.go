//go:build unix

package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLeavesTrace(t *testing.T) {
	for _, command := range []string{
		"true", "ls", " ls -la \n", "go test ./... -run 'A|B'", "git log --oneline | head -5", "make 2>&1 | tail -n 20; ls", "a && b || c", "ls;",
		`grep -rn "func $name" src/*.go > out.txt`, "echo $HOME ~/x a=b", "./run.sh <in", "pwd && false", "env A=1 sh -c 'cd /; x=1'",
	} {
		if leavesTrace(command) {
			t.Errorf("%q is not taken for plain", command)
		}
	}
	for _, command := range []string{
		"", "cd /", "ls; cd /", "ls && export A=1", "ls|read x", ". f", "source f", "A=1 ls", "a+=1", "a[0]=1", "ls & ", "ls && cd / &", "2>f cd /", ">f cd /", "<f read x",
		"c'd' /", `c"d" /`, `\cd /`, "$x /", "'cd' /", "echo ${x:=1}", "echo $((x=1))", "echo $[x=1]", "echo `cd /`", `echo "${x:=1}"`, `echo "$((x=1))"`, "echo $'a'", `echo "a\"; cd /"`,
		"ls\ncd /", "ls \\\n; cd /", "if ls; then x=1; fi", "for x in a; do ls; done", "time cd /", "! cd /", "{ cd /; }", "(ls)", "[ -v 'a[x=1]' ]", "test -v 'a[x=1]'", "[[ a =~ b ]]", "((x=1))",
		"f() { ls; }", "function f { ls; }", "ls {fd}>f", "ls # ' ", "cat <<E\nE\ncd /", "echo 'open", `echo "open`, "ls |& read x", "ls &>f", "printf -v x a", "type ls", "exec 3>f", "trap '' INT",
		"coproc x { ls; }", "ls <(cd /)", "ls\r\ncd /", "été=1", "set -f", "shopt -s nullglob", "umask 077", "unset HOME", "alias a=b", "let x=1", "eval x=1", "builtin cd /", "command cd /", "getopts a x",
	} {
		if !leavesTrace(command) {
			t.Errorf("%q is taken for plain", command)
		}
	}
}

// Every builtin of the bash that is here is known, so that none is taken for a program.
func TestLeavesTraceKnowsBuiltins(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	out, err := exec.Command("bash", "-c", "compgen -b -k").Output()
	if err != nil {
		t.Fatal(err)
	}
	traceless := map[string]bool{"true": true, "false": true, "echo": true, "pwd": true}
	for _, name := range strings.Fields(string(out)) {
		if !traceless[name] && !leavesTrace(name) {
			t.Errorf("%s is a builtin or a reserved word", name)
		}
	}
}

// A line that leaves no trace sees the state of earlier lines and saves nothing; a function
// or an alias of its name does not count as the program.
func TestLightLines(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	w := openWorkspace(t, true)
	state := func() os.FileInfo {
		t.Helper()
		info, err := os.Stat(filepath.Join(w.shell.sessions[""].folder, "state"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	say := func(command, want string, saves bool) {
		t.Helper()
		before := state()
		if o := run(t, w, command); o.Text != want || o.Code != 0 {
			t.Errorf("%s: %d %q, want %q", command, o.Code, o.Text, want)
		}
		if saved := !os.SameFile(before, state()); saved != saves {
			t.Errorf("%s: saved %v", command, saved)
		}
	}
	run(t, w, "A=1; export B=2; mkdir d; cd d; set -f")
	say("echo $A $B *", "1 2 *\n", false)
	say("ls -a", ".\n..\n", false)
	say("cd ..; A=3", "", true)
	say("echo $A; ls", "3\nd\n", false)
	say("ls() { cd /; }", "", true)
	say("ls", "", true)
	say("pwd", "/\n", true)
	say("unset -f ls", "", true)
	say("pwd", "/\n", false)
	say("alias ls='A=4'", "", true)
	say("ls", "", true)
	say("unalias ls; echo $A", "4\n", true)
	if o := run(t, w, "false"); o.Code != 1 {
		t.Errorf("false: %d", o.Code)
	}
}
