package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/workspace"
)

// confined is a workspace in a sandbox.
func confined(t *testing.T, s sandbox.Settings) (*workspace.Workspace, *sandbox.Sandbox, string) {
	t.Helper()
	dir := paths.RealPath(t.TempDir())
	ws, box := confinedAt(t, dir, s)
	return ws, box, dir
}

// confinedAt is a workspace in a sandbox in a folder.
func confinedAt(t *testing.T, dir string, s sandbox.Settings) (*workspace.Workspace, *sandbox.Sandbox) {
	t.Helper()
	s.Enabled, s.AllowUnconfined = true, true
	box, err := sandbox.New(s, sandbox.Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: dir, Confine: box.Confiner()}
	t.Cleanup(func() {
		if err := errors.Join(ws.Close(), box.Close()); err != nil {
			t.Error(err)
		}
	})
	if ws.Confine == nil {
		t.Skipf("nothing confines commands here: %v", box.State().Unavailable)
	}
	if lacks := box.State().Lacks; lacks != nil {
		t.Skipf("%s lacks %q", box.State().Backend, lacks)
	}
	return ws, box
}

func run(t *testing.T, ws *workspace.Workspace, line string, state []byte) *workspace.Outcome {
	t.Helper()
	o, err := ws.Run(context.Background(), workspace.CommandLine{Session: "s", Command: line, State: state})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The shell of a session keeps the same state as without a sandbox.
func TestConfinedShell(t *testing.T) {
	ws, box, dir := confined(t, sandbox.Settings{})
	o := run(t, ws, `mkdir sub && cd sub && export A=1 && f() { echo "f $A"; } && echo x > made`, nil)
	if o.Code != 0 || o.Dir != filepath.Join(dir, "sub") {
		t.Fatalf("%+v", o)
	}
	if o = run(t, ws, `f; pwd; cat made; echo $TMPDIR; echo t > $TMPDIR/t && cat $TMPDIR/t`, o.State); o.Code != 0 || !strings.HasPrefix(o.Text, "f 1\n"+dir+"/sub\nx\n") || !strings.HasSuffix(o.Text, "t\n") {
		t.Errorf("%q", o.Text)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "sub", "made")); err != nil || string(data) != "x\n" {
		t.Errorf("%q %v", data, err)
	}
	outside := filepath.Join(paths.RealPath(t.TempDir()), "x")
	if o = run(t, ws, "echo x > "+outside, o.State); o.Code == 0 {
		t.Errorf("%q", o.Text)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file outside was written")
	}
	if o = run(t, ws, "exit 7", o.State); o.Code != 7 {
		t.Errorf("%+v", o.Exit)
	}
	if o = run(t, ws, "kill -9 $BASHPID", o.State); o.Code != 137 || !o.Signaled {
		t.Errorf("%+v", o.Exit)
	}
	id, _, err := ws.StartJob(t.Context(), workspace.CommandLine{Session: "s", Command: "echo begun; exec sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.EndSession("s"); err != nil {
		t.Errorf("%s: %v", id, err)
	}
	if st := box.State(); st.Backend == "" || st.Network != "none" {
		t.Errorf("%+v", st)
	}
}

func TestConfinedFiles(t *testing.T) {
	home := paths.RealPath(t.TempDir())
	t.Setenv("HOME", home)
	for _, name := range []string{"secret", "docs/open", "kept"} {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("TEXT\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name     string
		settings sandbox.Settings
		line     string
		ok       bool
	}{
		{"read", sandbox.Settings{}, "cat ~/secret", true},
		{"denied", sandbox.Settings{DeniedPaths: []string{"~/secret"}}, "cat ~/secret", false},
		{"hidden", sandbox.Settings{Filesystem: sandbox.Filesystem{DenyRead: []string{"~"}}}, "cat ~/secret", false},
		{"hidden but for", sandbox.Settings{Filesystem: sandbox.Filesystem{DenyRead: []string{"~"}, AllowRead: []string{"~/docs"}}}, "cat ~/docs/open", true},
		{"hidden beside", sandbox.Settings{Filesystem: sandbox.Filesystem{DenyRead: []string{"~"}, AllowRead: []string{"~/docs"}}}, "cat ~/secret", false},
		{"whitelist", sandbox.Settings{AllowedReadPaths: []string{"~/docs"}}, "cat ~/docs/open", true},
		{"not on the whitelist", sandbox.Settings{AllowedReadPaths: []string{"~/docs"}}, "cat ~/secret", false},
		{"not written", sandbox.Settings{}, "echo TEXT > ~/kept && cat ~/kept", false},
		{"written", sandbox.Settings{Filesystem: sandbox.Filesystem{AllowWrite: []string{"~"}}}, "echo TEXT > ~/kept && cat ~/kept", true},
		{"kept", sandbox.Settings{Filesystem: sandbox.Filesystem{AllowWrite: []string{"~"}, DenyWrite: []string{"~/kept"}}}, "echo TEXT > ~/kept && cat ~/kept", false},
		{"written instead of the folder", sandbox.Settings{AllowedWritePaths: []string{"~"}}, "echo TEXT > here && cat here", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ws, _, _ := confined(t, tt.settings)
			if o := run(t, ws, tt.line, nil); strings.Contains(o.Text, "TEXT") != tt.ok {
				t.Errorf("%q", o.Text)
			}
		})
	}
}

// The private folder for temporary files is like a new one: git makes a repository
// in it, and no protected name is there.
func TestPrivateTempIsEmpty(t *testing.T) {
	ws, _, _ := confined(t, sandbox.Settings{})
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	if o := run(t, ws, "cd $TMPDIR && git init -q . && ls -A", nil); o.Code != 0 || o.Text != ".git\n" {
		t.Errorf("%d %q", o.Code, o.Text)
	}
}

func TestConfinedNetwork(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer s.Close()
	// A request through the proxy, in words of bash.
	ask := fmt.Sprintf(`p=${HTTP_PROXY#*://}; p=${p##*@}; p=${p%%/}; exec 3<>/dev/tcp/${p%%:*}/${p##*:} && printf 'GET %s/ HTTP/1.0\r\n\r\n' >&3 && cat <&3`, s.URL)
	direct := fmt.Sprintf(`exec 3<>/dev/tcp/%s && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && cat <&3`, strings.Replace(s.Listener.Addr().String(), ":", "/", 1))
	for _, tt := range []struct {
		name    string
		network sandbox.Network
		line    string
		says    string
	}{
		{"none", sandbox.Network{}, ask, ""},
		{"allowed", sandbox.Network{AllowedDomains: []string{"127.0.0.1"}}, ask, "hello"},
		{"another", sandbox.Network{AllowedDomains: []string{"example.com"}}, ask, "network.allowedDomains"},
		{"denied", sandbox.Network{AllowedDomains: []string{"127.0.0.1"}, DeniedDomains: []string{"127.0.0.1"}}, ask, "network.deniedDomains"},
		{"around the proxy", sandbox.Network{AllowedDomains: []string{"127.0.0.1"}}, direct, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ws, box, _ := confined(t, sandbox.Settings{Network: tt.network})
			o := run(t, ws, tt.line, nil)
			if !strings.Contains(o.Text, tt.says) || tt.says != "hello" && strings.Contains(o.Text, "hello") {
				t.Errorf("%q, want %q", o.Text, tt.says)
			}
			if refused := strings.HasPrefix(tt.says, "network."); refused != (len(box.Denied()) == 1) {
				t.Errorf("denied %q", box.Denied())
			}
		})
	}
}

