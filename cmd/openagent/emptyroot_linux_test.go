package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// platformsVar switches on the tests that `make platforms` runs and `make test` does not,
// because they build programs.
const platformsVar = "OPENAGENT_PLATFORMS"

// TestEmptyRoot runs the program, built without C, where there is nothing but itself: no
// shell, no list of users, no folder for temporary files, no devices, no certificates, no
// name server.
func TestEmptyRoot(t *testing.T) {
	if os.Getenv(platformsVar) == "" {
		t.Skip("set " + platformsVar + "=1: it builds the program")
	}
	if !canLimit() {
		t.Skip("no namespaces here")
	}
	root := t.TempDir()
	program := filepath.Join(root, "openagent")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Fatal("the program needs a dynamic linker")
		}
	}
	if err := os.Mkdir(filepath.Join(root, "work"), 0o755); err != nil {
		t.Fatal(err)
	}
	sealed := httptest.NewUnstartedServer(http.NotFoundHandler())
	sealed.Config.ErrorLog = log.New(io.Discard, "", 0)
	sealed.StartTLS()
	defer sealed.Close()
	bash := llmtest.Use("t1", "Bash", json.RawMessage(`{"command":"echo x"}`))
	write := llmtest.Use("t2", "Write", json.RawMessage(`{"file_path":"note","content":"x"}`))
	server := &llmtest.Server{Steps: []llmtest.Step{{Text: "hello"}, {Calls: []llm.ToolUse{bash, write}}, {Text: "done"}}}
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	home, temp := "HOME=/", "TMPDIR=/work"
	for _, tt := range []struct {
		args   []string
		env    []string
		code   int
		output string
	}{
		{[]string{"--version"}, nil, 0, `openagent`},
		{[]string{"-p", "hi"}, nil, 2, `\$HOME is not defined; set OPENAGENT_HOME`},
		{[]string{"-p", "hi"}, []string{home}, 0, `hello`},
		{[]string{"-p", "--dangerously-skip-permissions", "work"}, []string{home, temp}, 0, `done`},
		{[]string{"-p", "--sandbox", "on", "hi"}, []string{home}, 2, `the operating system confines no commands here`},
		{[]string{"demo"}, []string{home}, 2, `demo needs a POSIX shell, and there is no sh in PATH`},
		{[]string{"doctor"}, []string{home}, 2, `(?s)!!  git .*!!  shell .*needs bash or sh in PATH.*!!  outputs .*set TMPDIR`},
		{[]string{"sessions", "list"}, []string{home}, 0, `idle +work`},
		{[]string{"-p", "hi"}, []string{home, "ANTHROPIC_BASE_URL=" + sealed.URL}, 3, `certificate signed by unknown authority`},
		{[]string{"-p", "--provider", "demo", "hi"}, []string{home}, 0, `simulated`},
	} {
		cmd := exec.Command("/openagent", tt.args...)
		cmd.Dir = "/work"
		cmd.Env = append([]string{"ANTHROPIC_API_KEY=sk-test", "ANTHROPIC_BASE_URL=" + server.URL}, tt.env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
			Chroot:      root,
		}
		out, err := cmd.CombinedOutput()
		if code := exitCode(err); code != tt.code || !regexp.MustCompile(tt.output).Match(out) {
			t.Errorf("%q with %q: exit code %d, want %d and %q (%v)\n%s", tt.args, tt.env, code, tt.code, tt.output, err, out)
		}
	}
	if n := len(server.Requests()); n != 3 {
		t.Fatalf("%d requests", n)
	}
	_, told, _ := bytes.Cut(server.Requests()[2].Body, []byte(`"tool_result"`))
	for _, want := range []string{`finding a shell: exec: \"sh\": executable file not found`, "Created"} {
		if !bytes.Contains(told, []byte(want)) {
			t.Errorf("the model was not told %q: %s", want, told)
		}
	}
	for _, v := range server.Violations() {
		t.Error(v)
	}
}
