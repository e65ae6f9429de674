// Package workspacetest checks workspaces of your own: the built-in tools have to work in
// them as they do in a folder of this machine.
//
//	func TestContainer(t *testing.T) {
//		workspacetest.Run(t, func(t *testing.T) tools.Workspace { return newContainer(t) })
//	}
package workspacetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/tools"
)

// Run checks a workspace with all core tools. empty returns a new one whose working
// directory is empty. If it is a [tools.Terminal], Run checks the tools for commands too.
func Run(t *testing.T, empty func(t *testing.T) tools.Workspace) {
	t.Helper()
	for _, c := range fileCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newSession(t, empty(t)))
		})
	}
	for _, c := range commandCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, empty(t))
			if s.tools["Bash"] == nil {
				t.Skip("this workspace runs no commands")
			}
			c.run(s)
		})
	}
}

type testCase struct {
	name string
	run  func(s *session)
}

// A session calls tools and keeps their state, as the session of an agent does.
type session struct {
	*testing.T
	ws     tools.Workspace
	dir    string
	tools  map[string]tool.Tool
	state  map[string]json.RawMessage
	hidden *rules.Unreadable
}

func newSession(t *testing.T, ws tools.Workspace) *session {
	t.Helper()
	dir, err := ws.Resolve("", ".")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{T: t, ws: ws, dir: dir, tools: map[string]tool.Tool{}, state: map[string]json.RawMessage{}}
	for _, e := range (tools.Builtins{Workspace: ws}).Tools() {
		s.tools[e.Tool.Spec().Name] = e.Tool
	}
	return s
}

// in is the input of a call.
type in map[string]any

func (s *session) call(name string, input in) *tool.Result {
	s.Helper()
	return s.callIn(s.Context(), name, input)
}

func (s *session) callIn(ctx context.Context, name string, input in) *tool.Result {
	s.Helper()
	tl := s.tools[name]
	if tl == nil {
		s.Fatalf("there is no tool %s", name)
	}
	slot := tl.Spec().State
	call := tool.Call{ID: "c1.0", Name: name, Session: "s", Dir: s.dir, Input: tooltest.Input(s.T, input), State: s.state[slot], Unreadable: s.hidden}
	out := toolrun.Run(ctx, tl, call, 20*time.Second)
	if out.Err != nil {
		s.Fatalf("%s %v: %v", name, input, out.Err)
	}
	if change := out.Result.Patch.State; change != nil {
		s.keep(slot, change)
	}
	return out.Result
}

