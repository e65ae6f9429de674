package sandbox_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/openagent-go/agent/sandbox"
)

// The processes of a command take a bounded amount of memory together. Memory that they
// reserve, map from files or share does not count twice.
func TestMemoryIsBounded(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	ws, _, _ := confined(t, sandbox.Settings{MemoryMB: 200})
	const python = "python3 -c '\nimport os, mmap, time\n"
	for _, tt := range []struct {
		name, line string
		ends       bool
	}{
		{"one process", python + "a = bytearray(600 << 20); time.sleep(30); print(\"DONE\")'", true},
		{"step by step", python + "a = []\nfor i in range(60): a.append(bytearray(10 << 20)); time.sleep(0.02)\ntime.sleep(30); print(\"DONE\")'", true},
		{"a tree", python + "for i in range(4):\n  if os.fork() == 0:\n    a = bytearray(80 << 20); time.sleep(30); print(\"DONE\"); os._exit(0)\nos.wait()'", true},
		{"shared memory", python + "m = mmap.mmap(-1, 600 << 20); m.write(b\"x\" * (600 << 20)); time.sleep(30); print(\"DONE\")'", true},
		{"less", python + "a = bytearray(100 << 20); time.sleep(0.3); print(\"DONE\")'", false},
		{"reserved only", python + "m = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000); time.sleep(0.3); print(\"DONE\")'", false},
		{"shared pages", python + "a = bytearray(b\"x\" * (90 << 20))\nfor i in range(4):\n  if os.fork() == 0: time.sleep(0.5); os._exit(0)\nfor i in range(4): os.wait()\nprint(\"DONE\")'", false},
		{"a file", "head -c 400M /dev/zero > f; " + python + "m = mmap.mmap(os.open(\"f\", os.O_RDONLY), 0, prot=mmap.PROT_READ)\nfor i in range(0, len(m), 4096): m[i]\ntime.sleep(0.3); print(\"DONE\")'; rm f", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := run(t, ws, tt.line, nil)
			if tt.ends == strings.Contains(o.Text, "DONE") || tt.ends != strings.Contains(o.Text, "sandbox.memoryMB") {
				t.Errorf("%+v %q", o.Exit, o.Text)
			}
		})
	}
	if sandbox.DefaultMemory() < 256<<20 {
		t.Errorf("by default %d bytes", sandbox.DefaultMemory())
	}
}
