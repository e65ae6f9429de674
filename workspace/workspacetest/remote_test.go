//go:build unix

package workspacetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
	"github.com/openagent-go/agent/workspace/workspacetest"
)

func TestRemote(t *testing.T) {
	workspacetest.Run(t, func(t *testing.T) tools.Workspace {
		return newRemote(t, workspace.ExecThrough("sh", "-c"))
	})
}

func newRemote(t *testing.T, exec workspace.Exec) *workspace.Workspace {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: dir, OutputDir: t.TempDir(), Exec: exec}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return ws
}

// needs are the programs that the documentation of Exec lists.
var needs = []string{"sh", "cat", "cksum", "cp", "dd", "env", "find", "grep", "kill", "ln", "mkdir", "mktemp", "mv", "readlink", "rm", "rmdir", "sleep", "tail", "tr", "wc"}

// A place with no other programs than those that are listed: no bash, and no stat either.
func TestRemotePrograms(t *testing.T) {
	for name, extra := range map[string][]string{"listed": {"stat"}, "without stat": nil} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			for _, p := range append(extra, needs...) {
				if file, err := exec.LookPath(p); err == nil {
					if err := os.Symlink(file, filepath.Join(bin, p)); err != nil {
						t.Fatal(err)
					}
				}
			}
			workspacetest.Run(t, func(t *testing.T) tools.Workspace {
				return newRemote(t, workspace.ExecThrough("env", "-i", "PATH="+bin, "HOME=/", filepath.Join(bin, "sh"), "-c"))
			})
		})
	}
}

// A place with a root of its own: each command has its own mounts and processes.
func TestRemoteRoot(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("it needs root on Linux, to make namespaces")
	}
	// All mounts are in the namespace of the command.
	const enter = `R=$1; shift
for d in usr bin sbin lib lib64 etc; do
	if [ -L /$d ]; then ln -sfn "$(readlink /$d)" "$R/$d" 2>/dev/null; elif [ -d /$d ]; then mkdir -p "$R/$d" && mount --bind "/$d" "$R/$d" || exit 1; fi
done
mkdir -p "$R/proc" "$R/tmp" "$R/work" "$R/dev" && mount -t proc proc "$R/proc" && mount --bind /dev "$R/dev" || exit 1
exec chroot "$R" sh -c "$1"`
	through := func(root string) workspace.Exec {
		return workspace.ExecThrough("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", root)
	}
	if out, err := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", t.TempDir(), "true").CombinedOutput(); err != nil {
		t.Skipf("namespaces do not work here: %v: %s", err, out)
	}
	workspacetest.Run(t, func(t *testing.T) tools.Workspace {
		root := t.TempDir()
		ws := &workspace.Workspace{Root: "/work", OutputDir: t.TempDir(), Exec: through(root)}
		t.Cleanup(func() {
			if err := ws.Close(); err != nil {
				t.Error(err)
			}
		})
		return ws
	})
}

// A wrapped workspace is judged like the workspace in it.
type wrapped struct{ *workspace.Workspace }

// Rules know that the commands run elsewhere, and outputs do not show the variables of commands.
func TestRemoteIsElsewhere(t *testing.T) {
	ws := newRemote(t, workspace.ExecThrough("sh", "-c"))
	ws.Env = map[string]string{"TOKEN": "it's hunter2-and-more"}
	if s := tools.Bash(wrapped{ws}).(interface{ Secrets() []string }).Secrets(); len(s) != 1 || s[0] != "it's hunter2-and-more" {
		t.Errorf("secrets %q", s)
	}
	traits := tools.Bash(wrapped{ws}).(tool.Classifier).Classify(tool.Call{Name: "Bash", Dir: ws.Root, Input: tooltest.Input(t, map[string]string{"command": "ls"})})
	if len(traits.Access) != 1 || !traits.Access[0].Elsewhere || traits.Access[0].Dir != ws.Root {
		t.Errorf("%+v", traits)
	}
}