// keep merges a change of the session's state, as a session does.
func (s *session) keep(slot string, change json.RawMessage) {
	s.Helper()
	all := map[string]json.RawMessage{}
	for _, part := range []json.RawMessage{s.state[slot], change} {
		if part != nil {
			if err := json.Unmarshal(part, &all); err != nil {
				s.Fatal(err)
			}
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		s.Fatal(err)
	}
	s.state[slot] = data
}

// ok calls a tool that has to succeed and returns its text, which has to hold the wants.
func (s *session) ok(name string, input in, wants ...string) string {
	s.Helper()
	return s.want(name, input, false, wants)
}

// fails calls a tool that has to fail.
func (s *session) fails(name string, input in, wants ...string) string {
	s.Helper()
	return s.want(name, input, true, wants)
}

func (s *session) want(name string, input in, failed bool, wants []string) string {
	s.Helper()
	r := s.call(name, input)
	if r.IsError != failed {
		s.Fatalf("%s %q: error %v: %s", name, input, r.IsError, r.Text())
	}
	for _, w := range wants {
		if !strings.Contains(r.Text(), w) {
			s.Errorf("%s %q: %q is not in %q", name, input, w, r.Text())
		}
	}
	return r.Text()
}

// put writes a file behind the tools' back.
func (s *session) put(name, content string) {
	s.Helper()
	if err := s.ws.Update(s.Context(), s.dir, name, func([]byte) ([]byte, error) { return []byte(content), nil }); err != nil {
		s.Fatal(err)
	}
}

// holds checks the content of a file.
func (s *session) holds(name, want string) {
	s.Helper()
	folder, _, err := s.ws.OpenFolder(s.Context(), s.dir, ".")
	if err != nil {
		s.Fatal(err)
	}
	defer folder.Close()
	data, err := fs.ReadFile(folder, name)
	if err != nil || string(data) != want {
		s.Errorf("%q holds %q, %v; want %q", name, data, err, want)
	}
}

// hostileNames are names that a careless shell script does not survive.
var hostileNames = []string{
	"a b", "it's", `"q"`, "-rf", "--", "-", "$(touch pwned)", "`touch pwned`", "*", "?", "[a]", "ü日本", `back\slash`,
	"new\nline", "end\n", "\n", "tab\t", " space ", "!", "(", "a;b", "a&b", "~", "~root", "#", "%s%n", "{a,b}", "$HOME", "\x01", "=", "-n",
}

var fileCases = []testCase{
	{"Write and Read", func(s *session) {
		s.ok("Write", in{"file_path": "a/b/c.txt", "content": "one\ntwo\n"}, "Created", "2 lines")
		s.ok("Read", in{"file_path": "a/b/c.txt"}, "1→one", "2→two")
		s.ok("Read", in{"file_path": s.dir + "/a/b/c.txt"}, "1→one")
		s.ok("Write", in{"file_path": "a/b/c.txt", "content": ""}, "Replaced")
		s.ok("Read", in{"file_path": "a/b/c.txt"}, "exists and is empty")
		s.fails("Read", in{"file_path": "a/b/d.txt"}, "does not exist", "c.txt")
		s.fails("Write", in{"file_path": "a/b", "content": "x"}, "folder")
		s.fails("Write", in{"file_path": "a/b/c.txt/d", "content": "x"})
		s.holds("a/b/c.txt", "")
	}},
	{"folders", func(s *session) {
		s.put("d/f", "x")
		s.put("d/e/g", "x")
		s.ok("Read", in{"file_path": "d"}, "a folder with 2 entries", "e/\nf\n")
		s.ok("Read", in{"file_path": "."}, "d/")
	}},
	{"large and odd contents", func(s *session) {
		s.put("crlf", "one\r\ntwo\r\n")
		s.ok("Read", in{"file_path": "crlf"}, "one", "two")
		s.ok("Edit", in{"file_path": "crlf", "old_string": "two", "new_string": "three"})
		s.holds("crlf", "one\r\nthree\r\n")
		s.put("no end", "x\ny")
		s.ok("Read", in{"file_path": "no end"}, "2→y")
		s.put("binary", "a\x00b\xff\n\n")
		s.fails("Read", in{"file_path": "binary"}, "binary")
		s.holds("binary", "a\x00b\xff\n\n")
		large := strings.Repeat("0123456789abcdef\n", 300_000)
		s.put("large", large)
		s.ok("Read", in{"file_path": "large", "offset": 299_999}, "300000→0123456789abcdef")
		s.holds("large", large)
	}},
	{"hostile names", func(s *session) {
		for _, name := range hostileNames {
			path := "in/" + name + "/" + name
			s.ok("Write", in{"file_path": path, "content": "x " + name}, "Created")
			s.holds(path, "x "+name)
			s.ok("Edit", in{"file_path": path, "old_string": "x ", "new_string": "y "})
			s.holds(path, "y "+name)
		}
		text := s.ok("Glob", in{"pattern": "in/**"})
		found := s.ok("Grep", in{"pattern": "^y ", "path": "in", "head_limit": 1000})
		for _, name := range hostileNames {
			shown := strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace("in/" + name + "/" + name)
			if !strings.Contains(text, "/"+shown+"\n") {
				s.Errorf("Glob does not list %q", name)
			}
			if !strings.Contains(found, shown+"\n") {
				s.Errorf("Grep does not find %q", name)
			}
		}
		s.fails("Read", in{"file_path": "pwned"}, "does not exist")
		s.fails("Read", in{"file_path": "in/pwned"}, "does not exist")
	}},
	{"Edit", func(s *session) {
		s.put("f", "one two one\n")
		s.fails("Edit", in{"file_path": "f", "old_string": "two", "new_string": "2"}, "has not been read")
		s.ok("Read", in{"file_path": "f"})
		s.fails("Edit", in{"file_path": "f", "old_string": "one", "new_string": "1"})
		s.ok("Edit", in{"file_path": "f", "old_string": "one", "new_string": "1", "replace_all": true}, "2 places")
		s.ok("MultiEdit", in{"file_path": "f", "edits": []in{{"old_string": "two", "new_string": "2"}, {"old_string": "1 2", "new_string": "3"}}})
		s.holds("f", "3 1\n")
		s.put("f", "other")
		s.fails("Edit", in{"file_path": "f", "old_string": "other", "new_string": "x"}, "has changed")
		s.fails("Edit", in{"file_path": "none", "old_string": "a", "new_string": "x"}, "does not exist")
		s.holds("f", "other")
	}},
	{"ApplyPatch", func(s *session) {
		s.put("old", "a\nb\nc\n")
		s.put("gone", "x\n")
		s.put("from", "m\nn\n")
		for _, f := range []string{"old", "gone", "from"} {
			s.ok("Read", in{"file_path": f})
		}
		s.fails("ApplyPatch", in{"input": "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: old\n@@\n-nothing like it\n+y\n*** End Patch"}, "not applied")
		s.fails("Read", in{"file_path": "new"}, "does not exist")
		s.ok("ApplyPatch", in{"input": "*** Begin Patch\n*** Add File: deep/new\n+x\n*** Update File: old\n@@\n a\n-b\n+B\n c\n*** Delete File: gone\n" +
			"*** Update File: from\n*** Move to: moved/to\n@@\n-m\n+M\n n\n*** End Patch"}, "Created", "Changed", "Deleted", "Moved")
		s.holds("deep/new", "x\n")
		s.holds("old", "a\nB\nc\n")
		s.holds("moved/to", "M\nn\n")
		s.fails("Read", in{"file_path": "gone"}, "does not exist")
		s.fails("Read", in{"file_path": "from"}, "does not exist")
	}},
	{"all or none", func(s *session) {
		s.put("a", "1")
		s.put("b", "1")
		// The last one cannot be made: its folder is a file.
		err := s.ws.UpdateAll(s.Context(), s.dir, []string{"a", "new/c", "b", "a/d"}, func([][]byte) ([]content, error) {
			return []content{{Data: []byte("2")}, {Data: []byte("2")}, {Remove: true}, {Data: []byte("2")}}, nil
		})
		if err == nil {
			s.Error("a change was made in part")
		}
		s.holds("a", "1")
		s.holds("b", "1")
		s.fails("Read", in{"file_path": "new/c"}, "does not exist")
		s.fails("Read", in{"file_path": "new"}, "does not exist")
		if text := s.ok("Read", in{"file_path": "."}); strings.Contains(text, ".tmp-") {
			s.Errorf("files are left: %s", text)
		}
	}},
	{"NotebookEdit", func(s *session) {
		s.put("n.ipynb", `{"cells":[{"cell_type":"code","execution_count":null,"id":"one","metadata":{},"outputs":[],"source":["x = 1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}`)
		s.ok("Read", in{"file_path": "n.ipynb"}, "x = 1")
		s.ok("NotebookEdit", in{"file_path": "n.ipynb", "command": "replace", "cell_id": "one", "source": "y = 2"})
		s.ok("Read", in{"file_path": "n.ipynb"}, "y = 2")
	}},
	{"Glob and Grep", func(s *session) {
		for name, text := range map[string]string{
			".gitignore": "*.log\nbuild/\n", "a.go": "package a\n\nfunc Needle() {}\n", "sub/b.go": "package b // needle\n", "sub/.gitignore": "!keep.log\n",
			"x.log": "needle", "sub/keep.log": "Needle\n", "build/c.go": "Needle", "bin": "Needle\x00", ".git/config": "Needle",
		} {
			s.put(name, text)
		}
		if text := s.ok("Glob", in{"pattern": "**/*.go"}, "/a.go\n", "/sub/b.go\n"); strings.Contains(text, "build") {
			s.Errorf("what git ignores is listed: %s", text)
		}
		s.ok("Glob", in{"pattern": "*.nothing"}, "No files matched")
		s.ok("Glob", in{"pattern": "*.log", "path": "sub"}, "keep.log")
		s.ok("Glob", in{"pattern": "c.*", "path": "build"}, "c.go")
		if text := s.ok("Grep", in{"pattern": "Needle"}, "a.go", "sub/keep.log"); strings.Count(text, "\n") != 2 {
			s.Errorf("Grep finds %q", text)
		}
		s.ok("Grep", in{"pattern": "needle", "-i": true, "output_mode": "content"}, "a.go:3:func Needle() {}", "sub/b.go:1:package b // needle", "sub/keep.log:1:Needle")
		s.ok("Grep", in{"pattern": "needle", "-i": true, "output_mode": "count"}, "a.go:1", "matching lines: 3, in files: 3")
		s.ok("Grep", in{"pattern": "Needle", "path": "a.go", "output_mode": "content", "-B": 1}, "2-", "3:func")
		s.fails("Grep", in{"pattern": "x", "path": "none"}, "does not exist")
		s.ok("CodeSearch", in{"query": "Needle"}, "a.go")
	}},
	{"outside", func(s *session) {
		for _, name := range []string{"../x", "/etc/openagent-no-such-file", "a/../../x"} {
			s.fails("Read", in{"file_path": name}, "outside the folders")
			s.fails("Write", in{"file_path": name, "content": "x"}, "outside the folders")
		}
		s.fails("Glob", in{"pattern": "*", "path": "/"}, "outside the folders")
		s.fails("Read", in{"file_path": "a\x00b"}, "NUL")
	}},
	{"hidden by rules", func(s *session) {
		s.put("secret/key", "needle")
		s.put("open", "needle")
		s.hidden = policies.Unreadable(permission.Policy{Deny: []permission.Rule{"Read(secret/**)"}}, nil, s.dir)
		s.fails("Read", in{"file_path": "secret/key"}, "a rule forbids it")
		for _, r := range []string{s.ok("Grep", in{"pattern": "needle"}, "open"), s.ok("Glob", in{"pattern": "**"}, "open")} {
			if strings.Contains(r, "key") {
				s.Errorf("a search shows %s", r)
			}
		}
	}},
	{"at the same time", func(s *session) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				err := s.ws.Update(s.Context(), s.dir, "count", func(old []byte) ([]byte, error) { return append(old, 'x'), nil })
				if err != nil {
					s.Error(err)
				}
			})
		}
		group.Wait()
		s.holds("count", "xxxxxxxx")
	}},
	{"cancelled", func(s *session) {
		s.put("a", "x")
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		err := s.ws.UpdateAll(ctx, s.dir, []string{"a", "b"}, func([][]byte) ([]content, error) {
			return []content{{Data: []byte("y")}, {Data: []byte("y")}}, nil
		})
		if err == nil {
			s.Error("a cancelled change was made")
		}
		s.holds("a", "x")
	}},
	{"refused change", func(s *session) {
		refused := fmt.Errorf("no")
		if err := s.ws.Update(s.Context(), s.dir, "new/a", func(old []byte) ([]byte, error) {
			if old != nil {
				s.Errorf("a missing file holds %q", old)
			}
			return nil, refused
		}); err != refused {
			s.Error(err)
		}
		s.fails("Read", in{"file_path": "new"}, "does not exist")
	}},
}
