package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// What tools cost beside the plain operation that they stand for. Each pair does
// the same to the same file of one megabyte: "tool" from the call's JSON to the
// result, "plain" with package os. That writes survive a power cut (fsync) is part
// of both; "plain unsynced" shows what it costs.

const overheadSize = 1 << 20

func overheadFile(b *testing.B) (d *desk, path, text string) {
	b.Helper()
	line := "\tif err != nil { return err } // a line of code\n"
	text = "needle\n" + strings.Repeat(line, overheadSize/len(line))
	d = newDesk(b)
	path = d.put("file.txt", text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	return d, path, text
}

func BenchmarkRead1MB(b *testing.B) {
	b.Run("tool", func(b *testing.B) {
		d, path, _ := overheadFile(b)
		call := tool.Call{Name: "Read", Dir: d.dir, Input: tooltest.Input(b, readInput{FilePath: path})}
		for b.Loop() {
			if r, err := d.read.Run(context.Background(), call); err != nil || r.IsError {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		_, path, _ := overheadFile(b)
		for b.Loop() {
			if _, err := os.ReadFile(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEdit1MB(b *testing.B) {
	b.Run("tool", func(b *testing.B) {
		d, path, text := overheadFile(b)
		there, back := "needle", "thread"
		state := sight(path, []byte(text))
		for b.Loop() {
			in := tooltest.Input(b, editInput{FilePath: path, OldString: there, NewString: back})
			r, err := d.edit.Run(context.Background(), tool.Call{Name: "Edit", Dir: d.dir, State: state, Input: in})
			if err != nil || r.IsError {
				b.Fatal(r, err)
			}
			there, back, state = back, there, r.Patch.State
		}
	})
	for _, sync := range []bool{true, false} {
		b.Run(map[bool]string{true: "plain", false: "plain unsynced"}[sync], func(b *testing.B) {
			_, path, _ := overheadFile(b)
			there, back := "needle", "thread"
			for b.Loop() {
				if err := plainEdit(path, there, back, sync); err != nil {
					b.Fatal(err)
				}
				there, back = back, there
			}
		})
	}
}

// plainEdit replaces a text in a file with nothing but package os.
func plainEdit(path, old, new string, sync bool) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "plain-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString(strings.Replace(string(data), old, new, 1)); err != nil {
		return err
	}
	if sync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return os.Rename(f.Name(), path)
}