// Where nothing confines, commands that may change something are asked about, or
// nothing runs at all; what is denied is denied.
func TestJudge(t *testing.T) {
	dir := paths.RealPath(t.TempDir())
	command := func(line string) permission.Request {
		return permission.Request{Tool: "Bash", Dir: dir, Access: []permission.Access{{Kind: permission.RunCommand, Target: line}}}
	}
	inside := func(q permission.Request) permission.Request { q.Confined = true; return q }
	file := func(kind permission.AccessKind, path string) permission.Request {
		return permission.Request{Tool: "Edit", Dir: dir, Access: []permission.Access{{Kind: kind, Target: filepath.Join(dir, path)}}}
	}
	box, err := sandbox.New(sandbox.Settings{Enabled: true, AllowUnconfined: true, DeniedPaths: []string{"secret"}, DeniedCommands: []string{"rm"}, ExcludedCommands: []string{"docker"}}, sandbox.Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	for _, tt := range []struct {
		name string
		call permission.Request
		want permission.Behavior
	}{
		{"read", file(permission.ReadFile, "a"), permission.NoOpinion},
		{"denied", file(permission.ReadFile, "secret/a"), permission.Denied},
		{"edit", file(permission.EditFile, "a"), permission.NoOpinion},
		{"edit outside", file(permission.EditFile, "../a"), permission.Denied},
		{"confined", inside(command("make")), permission.NoOpinion},
		{"confined, a denied name", inside(command("rm x")), permission.Denied},
		{"confined, a denied path", inside(command("cat secret/a")), permission.Denied},
		{"unconfined", command("make"), permission.Asked},
		{"excluded", command("docker ps"), permission.NoOpinion},
		{"excluded, and more", command("docker ps; make"), permission.Asked},
		{"excluded, but denied", command("docker ps; rm x"), permission.Denied},
		{"another tool", permission.Request{Tool: "mcp__x__y"}, permission.NoOpinion},
	} {
		if d := box.Decide(tt.call); d.Behavior != tt.want || d.Behavior != permission.NoOpinion && d.Reason == "" {
			t.Errorf("%s: %+v, want %q", tt.name, d, tt.want)
		}
	}
	off, err := sandbox.New(sandbox.Settings{DeniedCommands: []string{"rm"}}, sandbox.Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer off.Close()
	if d := off.Decide(command("make")); d.Behavior != permission.NoOpinion {
		t.Errorf("not enabled: %+v", d)
	}
	if d := off.Decide(command("rm x")); d.Behavior != permission.Denied {
		t.Errorf("not enabled, denied: %+v", d)
	}
	if off.Confiner() != nil || off.AutoAllow() || off.MayLeave() || off.State().Enabled {
		t.Error("a sandbox that is not enabled confines")
	}
}

// Closing leaves nothing behind.
func TestCloseSandbox(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	box, err := sandbox.New(sandbox.Settings{Enabled: true, Network: sandbox.Network{AllowedDomains: []string{"example.com"}}}, sandbox.Place{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(box.Close(), box.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func BenchmarkCheckCommand(b *testing.B) {
	r, err := sandbox.Settings{DeniedPaths: []string{"/etc/shadow", "secret"}, DeniedCommands: []string{"rm", "sudo"}}.At(sandbox.Place{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.CheckCommand("go build ./... && go test -race ./... 2>&1 | tail -20"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckPath(b *testing.B) {
	r, err := sandbox.Settings{DeniedPaths: []string{"/etc/shadow", "secret"}}.At(sandbox.Place{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.CheckPath("src/main.go", permission.EditFile); err != nil {
			b.Fatal(err)
		}
	}
}

// The go command works although its cache cannot be written, also on folders that were not changed
// just now, for which it would store an index.
func TestGoWithoutItsCache(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	ws, _, dir := confined(t, sandbox.Settings{})
	for name, text := range map[string]string{"go.mod": "module example.com/old\n\ngo 1.26\n", "old.go": "package old\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for _, path := range []string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "old.go"), dir} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	cache := paths.RealPath(t.TempDir())
	for i := range 256 { // as the go command makes it
		if err := os.Mkdir(filepath.Join(cache, fmt.Sprintf("%02x", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if o := run(t, ws, "GOCACHE="+cache+" GOFLAGS= go list ./... && echo $GODEBUG", nil); o.Code != 0 || o.Text != "example.com/old\ngoindex=0\n" {
		t.Errorf("%d %s", o.Code, o.Text)
	}
	if o := run(t, ws, "export GODEBUG=http2debug=1", nil); o.Code != 0 {
		t.Errorf("%d %s", o.Code, o.Text)
	} else if o = run(t, ws, "echo $GODEBUG", o.State); o.Text != "http2debug=1\n" {
		t.Errorf("a variable of the shell's own is lost: %s", o.Text)
	}
}
