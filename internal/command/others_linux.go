package command

import (
	"bytes"
	"os"
	"strconv"
)

// others returns the processes outside of the group that descend from the command or
// bear its mark.
func (t *tree) others() []int {
	type process struct{ parent, group int }
	all := map[int]process{}
	in := map[int]bool{t.pid: true}
	entries, _ := os.ReadDir("/proc") // without /proc no process is found
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:]) // the name in brackets may hold anything
		if len(f) < 3 || f[0][0] == 'Z' || f[0][0] == 'X' {
			continue
		}
		var p process
		p.parent, _ = strconv.Atoi(string(f[1]))
		p.group, _ = strconv.Atoi(string(f[2]))
		all[pid] = p
		environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		in[pid] = in[pid] || p.group == t.pid || bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+t.mark+"\x00"))
	}
	for grown := true; grown; {
		grown = false
		for pid, p := range all {
			if !in[pid] && in[p.parent] {
				in[pid], grown = true, true
			}
		}
	}
	var out []int
	for pid := range all {
		if in[pid] && all[pid].group != t.pid {
			out = append(out, pid)
		}
	}
	return out
}
