//go:build unix

package workspace

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

func TestOutputOfAnyLength(t *testing.T) {
	w := openWorkspace(t, true)
	for _, c := range []struct {
		command     string
		cut         bool
		whole       int64 // size of the file
		first, last string
	}{
		{"head -c 30000 /dev/zero | tr '\\0' x", false, 0, "x", "x"},
		{"printf A; head -c 30000 /dev/zero | tr '\\0' x; printf Z", true, 30002, "A", "Z"},
		{"for i in $(seq 29990); do printf ü; done", false, 59980, "ü", "ü"},
		{"echo START; yes | head -c 100M; echo END", true, spillLimit, "START\n", "END\n"},
	} {
		o := run(t, w, c.command)
		if o.Cut != c.cut || !strings.HasPrefix(o.Text, c.first) || !strings.HasSuffix(o.Text, c.last) ||
			utf8.RuneCountInString(o.Text) > outputLimit+500 {
			t.Errorf("%s: cut %v, %d bytes", c.command, o.Cut, len(o.Text))
		}
		if c.whole == 0 {
			if o.File != "" {
				t.Errorf("%s: a file for nothing: %s", c.command, o.File)
			}
			continue
		}
		info, err := os.Stat(o.File)
		if err != nil || info.Size() != c.whole || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: file %v, %v", c.command, info, err)
		}
		if c.cut && !strings.Contains(o.Text, o.File) {
			t.Errorf("%s: the file is not named", c.command)
		}
	}
}

func TestOutputMemoryIsBounded(t *testing.T) {
	o := &output{folder: func() (string, error) { return "", syscall.ENOSPC }}
	const total = 128 << 20
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 2048)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range total / len(chunk) {
		o.Write(chunk)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("%d bytes are held", grown)
	}
	var e Outcome
	e.Text, e.Cut, e.File = o.take(false)
	if !e.Cut || !strings.Contains(e.Text, fmt.Sprint(total-outputLimit)) || !strings.Contains(e.Text, "no space left") {
		t.Errorf("%.60q", e.Text[outputLimit/2:])
	}
}

// A folder for outputs that is not there yet is made, for us alone.
func TestOutputFolderIsMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "outputs")
	o := &output{folder: func() (string, error) { return dir, nil }}
	o.Write(bytes.Repeat([]byte("words\n"), outputLimit))
	defer o.close()
	if _, cut, file := o.take(false); !cut || filepath.Dir(file) != dir {
		t.Errorf("the output is in %q", file)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("plain"), 1, false)
	f.Add([]byte("\xff\xfe\x00\x1b[31mred\x1b[0m\n"), 9000, true)
	f.Add([]byte("äöü\n"), 20_000, true)
	f.Add([]byte{0x80}, 70_000, false)
	f.Fuzz(func(t *testing.T, part []byte, times int, lines bool) {
		if len(part) == 0 || len(part) > 100 {
			return
		}
		times = min(max(times, 0), 100_000)
		o := &output{folder: func() (string, error) { return t.TempDir(), nil }, last: func(lines []string) {
			if len(lines) > tailLines {
				t.Errorf("%d lines", len(lines))
			}
			for _, s := range lines {
				if !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x00") || s == "" || len(s) > tailWidth+3 {
					t.Errorf("line %q", s)
				}
			}
		}}
		all := bytes.Repeat(part, times)
		for chunk := all; len(chunk) > 0; {
			n := min(len(chunk), 7777)
			o.Write(chunk[:n])
			chunk = chunk[n:]
		}
		var text string
		for i := range 2 {
			var e Outcome
			e.Text, e.Cut, e.File = o.take(lines && i == 0)
			if !utf8.ValidString(e.Text) || strings.ContainsRune(e.Text, 0) {
				t.Error("the text is not clean")
			}
			if n := utf8.RuneCountInString(e.Text); n > outputLimit+500 {
				t.Errorf("%d characters", n)
			}
			if e.Cut {
				if kept, err := os.ReadFile(e.File); err != nil || !bytes.Equal(kept, all) {
					t.Errorf("the file has %d of %d bytes: %v", len(kept), len(all), err)
				}
			}
			text += e.Text
		}
		o.close()
		if utf8.Valid(all) && !bytes.ContainsAny(all, "\x00\x1b\u009b\u009d") && len(all) <= outputLimit && text != string(all) {
			t.Errorf("%q became %q", all, text)
		}
	})
}

func BenchmarkOutput(b *testing.B) {
	o := &output{folder: func() (string, error) { return "", io.ErrShortWrite }}
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 2048)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		o.Write(chunk)
	}
}

// The last lines are those that a terminal would show.
func TestLastLines(t *testing.T) {
	var got []string
	o := &output{folder: func() (string, error) { return t.TempDir(), nil }, last: func(lines []string) { got = lines }}
	for _, step := range []struct{ write, want string }{
		{"one\ntwo", "one|two"},
		{"!\n\n  \n", "one|two!"},
		{"10 %\r20 %", "one|two!|20 %"},
		{"\r30 %\r", "one|two!|30 %"},
		{"\r100 %\r\n", "one|two!|100 %"},
		{"\x1b[31mred\x1b[0m\n5\n6\n7", "100 %|red|5|6|7"},
		{"\n", "100 %|red|5|6|7"},
		{strings.Repeat("lines\n", 5000) + "end", "lines|lines|lines|lines|end"},
	} {
		if o.Write([]byte(step.write)); strings.Join(got, "|") != step.want {
			t.Errorf("after %.20q: %q, want %q", step.write, got, step.want)
		}
	}
}
