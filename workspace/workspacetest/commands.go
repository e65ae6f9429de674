package workspacetest

import (
	"context"
	"strings"
	"time"

	"github.com/openagent-go/agent/workspace"
)

type content = workspace.Content

var commandCases = []testCase{
	{"Bash", func(s *session) {
		s.ok("Bash", in{"command": "echo out; echo err >&2; printf 'no end'"}, "out\nerr\nno end")
		s.fails("Bash", in{"command": "exit 3"}, "Exit code: 3")
		s.fails("Bash", in{"command": "kill -9 $$"}, "Exit code: 137")
		s.ok("Bash", in{"command": "mkdir -p 'a b' && cd 'a b' && x='it'\\''s' && y='two\nlines'; export y"})
		s.ok("Bash", in{"command": "pwd"}, "/a b\n")
		s.ok("Bash", in{"command": `echo "$y" > f && cat f`}, "two\nlines")
		s.ok("Read", in{"file_path": "a b/f"}, "1→two", "2→lines")
		s.put("a b/g", "from Write")
		s.ok("Bash", in{"command": "cat g; cd .."}, "from Write")
		s.ok("Bash", in{"command": "read line; echo \"<$line>\""}, "<>")
		s.ok("Bash", in{"command": "cat <<'END'\n$(no) `such` \"thing\"\nEND"}, "$(no) `such` \"thing\"")
	}},
	{"long output", func(s *session) {
		text := s.ok("Bash", in{"command": "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"}, "line 0\n", "line 19999", "the whole output is in ")
		_, rest, _ := strings.Cut(text, "the whole output is in ")
		file, _, _ := strings.Cut(rest, " …]")
		s.ok("Read", in{"file_path": file, "offset": 10_000}, "10000→line 9999")
		s.ok("Grep", in{"pattern": "^line 12345$", "path": file, "output_mode": "content"}, "line 12345")
		s.fails("Write", in{"file_path": file, "content": "x"}, "outside the folders")
	}},
	{"timeout", func(s *session) {
		start := time.Now()
		s.fails("Bash", in{"command": "echo begun; (sleep 61; touch late) & sleep 62", "timeout": 700}, "begun", "timed out")
		if took := time.Since(start); took > 15*time.Second {
			s.Errorf("it took %v", took)
		}
		s.noProcess("sleep 6[12]")
	}},
	{"cancelled command", func(s *session) {
		ctx, cancel := context.WithCancel(s.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		r := s.callIn(ctx, "Bash", in{"command": "trap '' TERM; echo begun; while :; do sleep 63; done"})
		if !r.IsError || !strings.Contains(r.Text(), "interrupted") {
			s.Errorf("%v %s", r.IsError, r.Text())
		}
		s.noProcess("sleep 63")
		s.ok("Bash", in{"command": "echo next"}, "next")
	}},
	{"what is left running", func(s *session) {
		s.ok("Bash", in{"command": "sleep 64 & echo done"}, "done", "Processes that the command left running were ended")
		s.noProcess("sleep 64")
	}},
	{"background", func(s *session) {
		s.ok("Bash", in{"command": "x=1; export x"})
		s.ok("Bash", in{"command": "echo begun $x; sleep 65", "run_in_background": true}, "bash_1")
		s.eventually("BashOutput", in{"bash_id": "bash_1", "wait_ms": 200}, "begun 1")
		s.ok("KillShell", in{"shell_id": "bash_1"}, "stopped")
		s.noProcess("sleep 65")
		s.ok("Bash", in{"command": "echo quick; exit 4", "run_in_background": true}, "bash_2")
		s.eventually("BashOutput", in{"bash_id": "bash_2", "wait_ms": 200}, "Exit code: 4")
		s.fails("BashOutput", in{"bash_id": "bash_9"}, "no such job")
	}},
}

// eventually calls a tool until its text holds what is wanted.
func (s *session) eventually(name string, input in, want string) {
	s.Helper()
	var all string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		all += s.call(name, input).Text()
		if strings.Contains(all, want) {
			return
		}
	}
	s.Errorf("%s: %q is not in %q", name, want, all)
}

// noProcess checks that no process of the workspace runs that a pattern of grep matches.
func (s *session) noProcess(pattern string) {
	s.Helper()
	line := "for f in /proc/[0-9]*/cmdline; do { tr '\\0' ' ' <\"$f\" && echo; } 2>/dev/null; done | grep '^" + pattern + "'; true"
	if text := s.ok("Bash", in{"command": "[ -r /proc/self/cmdline ] || exit 0; " + line}); text != "(no output)" {
		s.Errorf("processes are left: %s", text)
	}
}
