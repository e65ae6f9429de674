package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/permtest"
)

// protectedTree is a folder whose files in tests are protected by a rule for Edit.
func protectedTree(t *testing.T) string {
	dir := permtest.Tree(t)
	if err := os.MkdirAll(filepath.Join(dir, "tests", "unit"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"tests/a.py", "tests/run.sh", "tests/unit/b.py"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("x\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"alias.py": "tests/a.py", "tests/out": "../src"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	return dir
}

// Commands that are told to read or run a protected file.
var opening = []string{
	"pytest tests/a.py", "python3 tests/a.py", "python3 -m pytest tests", "python3 -m pytest tests/unit/b.py::TestB -x", "bash tests/run.sh", "sh -x tests/run.sh", "env A=1 pytest tests/a.py", "timeout 5 bash tests/run.sh",
	"cd tests && pytest a.py", "cd tests; bash ./run.sh", "go test ./tests/...", "go vet ./tests/unit", "node tests/a.py", "perl -w tests/a.py", "ruby tests/a.py", "make -C tests", "jest tests", "npm test -- tests/a.py", "cargo test --manifest-path tests/Cargo.toml",
	"black --check tests", "eslint tests", "gofmt -l tests", "prettier --check tests/a.py", "ruff check tests", "mylinter tests/a.py", "./mylinter tests/a.py", "less tests/a.py", "cp tests/a.py copy.py", "cp -r tests /tmp/x", "dd if=tests/a.py of=copy.py", "tar czf x.tgz tests",
	"git add tests/a.py", "git commit -m x tests/a.py", "pytest tests/*.py", "pytest tests/{a,b}.py", "pytest alias.py", "awk 1 tests/a.py", "sort -o sorted tests/a.py", "sh -c 'pytest tests/a.py'", "pytest \"$PWD/tests/a.py\"",
}

// Commands that only read a protected file, or run it by its name.
var reading = []string{"cat tests/a.py", "head -3 tests/*.py", "grep -r x tests", "rg x tests", "rg x .", "git diff tests/a.py", "git log tests", "wc -l < tests/a.py", "ls tests", "diff tests/a.py a.txt", "sed -n 1,5p tests/a.py", "find tests -name '*.py'", "stat alias.py"}

// Commands that are known to change a protected file.
var changing = []string{
	"echo x > tests/a.py", "echo x >> tests/a.py", "echo x >| tests/a.py", "cat a.txt &> tests/new", ": > alias.py", "tee tests/a.py", "tee -a tests/a.py", "sed -i s/a/b/ tests/a.py", "sed --in-place s/a/b/ tests/a.py", "sed -n 'w tests/a.py' a.txt", "cp a.txt tests/a.py", "cp a.txt tests", "cp -t tests a.txt", "cp --target-directory=tests a.txt", "cp -rt tests src",
	"cp -r src tests/ -v", "mv a.txt tests/a.py", "mv tests/a.py x", "dd of=tests/a.py", "dd if=a.txt of=tests/a.py", "rm tests/a.py", "rm -rf tests", "touch tests/new", "mkdir tests/new", "ln -s ../a.txt tests/new", "ln tests/a.py x", "ln -sf tests/a.py x", "truncate -s0 tests/a.py", "chmod +x tests/run.sh", "install a.txt tests/a.py", "rsync -a src/ tests/", "rsync a.txt tests/a.py",
	"git checkout tests/a.py", "git checkout -- tests/a.py", "git checkout HEAD~1 tests", "git restore tests/a.py", "git rm tests/a.py", "git mv tests/a.py x", "git -C . checkout tests/a.py", "git stash push tests/a.py", "git clean -fd tests", "tar -xf a.tar -C tests", "tar xf a.tar -C tests", "tar -C tests -xf a.tar", "tar --directory=tests -x", "unzip a.zip -d tests", "patch tests/a.py a.txt", "split a.txt tests/x", "gzip tests/a.py", "shred tests/a.py", "perl -i -pe s/a/b/ tests/a.py", "perl -pi -e s/a/b/ tests/a.py",
	"ruby -i -pe x tests/a.py", "gawk -i inplace 1 tests/a.py", "ed tests/a.py", "vim tests/a.py", "sort -o tests/a.py a.txt", "sort a.txt --output=tests/a.py", "curl -o tests/a.py https://a.org", "wget -O tests/a.py https://a.org", "go test -coverprofile tests/c.out", "go build -o tests/bin", "git diff --output=tests/a.py", "gofmt -w tests", "prettier --write tests/a.py", "eslint --fix tests", "ruff --fix tests", "cd tests && echo x > a.py",
	"cd tests && rm a.py", "sh -c 'echo x > tests/a.py'", "env cp a.txt tests/a.py", "timeout 5 tee tests/a.py", "xargs rm tests/a.py", "cp a.txt tests/{a,b}.py", "tee te*/a.py", "uniq a.txt tests/a.py", "scp a.txt tests/a.py", "scp host:x tests/", "find tests -name x -fprint tests/list", "find tests -delete", "find tests -name x -exec rm {} +", "find tests -type f -ok /bin/mv {} /tmp ;", "touch alias.py",
}

// Commands that can run or open anything, so that no rule can judge them. They run if a sandbox holds
// everything that the rule is about.
var unclear = []string{
	"find tests -name '*.sh' -exec sh {} \\;", ". tests/run.sh", "source ./tests/run.sh", "sh < tests/run.sh", "cat tests/run.sh | sh", "ls tests/*.sh | xargs sh", "sh $PWD/tests/run.sh", "for f in tests/*.sh; do sh $f; done", "PATH=$PWD/tests:$PATH run.sh", "$(cat tests/run.sh)", "eval \"$(cat tests/run.sh)\"",
}

// A rule against editing a file does not keep it from being read or run. A command that may
// change the file as well runs only if a sandbox holds the file. A command that is known to
// change it is denied.
func TestProtectedIsReadable(t *testing.T) {
	dir := protectedTree(t)
	const rule = "Edit(/tests/**)"
	decide := func(mode Mode, line string, confined bool, held ...string) Decision {
		q := run(dir, line)
		q.Confined = confined
		for _, h := range held {
			q.WriteProtected = append(q.WriteProtected, filepath.Join(dir, h))
		}
		return Policy{Mode: mode, Allow: []Rule{"Bash"}, Deny: []Rule{rule}}.Decide(q)
	}
	for _, line := range reading {
		for _, mode := range []Mode{Default, Bypass, DontAsk} {
			if d := decide(mode, line, false); d.Behavior != Allowed {
				t.Errorf("%s, %s: %+v", mode, line, d)
			}
		}
	}
	for _, line := range opening {
		for mode, want := range map[Mode]Behavior{Default: Asked, AcceptEdits: Asked, Auto: Asked, Bypass: Denied, DontAsk: Denied} {
			for _, d := range []Decision{decide(mode, line, false), decide(mode, line, true), decide(mode, line, true, "src"), decide(mode, line, false, "tests")} {
				if d.Behavior != want || d.Rule != rule || !strings.Contains(d.Reason, "may still write there; no sandbox holds it") {
					t.Errorf("%s, not held, %s: %+v", mode, line, d)
				}
			}
			if d := decide(mode, line, true, "tests"); d.Behavior != Allowed {
				t.Errorf("%s, held, %s: %+v", mode, line, d)
			}
		}
	}
	for _, line := range unclear {
		for mode, want := range map[Mode]Behavior{Default: Asked, Auto: Asked, Bypass: Denied, DontAsk: Denied} {
			for _, d := range []Decision{decide(mode, line, false), decide(mode, line, true), decide(mode, line, true, "src"), decide(mode, line, true, "tests/unit"), decide(mode, line, false, "tests")} {
				if d.Behavior != want || d.Rule != rule {
					t.Errorf("%s, not held, %s: %+v", mode, line, d)
				}
			}
			if d := decide(mode, line, true, "tests"); d.Behavior != Allowed {
				t.Errorf("%s, held, %s: %+v", mode, line, d)
			}
			q := run(dir, line)
			q.Confined, q.WriteProtected = true, []string{filepath.Join(dir, "tests")}
			for _, other := range []Rule{"Read(/tests/**)", "Edit(*.lock)", "Edit(/src/**)", "Bash(rm *)"} {
				if d := (Policy{Mode: mode, Allow: []Rule{"Bash"}, Deny: []Rule{other}}).Decide(q); d.Behavior == Allowed {
					t.Errorf("%s, %s, %s: %+v", other, mode, line, d)
				}
			}
		}
	}
	for _, line := range changing {
		for _, mode := range []Mode{Default, AcceptEdits, Auto, Bypass, DontAsk, Plan} {
			for _, d := range []Decision{decide(mode, line, false), decide(mode, line, true, "tests")} {
				if d.Behavior != Denied || d.Rule != rule {
					t.Errorf("%s, %s: %+v", mode, line, d)
				}
			}
		}
	}
	// A link in the protected folder leads to a file that the sandbox does not hold.
	if d := decide(Default, "pytest tests/out/main.go", true, "tests"); d.Behavior != Asked {
		t.Errorf("behind a link: %+v", d)
	}
	// An ask rule works in the same way, and the parts of a line say it.
	p := Policy{Allow: []Rule{"Bash"}, Ask: []Rule{rule}}
	if d := p.Decide(run(dir, "pytest tests/a.py")); d.Behavior != Asked || d.Rule != rule {
		t.Errorf("ask rule: %+v", d)
	}
	p.Deny = p.Ask
	if parts := p.Parts(run(dir, "ls && pytest tests/a.py && rm tests/a.py")); len(parts) != 3 || parts[0].Behavior != Allowed || parts[1].Behavior != Asked || parts[2].Behavior != Denied {
		t.Errorf("%+v", parts)
	}
	// Read stays what it is.
	for _, line := range append(opening, reading...) {
		q := run(dir, line)
		q.Confined, q.WriteProtected = true, []string{dir}
		d := Policy{Mode: Bypass, Deny: []Rule{"Read(/tests/**)"}}.Decide(q)
		if d.Behavior != Denied && line != "rg x ." {
			t.Errorf("Read, %s: %+v", line, d)
		}
	}
	for _, kind := range []AccessKind{ReadFile, EditFile} {
		d := Policy{Mode: Bypass, Deny: []Rule{rule}}.Decide(Request{Tool: "X", Dir: dir, ReadOnly: kind == ReadFile, Access: []Access{{Kind: kind, Target: filepath.Join(dir, "tests", "a.py")}}})
		if want := map[AccessKind]Behavior{ReadFile: Allowed, EditFile: Denied}[kind]; d.Behavior != want {
			t.Errorf("%s: %+v", kind, d)
		}
	}
	if u := (Policy{Deny: []Rule{rule}}).DeniedReadPatterns(nil, dir); u.Hides(filepath.Join(dir, "tests", "a.py"), dir) {
		t.Error("a rule for Edit hides a file")
	}
}

func TestProtectedPath(t *testing.T) {
	for rule, want := range map[Rule]string{
		"Edit(/tests/**)": "tests", "Edit(/tests/*)": "tests", "Edit(/tests)": "tests", "Edit(a/b.go)": "a/b.go", "Edit(./a)": "a", "Edit(//etc/hosts)": "/etc/hosts", "Edit(~/.ssh/**)": "~/.ssh",
		"Edit(*.lock)": "", "Edit(tests)": "", "Edit(a*/b)": "", "Edit(../x)": "", "Edit(/**)": "", "Edit": "", "Edit(*)": "", "Read(/tests/**)": "", "Bash(x/y)": "", "Edit(": "", "Edit(/a/**/b)": "",
	} {
		if path, ok := rule.ProtectedPath(); path != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", rule, path, ok)
		}
	}
}
