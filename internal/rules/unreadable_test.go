package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
)

func TestUnreadable(t *testing.T) {
	p := Policy{Deny: []Rule{"Read(*.env)", "Read(/secret/**)", "Read(//top)", "Edit(/a)", "Bash(x)"}, Private: []string{"/own"}}
	u := p.DeniedReadPatterns([]Concealer{concealing{"/judged/"}}, "/w", "/v")
	for path, want := range map[string]bool{
		"/w/x.env": true, "/v/deep/x.env": true, "/here/x.env": true, "/else/x.env": false,
		"/w/secret/k": true, "/v/secret/k": true, "/here/secret/k": true, "/w/secret": false, "/w/pub/secret/k": false,
		"/top": true, "/top/a": true, "/topmost": false, "/own": true, "/own/a": true, "/own.lock": true, "/owner": false,
		"/judged/a": true, "/w/../judged/a": true, "/w/a": false,
	} {
		if got := u.Hides(path, "/here"); got != want {
			t.Errorf("%s is hidden: %v", path, got)
		}
		if got := u.Under("/").HidesPlain(filepath.Clean(path), "/here"); got != want {
			t.Errorf("%s is hidden in the root of the file system: %v", path, got)
		}
	}
	if u := (Policy{Deny: []Rule{"Read"}}).DeniedReadPatterns(nil, "/w"); !u.Hides("/any/file", "/w") {
		t.Error("a rule without a pattern hides nothing")
	}
	if u := (Policy{Deny: []Rule{"Edit(/a)"}}).DeniedReadPatterns(nil, "/w"); u != nil {
		t.Error("something is hidden where no rule is about reading")
	}
	if u := (Policy{Private: []string{"/own"}}).DeniedReadPatterns(nil, "/w"); u.Under("/w") != nil || u.Under("/") == nil || u.Under("/own/a") == nil {
		t.Error("private paths count in other folders, or not in their own")
	}
}

// A concealing concealer hides what begins with a path.
type concealing struct{ front string }

func (c concealing) Conceals(path string) bool {
	return len(path) >= len(c.front) && path[:len(c.front)] == c.front
}

func (c concealing) ConcealsIn(string) bool { return true }

// A link that leads to a hidden file is hidden like it, and so is a path through a
// link to its folder.
func TestUnreadableLinks(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "secret", "key"), "")
	for name, to := range map[string]string{"file": "secret/key", "folder": "secret", "ring": "ring"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	u := Policy{Deny: []Rule{"Read(/secret/**)"}}.DeniedReadPatterns(nil, dir)
	for _, name := range []string{"file", "folder/key", "ring", "folder/../secret/key"} {
		if !u.Hides(filepath.Join(dir, name), dir) {
			t.Errorf("%s is shown", name)
		}
	}
}

// A rule that starts from a folder holds for the copies of what it denies in the other
// worktrees of the repository, for files, searches and command lines.
func TestRulesHoldInWorktrees(t *testing.T) {
	top := paths.RealPath(t.TempDir())
	main, own, away := filepath.Join(top, "repo"), filepath.Join(top, "repo", ".openagent", "worktrees", "w1"), filepath.Join(top, "elsewhere")
	put(t, filepath.Join(main, "sub", "secret", "key"), "TOP")
	for _, args := range [][]string{{"init", "-q", main}, {"-C", main, "add", "-A"}, {"-C", main, "commit", "-qm", "x"},
		{"-C", main, "worktree", "add", "-q", own}, {"-C", main, "worktree", "add", "-q", away}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %q: %v: %s", args, err, out)
		}
	}
	for _, from := range []string{main, away, own} {
		root := filepath.Join(from, "sub")
		p := Policy{Deny: []Rule{"Read(/secret/**)"}, Mode: Bypass}
		u := p.DeniedReadPatterns(nil, root)
		for _, tree := range []string{main, own, away} {
			file := filepath.Join(tree, "sub", "secret", "key")
			q := Request{Tool: "Read", ReadOnly: true, Dir: root, Roots: []string{root}, Access: []Access{{Kind: ReadFile, Target: file}}}
			if d := p.Decide(q); d.Behavior != Denied {
				t.Errorf("from %s, Read %s: %+v", from, file, d)
			}
			q = Request{Tool: "Bash", Dir: root, Roots: []string{root}, Access: []Access{{Kind: RunCommand, Target: "cat " + file}}}
			if d := p.Decide(q); d.Behavior != Denied {
				t.Errorf("from %s, cat %s: %+v", from, file, d)
			}
			if !u.Hides(file, root) || !u.Under(tree).HidesPlain(file, root) {
				t.Errorf("from %s, a search shows %s", from, file)
			}
			if open := filepath.Join(tree, "sub", "pub", "key"); u.Hides(open, root) {
				t.Errorf("from %s, a search hides %s", from, open)
			}
		}
	}
	other := filepath.Join(top, "other", "secret", "key")
	put(t, other, "")
	if (Policy{Deny: []Rule{"Read(/secret/**)"}}).DeniedReadPatterns(nil, filepath.Join(main, "sub")).Hides(other, main) {
		t.Error("a rule holds in a folder that is no worktree")
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkUnreadable(b *testing.B) {
	dir := b.TempDir()
	u := Policy{Deny: []Rule{"Read(*.env)", "Read(/secret/**)"}, Private: []string{"/own"}}.DeniedReadPatterns(nil, dir).Under(dir)
	path := filepath.Join(dir, "internal", "package", "file.go")
	b.ReportAllocs()
	for b.Loop() {
		u.HidesPlain(path, dir)
	}
}

// A program may say by itself what its call must not show.
type byProgram struct{}

func (byProgram) Hides(path, dir string) bool { return path == filepath.Join(dir, "secret") }

func TestUnreadableOf(t *testing.T) {
	u := UnreadableOf(byProgram{}, "/w").Under("/w")
	if !u.HidesPlain("/w/secret", "/w") || u.HidesPlain("/w/other", "/w") {
		t.Error("the program's own answer does not count")
	}
	own := Policy{Deny: []Rule{"Read(*.env)"}}.DeniedReadPatterns(nil)
	if UnreadableOf(own, "/w") != own || UnreadableOf(nil, "/w") != nil {
		t.Error("an Unreadable is not itself, or nil hides something")
	}
}
