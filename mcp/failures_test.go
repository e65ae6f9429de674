//go:build unix

package mcp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// A failure is a failing server, which is a real process, and the expected result.
type failure struct {
	name      string
	behaviour string
	change    func(*mcp.Config)
	state     mcp.State // after the start; "" is connected
	says      []string  // parts of its error
	// calls are made one after the other: the tool, and what its result holds.
	calls [][2]string
	then  func(t *testing.T, f *struck) // more that is done
}

// struck is a failure under way.
type struck struct {
	all   *mcp.Servers
	tools []tool.Tool
	pids  string // file
}

func behindShell(c *mcp.Config) {
	c.Command, c.Args = "sh", []string{"-c", `"$0"; true`, os.Args[0]}
}

func startsWithin(ms int) func(*mcp.Config) {
	return func(c *mcp.Config) { c.StartTimeoutMS = ms }
}

var works = [][2]string{{"echo", "hello"}}

// failures are those that were measured with the official SDKs, and more.
var failures = []failure{
	{name: "banner on stdout", behaviour: "banner", calls: works},
	{name: "log line in a call", behaviour: "noise", calls: append(works, works...)},
	{name: "never answers", behaviour: "silent", change: startsWithin(500), state: mcpnames.Pending, says: []string{"did not start within 500ms"}},
	{name: "ignores discover", behaviour: "ignore-discover", change: startsWithin(6000), calls: works},
	{name: "exits at discover", behaviour: "exit-discover", calls: works},
	{name: "null id for discover", behaviour: "null-discover", calls: works},
	{name: "dies at start", behaviour: "dies", state: mcpnames.Pending, says: []string{"exited with code 3", "stderr: no database"}},
	{name: "ignores end of input", behaviour: "ignore-eof", calls: works},
	{name: "ignores end of input and SIGTERM", behaviour: "ignore-eof ignore-term", calls: works},
	{name: "behind a shell", behaviour: "ignore-eof ignore-term", change: behindShell, calls: works},
	{name: "dies in a call", behaviour: "good", calls: [][2]string{{"crash", "exited with code 7"}, {"echo", "hello"}}},
	{name: "17 MB result", behaviour: "good", calls: [][2]string{{"large", "larger than 16 MB"}, {"echo", "hello"}}},
	{name: "garbage in a call", behaviour: "good", calls: [][2]string{{"deep", "shallow"}, {"wrong", "right"}, {"echo", "hello"}}},
	{name: "call hangs", behaviour: "good", change: func(c *mcp.Config) { c.TimeoutMS = 500 }, calls: [][2]string{{"hang", "said nothing of the call for 500ms"}, {"echo", "hello"}}},
	{name: "call is cancelled", behaviour: "good", then: cancelled, calls: works},
	{name: "closed in a call", behaviour: "ignore-eof ignore-term", then: closedInCall},
}

// No failure leaves anything behind once the servers are closed, and none delays anything
// past its limit: a test that takes a minute hangs.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := with(f.behaviour)
			pids := filepath.Join(t.TempDir(), "pids")
			c.Env["MCP_TEST_PID"], c.Env["MCP_TEST_CANCELLED"] = pids, pids+".cancelled"
			if f.change != nil {
				f.change(&c)
			}
			begun := time.Now()
			all, tools := connect(t, map[string]mcp.Config{"s": c})
			s := statusOf(t, all, "s")
			if want := cmp.Or(f.state, mcpnames.Connected); s.State != want {
				t.Fatalf("%+v", s)
			}
			for _, want := range f.says {
				if !strings.Contains(s.Error, want) {
					t.Errorf("%q is not in %s", want, s.Error)
				}
			}
			if f.then != nil {
				f.then(t, &struck{all, tools, pids})
			}
			for _, x := range f.calls {
				if out := call(t, tools, "mcp__s__"+x[0], `{"text":"hello"}`); !strings.Contains(out.Result.Text(), x[1]) {
					t.Errorf("%s: %.300s", x[0], out.Result.Text())
				}
			}
			used := time.Since(begun)
			begun = time.Now()
			if err := all.Close(); err != nil {
				t.Error(err)
			}
			closed := time.Since(begun)
			left := alive(t, pids)
			t.Logf("%v, close %v, %d left", used.Round(time.Millisecond), closed.Round(time.Millisecond), left)
			if left > 0 {
				t.Errorf("%d processes are left", left)
			}
		})
	}
}

