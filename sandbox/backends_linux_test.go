package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What Landlock does not hold is said by [landlock.Lacks]. Around what is hidden in
// a writable folder nothing can be made, so most attempts are made without.
func TestLandlockEscapes(t *testing.T) {
	needLandlock(t)
	helper := tools(t)
	keep := func(a attempt) bool {
		// Without privileges the bounding set stays, of which nothing can be had.
		return !(a.user && os.Getuid() == 0 || a.name == "capabilities" && os.Getuid() != 0 || slices.Contains([]string{
			"mode", "owner", "times", "attribute", "command lines of others", "daemon", "daemon of a daemon",
			"git hook", "git configuration", "git configuration, renamed onto", "git repository elsewhere", "git folder, renamed", "git folder, removed",
			"settings that are not there", "settings that are moved there", "settings that are linked there", "a link to settings", "settings behind a link",
		}, a.name))
	}
	escapes(t, keep, func(t *testing.T, a attempt) {
		w := makeWorld(t, helper)
		if !strings.Contains(a.name, "hidden below") {
			w.inside = nil
		}
		if touched, output := w.try(t, a, helper, landlock{}); touched != "" {
			t.Errorf("ESCAPE: %s\n%s", touched, output)
		} else if testing.Verbose() {
			t.Logf("refused: %s", strings.TrimSpace(output))
		}
	})
}

// Those of the backends beside the native one as a user without privileges.
func TestOtherEscapesUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests run unprivileged anyway")
	}
	runAs(t, "TestBubblewrapEscapes|TestLandlock", filepath.Dir(tools(t)))
}

func needLandlock(t *testing.T) {
	t.Helper()
	if err := tryLandlock(confinement{}); err != nil {
		t.Skipf("Landlock does not work here: %v", err)
	}
}

// What bubblewrap does not hold is said by [bubblewrap.Lacks]. Its first process may
// be looked into: it has nothing that the others do not have.
func TestBubblewrapEscapes(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bubblewrap is not installed")
	}
	if err := tryBubblewrap(confinement{}); err != nil {
		t.Skipf("bubblewrap does not work here: %v", err)
	}
	helper := tools(t)
	keep := func(a attempt) bool {
		return !(a.user && os.Getuid() == 0 || slices.Contains([]string{
			"descriptors", "a link to settings", "descriptors of the first", "environment of the first", "memory of the first",
			"fifo that is there", "standard input, opened once more", "standard input, truncated",
		}, a.name))
	}
	escapes(t, keep, func(t *testing.T, a attempt) {
		w := makeWorld(t, helper)
		if touched, output := w.try(t, a, helper, bubblewrap{}); touched != "" {
			t.Errorf("ESCAPE: %s\n%s", touched, output)
		}
	})
	if out, code, _, _ := run(t, bubblewrap{}, confinement{}, "echo hello; exit 3"); out != "hello\n" || code != 3 {
		t.Errorf("%q, %d", out, code)
	}
}

