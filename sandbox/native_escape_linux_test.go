package sandbox

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// nobody is an unprivileged user.
const nobody = 65534

// toolsVariable names the folder of the helper when the test runs once more as
// another user.
const toolsVariable = "SANDBOX_TEST_TOOLS"

// tools builds the helper, beside a copy that root has marked set-user-id.
func tools(t *testing.T) (helper string) {
	if dir := os.Getenv(toolsVariable); dir != "" {
		return filepath.Join(dir, "escape")
	}
	dir := publicDir(t)
	helper = filepath.Join(dir, "escape")
	build := exec.Command("go", "build", "-o", helper, "./testdata/escape")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the helper: %v\n%s", err, out)
	}
	copyFile(t, helper, filepath.Join(dir, "suid"))
	must(t, os.Chmod(filepath.Join(dir, "suid"), 0o755|os.ModeSetuid))
	return helper
}

func copyFile(t *testing.T, from, to string) {
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}

// Nothing gets out; outside of the sandbox each attempt succeeds.
func TestNativeEscapes(t *testing.T) {
	needNative(t)
	helper := tools(t)
	var outside atomic.Int64
	keep := func(a attempt) bool { return !a.user || os.Getuid() != 0 }
	escapes(t, keep, func(t *testing.T, a attempt) {
		w := makeWorld(t, helper)
		if touched, output := w.try(t, a, helper, native{}); touched != "" {
			t.Errorf("ESCAPE: %s\n%s", touched, output)
		} else if testing.Verbose() {
			t.Logf("refused: %s", strings.TrimSpace(output))
		}
		if a.never || a.root && os.Getuid() != 0 {
			return
		}
		w = makeWorld(t, helper)
		touched, output := w.try(t, a, helper, nil)
		for wait := 10 * time.Second; touched == "" && wait > 0; wait -= 15 * time.Millisecond { // a process in the background takes its time
			touched = w.touched(t, output)
		}
		if touched == "" {
			t.Errorf("it does not succeed outside either:\n%s", output)
		} else {
			outside.Add(1)
		}
	})
	t.Logf("%d attempts, %d of which succeed outside", len(attempts), outside.Load())
}

// The same as a user without privileges.
func TestNativeEscapesUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests run unprivileged anyway")
	}
	needNative(t)
	runAs(t, "TestNativeEscapes$", filepath.Dir(tools(t)))
}

// runAs runs tests of this binary as nobody.
func runAs(t *testing.T, tests, toolsDir string) {
	t.Helper()
	dir := publicDir(t)
	self, err := os.Executable()
	must(t, err)
	binary := filepath.Join(dir, "tests")
	copyFile(t, self, binary)
	temp := filepath.Join(dir, "tmp")
	must(t, os.Mkdir(temp, 0o777))
	must(t, os.Chown(temp, nobody, nobody))
	cmd := exec.Command(binary, "-test.run="+tests, "-test.v="+map[bool]string{true: "true", false: "false"}[testing.Verbose()])
	cmd.Dir = temp
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+temp, toolsVariable+"="+toolsDir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, out.String())
	} else if testing.Verbose() {
		t.Logf("%s", out.String())
	}
}

// needNative skips where the native backend does not work, which the system's
// administrator may have decided.
func needNative(t *testing.T) {
	t.Helper()
	if err := tryNative(confinement{}); err != nil {
		t.Skipf("the native sandbox does not work here: %v", err)
	}
}