// alive counts processes that wrote to a file and have not ended.
func alive(t *testing.T, file string) (n int) {
	t.Helper()
	for _, id := range pids(t, file) {
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
		if syscall.Kill(id, 0) == nil && !strings.Contains(string(state), ") Z ") {
			n++
		}
	}
	return n
}

// cancelled cancels a call, and the server is told.
func cancelled(t *testing.T, f *struck) {
	i := slices.IndexFunc(f.tools, func(x tool.Tool) bool { return x.Spec().Name == "mcp__s__hang" })
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan toolrun.Outcome)
	go func() { over <- toolrun.Do(ctx, f.tools[i], tool.Call{Name: "hang", Input: json.RawMessage(`{}`)}) }()
	call(t, f.tools, "mcp__s__echo", `{"text":"after it"}`) // is read after the first, most likely
	cancel()
	if out := <-over; !strings.Contains(out.Result.Text(), "cancelled") {
		t.Errorf("%s", out.Result.Text())
	}
	for end := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		if said, err := os.ReadFile(f.pids + ".cancelled"); err == nil && strings.Contains(string(said), "requestId") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the server is not told")
		}
	}
}

// closedInCall closes the servers while calls hang.
func closedInCall(t *testing.T, f *struck) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if out := call(t, f.tools, "mcp__s__hang", `{}`); !out.Result.IsError {
				t.Errorf("%s", out.Result.Text())
			}
		})
	}
	call(t, f.tools, "mcp__s__echo", `{"text":"x"}`)
	if err := f.all.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// A server on the network that ends and comes back, as another process that knows
// no sessions, is used again: by the call, where the server is there.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), behaviourVar+"=sdk", "MCP_TEST_ADDRESS="+address)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end(cmd) })
		for limit := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				return cmd
			}
			if time.Now().After(limit) {
				t.Fatal("the server does not start")
			}
		}
	}
	first := start()
	all, tools := connect(t, map[string]mcp.Config{"s": {URL: "http://" + address, AlwaysLoad: true}})
	echo := func(want string) {
		t.Helper()
		if out := call(t, tools, "mcp__s__echo", `{"text":"hello"}`); !strings.Contains(out.Result.Text(), want) {
			t.Errorf("%s", out.Result.Text())
		}
	}
	echo("hello")
	end(first)
	second := start()
	echo("hello") // the first try was not noticed
	end(second)
	echo("MCP server s")
	start()
	if err := all.Reconnect(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	tools = toolsOf(t, all)
	echo("hello")
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // it was killed
}

// docs/mcp.md names for each failure the tests, which exist.
func TestFailuresAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Failures\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var code strings.Builder
	for _, pattern := range []string{"*_test.go", "../internal/mcpauth/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(data)
		}
	}
	named := map[string]bool{}
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[0]) == "failure" {
			continue
		}
		rows++
		tests := regexp.MustCompile("`(Test[A-Za-z]+)(/[^`]+)?`").FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(tests) == 0 {
			t.Errorf("no test is named in %s", line)
		}
		for _, m := range tests {
			if !strings.Contains(code.String(), "func "+m[1]+"(") {
				t.Errorf("there is no test %s", m[1])
			}
			if m[1] == "TestFailures" {
				named[strings.TrimPrefix(m[2], "/")] = true
			}
		}
	}
	for _, f := range failures {
		if !named[f.name] {
			t.Errorf("no row names TestFailures/%s", f.name)
		}
		delete(named, f.name)
	}
	if len(named) > 0 || rows == 0 {
		t.Errorf("%d rows; these are none of TestFailures: %v", rows, named)
	}
}