// Landlock allows only: what is hidden is held by what is beside it, and nothing is
// made around it.
func TestLandlockPaths(t *testing.T) {
	needLandlock(t)
	dir := realDir(t)
	for _, name := range []string{"w/a/f", "w/secret/f", "w/secret/ro/f", "w/secret/rw/f", "plain/f", "read/f", "other/f"} {
		must(t, os.MkdirAll(filepath.Dir(dir+"/"+name), 0o755))
		must(t, os.WriteFile(dir+"/"+name, []byte("text\n"), 0o644))
	}
	p := confinement{
		Write: []string{dir + "/w", dir + "/w/secret/rw", dir + "/plain"}, ReadOnly: []string{dir + "/w/secret/ro", dir + "/plain/kept"},
		Hidden: []string{dir + "/w/secret", dir + "/w/absent", dir + "/absent"},
	}
	const test = `for f in w w/a w/secret w/secret/ro w/secret/rw plain read other; do
		r=-; w=-; cat $f/f >/dev/null 2>&1 && r=r; ls $f >/dev/null 2>&1 && r=r; : 2>/dev/null >>$f/x && w=w; echo $f $r$w; done
		mkdir w/absent w/new 2>/dev/null && echo made; mv w/secret plain 2>/dev/null && echo moved; echo $((1+1)) >/dev/null && echo null; true`
	const both = "w --\nw/a rw\nw/secret --\nw/secret/ro r-\nw/secret/rw rw\nplain rw\n"
	if out, _, _, _ := run(t, landlock{}, p, "cd "+dir+"; "+test); out != both+"read r-\nother r-\nnull\n" {
		t.Errorf("all is read but what is hidden:\n%s", out)
	}
	p.Read = []string{dir + "/read"}
	if out, _, _, _ := run(t, landlock{}, p, "cd "+dir+"; "+test); out != both+"read r-\nother --\nnull\n" {
		t.Errorf("only what is listed is read:\n%s", out)
	}
	must(t, os.Symlink(dir+"/other", dir+"/link"))
	if out, code, _, _ := run(t, landlock{}, confinement{Write: []string{dir + "/link"}}, "echo ran"); code != exitFailed || !strings.Contains(out, "symlink") {
		t.Errorf("symlink: %d %q", code, out)
	}
	cmd := exec.Command("/bin/sh", "-c", "kill -9 $$")
	release, err := landlock{}.Confine(cmd, confinement{})
	must(t, err)
	_ = cmd.Run()
	if release(); cmd.ProcessState.String() != "signal: killed" {
		t.Errorf("%v", cmd.ProcessState)
	}
}

func TestLandlockAsks(t *testing.T) {
	rules, err := Settings{Enabled: true, AutoAllowBash: true}.At(Place{Dir: realDir(t)})
	must(t, err)
	for _, c := range []struct {
		backend backendKind
		want    bool
	}{{nil, false}, {native{}, true}, {bubblewrap{}, true}, {landlock{}, false}} {
		if got := (&Sandbox{rules: rules, backend: c.backend}).AutoAllow(); got != c.want {
			t.Errorf("%v: %v", c.backend, got)
		}
	}
}

// It is said where not all was found that is never written.
func TestUnsearchedIsSaid(t *testing.T) {
	rules, err := Settings{Enabled: true}.At(Place{Dir: realDir(t)})
	must(t, err)
	st := (&Sandbox{rules: rules, backend: native{}, unsearched: []string{"/much"}}).State()
	if len(st.Lacks) != 1 || !strings.HasPrefix(st.Lacks[0], "/much holds too many files") {
		t.Errorf("%q", st.Lacks)
	}
}

// The first that works is taken, and it is said why those before it are not.
func TestSearch(t *testing.T) {
	no := errors.New("no")
	works := func(confinement) error { return nil }
	fails := func(confinement) error { return no }
	f := search([]candidate{{native{}, fails}, {bubblewrap{}, works}}, confinement{})
	if f.backend != backendKind(bubblewrap{}) || len(f.attempts) != 1 || f.attempts[0] != (refusal{"native", no}) {
		t.Errorf("%v", f)
	}
	if f := search([]candidate{{native{}, fails}}, confinement{}); f.backend != nil {
		t.Errorf("%v", f)
	}
}

func TestSeatbeltProfile(t *testing.T) {
	got := seatbeltProfile(confinement{
		Write: []string{"/w", "/w/h/rw"}, ReadOnly: []string{"/w/.git/hooks"}, Hidden: []string{"/w/h", `/odd"name`}, LocalBinding: true,
	})
	const want = `(version 1)
(allow default)
(deny signal)
(allow signal (target same-sandbox))
(deny process-info* (target others))
(deny file-write*)
(allow file-write* (literal "/dev/null"))
(allow file-write* (literal "/dev/zero"))
(allow file-write* (literal "/dev/tty"))
(allow file-write* (literal "/dev/stdout"))
(allow file-write* (literal "/dev/stderr"))
(allow file-write* (subpath "/dev/fd"))
(deny file-read* file-write* (subpath "/odd\"name"))
(allow file-read* file-write* (subpath "/w"))
(allow file-read* (subpath "/w/.git/hooks"))
(deny file-write* (subpath "/w/.git/hooks"))
(deny file-write-unlink (literal "/w/.git"))
(deny file-read* file-write* (subpath "/w/h"))
(allow file-read* file-write* (subpath "/w/h/rw"))
(deny network*)
(allow network-bind network-inbound (local ip "localhost:*"))
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
