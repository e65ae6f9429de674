package session

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
)

// Whatever a journal holds: reading it ends with a prefix of facts that are in order,
// opening it agrees with that, and an opened session can be continued.
func FuzzJournal(f *testing.F) {
	d := folderStore{Path: quickly(f, f.TempDir())}
	log, err := d.Open(f.Context(), "s", Header{})
	if err == nil {
		err = errors.Join(log.Append(f.Context(), 0, true, say(1, "one"), say(2, "two")), log.Close())
	}
	if err != nil {
		f.Fatal(err)
	}
	name := filepath.Join(d.Path, "s", journalName)
	good, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	header := Seal(`{"openagent":1,"session":"s"`)
	f.Add(good, false)
	f.Add(good[:len(good)-9], false)
	f.Add([]byte(header+Seal(`{"seq":1,"data":[],"type":"resumed"`)+"\x00\x00"), false)
	f.Add([]byte(`{"openagent":2}`+"\n"), false)
	f.Add([]byte(`{"openagent":1,"session":"s"`+"\n"+`{"seq":1,"data":{},"type":"resumed","blobs":{"x":"../../../etc/passwd"}`), true)
	f.Add([]byte(`{"openagent":1,"session":"s"`+"\n"+
		`{"seq":1,"prev":0,"time":"2026-01-02T03:04:05Z","type":"run_end","data":{"turns":[]}`), true)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal { // so that the checksum does not hide errors behind it
			var b []byte
			for line := range strings.Lines(string(data)) {
				b = append(b, Seal(strings.TrimSuffix(line, "\n"))...)
			}
			data = b
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, readErr := facts(d)
		for i, e := range got {
			if e.Seq != int64(i+1) || e.Prev < 0 || e.Prev >= e.Seq || e.Data == nil {
				t.Fatalf("fact %d is %+v", i+1, e)
			}
		}
		log, err := d.Open(t.Context(), "s", Header{})
		_ = os.Remove(filepath.Join(d.Path, "s", tornName))
		if err != nil {
			if readErr == nil || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("opening: %v; reading: %v", err, readErr)
			}
			if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, data) {
				t.Fatalf("the refused journal was touched: %v", err)
			}
			return
		}
		defer log.Close()
		if readErr != nil {
			return // a fact that cannot be decoded, or a blob that is not there
		}
		if log.Last() != int64(len(got)) {
			t.Fatalf("last is %d, but %d facts were read", log.Last(), len(got))
		}
		more := say(log.Last()+1, "more")
		if err := log.Append(t.Context(), log.Last(), false, more); err != nil {
			t.Fatal(err)
		}
		if now, err := facts(d); err != nil || !reflect.DeepEqual(now, append(got, more)) {
			t.Fatalf("%d facts after one more, %v", len(now), err)
		}
	})
}

// Large members leave a line and come back, whatever is in them and around them.
func FuzzBlobs(f *testing.F) {
	f.Add(`plain`, `"},"crc":"`, "\\\"", uint16(33))
	f.Add("\u2028\x00\\", `{"a":[1,{"b":"]}"}]}`, "é", uint16(1))
	f.Fuzz(func(t *testing.T, a, b, c string, times uint16) {
		big := strings.Repeat(b, 1+int(times)%100*1000/(1+len(b)))
		in := event.RunEnd{Reason: event.EndReason(a), Message: big, Text: c, Partial: big + c}
		var enc encoder
		enc.reset()
		if err := enc.fact(event.Event{Seq: 1, Data: in}); err != nil {
			t.Fatal(err)
		}
		line := bytes.TrimSuffix(enc.buf.Bytes(), []byte("\n"))
		if !sealed(line) || bytes.IndexByte(line, '\n') >= 0 {
			t.Fatalf("bad line %q", line)
		}
		if len(line) > 5*maxInline {
			t.Errorf("the line has %d bytes", len(line))
		}
		r, err := parseRecord(line, 1)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.event("", func(hash string, _ int64) ([]byte, error) {
			for _, b := range enc.blobs {
				if b.hash == hash {
					return b.data, nil
				}
			}
			return nil, os.ErrNotExist
		})
		valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
		if err != nil {
			t.Fatal(err)
		}
		got := out.Data.(event.RunEnd)
		for _, s := range []string{a, b, c, big} {
			if valid(s) != s {
				return // JSON has no such text
			}
		}
		if !reflect.DeepEqual(got, in) {
			t.Fatalf("came back changed: %d bytes for %d", len(got.Message), len(in.Message))
		}
	})
}
