package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/sandbox"
)

// An exclusion is for a line that is one simple command which runs nothing else.
func TestExcluded(t *testing.T) {
	dir := paths.RealPath(t.TempDir())
	bin := paths.RealPath(t.TempDir())
	for _, name := range []string{bin + "/docker", bin + "/npm", dir + "/docker", dir + "/planted"} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	box, err := sandbox.New(sandbox.Settings{ExcludedCommands: []string{"docker", "git push *", "git", "planted", "npm run lint", "env", "tar", "make"}}, sandbox.Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	for _, line := range []string{
		"docker ps", "  docker ps ", "docker run --rm -v /a:/b image 'a b; c'", "docker build -t x:1 .", "git push origin main", "git status --short",
		"npm run lint", "git   push  origin", "docker build 'x'", `docker exec web "ls" 'a'`, "docker exec web ls", `docker inspect "a b"`, "tar czf a.tgz src", "docker run -e A=1 image", "make -j4 all",
	} {
		if !box.Outside(line, dir) {
			t.Errorf("runs confined: %s", line)
		}
	}
	for _, line := range []string{
		"", " ", "ls", "docker ps; touch x", "touch x; docker ps", "touch x && docker ps", "docker ps || touch x", "docker ps | sh", "ls | docker load", "docker ps & touch x", "docker ps &",
		"! docker ps", "(docker ps)", "{ docker ps; }", "docker ps\ntouch x", "docker ps # x", "docker ps \\\n x", "# \\\ndocker ps", "if docker ps; then touch x; fi", "docker() { touch x; }", "time docker ps", "coproc docker ps",
		"docker $(touch x)", "docker `touch x`", "docker <(touch x)", "docker $x", "docker ${x:=y}", "docker \"$(touch x)\"", "docker $'a'", "docker {a,b}", "docker ~", "docker *", "docker a?", "docker [a]", "docker \\a", "docker $((x))",
		"docker ps > x", "docker ps >> ../x", "docker load < x", "docker ps 2>&1", "docker load <<E\nE", "docker load <<< x", "docker ps >&x", "docker ps &> x",
		"A=1 docker ps", "PATH=. docker ps", "x=1; docker ps", "DOCKER_HOST=x docker ps", "docker=1", "docker+=1",
		"env docker ps", "env touch x", "command docker ps", "exec docker ps", "nohup docker ps", "sudo docker ps", "xargs docker", "sh -c 'docker ps'", "eval docker ps", "builtin docker", "timeout 1 docker ps", "find . -exec docker ps ;",
		"./docker ps", dir + "/docker ps", bin + "/docker ps", "../docker ps", "planted", "docker\x00 ps", "docker\u00a0ps", "docker ps\r", "docker\tps", "dock\"er\" ps", "'docker' ps", "Docker ps",
		"git -c core.fsmonitor=./x status", "git -ccore.fsmonitor=./x status", "git --exec-path=. status", "git push --receive-pack=./x origin", "git push --receive=./x", "git push ext::./x", "git fetch --upload-pack ./x o", "git fetch --upl ./x o", "git config core.pager ./x",
		"git rebase --exec ./x HEAD", "git rebase -x ./x HEAD", "git submodule foreach ./x", "git difftool --extcmd=./x", "git grep -O./x y", "git clone a b", "git init --template=.", "git bisect run ./x", "git --config-env=a=b status",
		"tar cf a --checkpoint-action=exec=./x b", "tar xf a --to-command=./x", "tar xf a -I ./x", "tar -Ix -xf a", "tar cf a --use-comp=./x b", "make -f x", "make -fx", "make --eval=x", "npm run lint2", "npm run lint x", "npm run",
	} {
		if box.Outside(line, dir) {
			t.Errorf("runs outside of the sandbox: %q", line)
		}
	}
	if box.Outside("docker ps", filepath.Join(dir, "x")) != true {
		t.Error("another folder changes what is excluded")
	}
	spelled, err := sandbox.New(sandbox.Settings{ExcludedCommands: []string{"git submodule foreach *", bin + "/docker *"}}, sandbox.Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer spelled.Close()
	if !spelled.Outside("git submodule foreach x", dir) || !spelled.Outside(bin+"/docker ps", dir) || spelled.Outside("./docker ps", dir) || spelled.Outside("git submodule foreach --exec=x", dir) {
		t.Error("what an exclusion spells out is not excluded, or more than that")
	}
}
