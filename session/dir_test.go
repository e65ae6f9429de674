package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/sessiontest"
)

// made returns a store whose session s holds facts.
func made(t *testing.T, facts ...event.Event) session.Folder {
	t.Helper()
	d := session.Folder{Path: t.TempDir()}
	log := open(t, d, "s")
	if err := errors.Join(log.Append(t.Context(), 0, true, facts...), log.Close()); err != nil {
		t.Fatal(err)
	}
	return d
}

func open(t *testing.T, d session.Folder, id string) session.Log {
	t.Helper()
	log, err := d.Open(t.Context(), id, session.Header{Created: time.Unix(1, 0), Dir: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// path returns the path of a file of session s.
func path(d session.Folder, elem ...string) string {
	return filepath.Join(append([]string{d.Path, "s"}, elem...)...)
}

func slurp(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, name, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sum returns the facts of s, and the error that reading ends with.
func sum(d session.Folder) (n int, err error) {
	for _, err := range d.Read(context.Background(), "s", 0) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func ended(seq int64, text string) event.Event {
	return event.Event{Seq: seq, Prev: seq - 1, Time: time.Unix(seq, 7), Data: event.RunEnd{Reason: "completed", Text: text}}
}

// The prompt in lists is what the person wrote, without the files and commands behind it.
func TestPromptOfList(t *testing.T) {
	prompt := llm.Message{Role: llm.User, Content: llm.Blocks{llm.Text{Text: " \n"}, llm.Text{Text: "write it"}, llm.Text{Text: "The user ran a command:\n$ ls"}}}
	d := made(t, event.Event{Seq: 1, Time: time.Unix(1, 0), Data: event.UserMessage{ID: "m", Delivery: fact.AsPrompt, Message: prompt}})
	for range 2 { // from the journal, and from its summary
		info, err := session.Stat(t.Context(), d, "s")
		if err != nil || info.Prompt != "write it" {
			t.Fatalf("%q, %v", info.Prompt, err)
		}
	}
}

// The format is a promise: a change of it is a new version of the header.
func TestFormat(t *testing.T) {
	big := strings.Repeat("<big>", 8<<10)
	d := made(t,
		event.Event{Seq: 1, Time: time.Date(2026, 1, 2, 4, 4, 5, 120, time.FixedZone("", 3600)),
			Data: event.UserMessage{ID: "m", Delivery: fact.AsPrompt, Message: llm.UserText("hi & bye")}},
		event.Event{Seq: 2, Prev: 1, Time: time.Unix(2, 0), Data: event.Resumed{}},
		event.Event{Seq: 3, Prev: 1, Time: time.Unix(3, 0), Data: fact.Stopped{Reason: "x", Message: big, Cleared: []string{"m"}}})
	hash := sha256.Sum256([]byte(`"` + big + `"`))
	name := hex.EncodeToString(hash[:])
	want := []string{
		`{"openagent":1,"session":"s","created":"1970-01-01T00:00:01Z","cwd":"/work"`,
		`{"seq":1,"prev":0,"time":"2026-01-02T03:04:05.00000012Z","type":"user_message","data":{"id":"m","delivery":"prompt",` +
			`"message":{"role":"user","content":[{"type":"text","text":"hi & bye"}]}}`,
		`{"seq":2,"prev":1,"time":"1970-01-01T00:00:02Z","type":"resumed","data":{}`,
		`{"seq":3,"prev":1,"time":"1970-01-01T00:00:03Z","type":"stopped","data":{"reason":"x","cleared":["m"]},"blobs":{"message":"` + name + `"}`,
	}
	lines := strings.SplitAfter(slurp(t, path(d, "journal.jsonl")), "\n")
	for i, w := range want {
		got, crc, _ := strings.Cut(lines[i], `,"crc":"`)
		if got != w || len(crc) != len("00000000\"}\n") {
			t.Errorf("line %d is %s, want %s", i+1, lines[i], w)
		}
	}
	if crc := `,"crc":"217d6e4e"}`; !strings.HasSuffix(lines[2], crc+"\n") { // as another program computes it
		t.Errorf("line 3 is %s, want %s at its end", lines[2], crc)
	}
	if got := slurp(t, path(d, "blobs", name)); got != `"`+big+`"` {
		t.Errorf("the blob has %d bytes that are not the member's JSON", len(got))
	}
	// A header without a checksum is damage: a changed byte can have made it one.
	_, rest, _ := strings.Cut(slurp(t, path(d, "journal.jsonl")), "\n")
	put(t, path(d, "journal.jsonl"), want[0]+"}\n"+rest)
	if n, err := sum(d); n != 0 || session.DamagedLine(err) != 1 {
		t.Errorf("without the header's checksum: %d facts, %v", n, err)
	}
}

func TestNewerVersion(t *testing.T) {
	for header, listed := range map[string]int{
		`{"openagent":2,"session":"s","created":"2026-01-02T03:04:05Z"}`: 1,
		`{"openagent":900,"created":{},"cwd":[]}`:                        0,
	} {
		d := made(t, sessiontest.Prompts(1)...)
		data := header + "\n\x01\x02 binary\n"
		put(t, path(d, "journal.jsonl"), data)
		_, err := d.Open(t.Context(), "s", session.Header{})
		_, readErr := sum(d)
		if !errors.Is(err, session.ErrVersion) || !errors.Is(readErr, session.ErrVersion) {
			t.Errorf("errors %v and %v, want ErrVersion", err, readErr)
		}
		if list, err := d.List(t.Context()); err != nil || len(list) != listed {
			t.Errorf("list %+v, %v; want %d sessions", list, err, listed)
		}
		if got := slurp(t, path(d, "journal.jsonl")); got != data {
			t.Errorf("the journal is now %q", got)
		}
	}
}

// A file that is not a journal of this session is refused and left alone.
func TestForeignJournals(t *testing.T) {
	good := slurp(t, path(made(t, sessiontest.Prompts(3)...), "journal.jsonl"))
	lines := strings.SplitAfter(good, "\n")
	for name, c := range map[string]struct {
		data string
		line int
	}{
		"text":           {"hello\nworld\n", 1},
		"other JSON":     {"{}\n", 1},
		"other session":  {strings.Replace(strings.Split(good, `,"crc"`)[0], `"s"`, `"t"`, 1) + "}\n", 1},
		"fact twice":     {lines[0] + lines[1] + lines[1], 3},
		"fact missing":   {lines[0] + lines[2] + lines[3], 2},
		"no header":      {lines[1] + lines[2], 1},
		"blank line":     {lines[0] + lines[1] + "\n" + lines[2], 3},
		"header twice":   {lines[0] + lines[0], 2},
		"zeros inside":   {lines[0] + strings.Repeat("\x00", len(lines[1])-1) + "\n" + lines[2], 2},
		"newline lost":   {lines[0] + strings.TrimSuffix(lines[1], "\n") + lines[2], 2},
		"lost, and torn": {lines[0] + strings.TrimSuffix(lines[1], "\n") + lines[2][:20], 2},
	} {
		d := made(t)
		put(t, path(d, "journal.jsonl"), c.data)
		_, err := d.Open(t.Context(), "s", session.Header{})
		_, readErr := sum(d)
		for _, err := range []error{err, readErr} {
			if session.DamagedLine(err) != c.line {
				t.Errorf("%s: error %v, want damage in line %d", name, err, c.line)
			}
		}
		if got := slurp(t, path(d, "journal.jsonl")); got != c.data {
			t.Errorf("%s: the journal was touched", name)
		}
	}
}

// A fact of a type that this program does not know is not an unfinished record.
func TestUnknownType(t *testing.T) {
	d := made(t, sessiontest.Prompts(2)...)
	line := `{"seq":3,"prev":2,"time":"2026-01-02T03:04:05Z","type":"from_the_future","data":{}`
	put(t, path(d, "journal.jsonl"), slurp(t, path(d, "journal.jsonl"))+session.Seal(line))
	log := open(t, d, "s")
	if log.Last() != 3 || session.Torn(log) != 0 {
		t.Errorf("last is %d, %d bytes torn", log.Last(), session.Torn(log))
	}
	if n, err := sum(d); n != 2 || session.DamagedLine(err) != 4 || !strings.Contains(err.Error(), "from_the_future") {
		t.Errorf("%d facts, %v", n, err)
	}
}

func TestBlobs(t *testing.T) {
	text := strings.Repeat("blob ", 10<<10)
	build := func(t *testing.T) (d session.Folder, blob string) {
		d = made(t, ended(1, text))
		files, err := os.ReadDir(path(d, "blobs"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		return d, path(d, "blobs", files[0].Name())
	}
	t.Run("stored once", func(t *testing.T) {
		d, blob := build(t)
		before, _ := os.Stat(blob)
		log := open(t, d, "s")
		if err := log.Append(t.Context(), 1, false, ended(2, text), ended(3, text)); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(blob)
		if err != nil || !os.SameFile(before, after) {
			t.Error("the blob was written again", err)
		}
		if files, _ := os.ReadDir(path(d, "blobs")); len(files) != 1 {
			t.Errorf("%d blobs, want 1", len(files))
		}
	})
	for name, damage := range map[string]func(blob string) error{
		"missing": os.Remove,
		"altered": func(blob string) error { return flip(blob, 100) },
		"cut":     func(blob string) error { return os.Truncate(blob, 100) },
		"empty":   func(blob string) error { return os.Truncate(blob, 0) },
		"folder":  func(blob string) error { return errors.Join(os.Remove(blob), os.Mkdir(blob, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			d, blob := build(t)
			if err := damage(blob); err != nil {
				t.Fatal(err)
			}
			_, err := sum(d)
			if session.DamagedLine(err) != 2 || !strings.Contains(err.Error(), filepath.Base(blob)) {
				t.Errorf("error %v does not name line 2 and the blob", err)
			}
			log := open(t, d, "s") // the same content heals it
			err = log.Append(t.Context(), 1, true, ended(2, text))
			if name == "folder" {
				return // which is not ours to remove
			}
			if n, readErr := sum(d); err != nil || n != 2 || readErr != nil {
				t.Errorf("after the same content was recorded again: %v; %d facts, %v", err, n, readErr)
			}
		})
	}
	t.Run("outside", func(t *testing.T) { // a journal cannot have other files read
		d, blob := build(t)
		secret := filepath.Join(d.Path, "secret")
		put(t, secret, `"secret"`)
		journal := slurp(t, path(d, "journal.jsonl"))
		header, line, _ := strings.Cut(journal, "\n")
		line, _, _ = strings.Cut(line, `,"crc"`)
		put(t, path(d, "journal.jsonl"), header+"\n"+session.Seal(strings.Replace(line, filepath.Base(blob), "../../secret", 1)))
		if _, err := sum(d); err == nil || strings.Contains(err.Error(), "no such file") {
			t.Errorf("reading a blob outside: %v", err)
		}
	})
}

// flip changes a byte of a file.
func flip(name string, at int) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	data[at] ^= 1
	return os.WriteFile(name, data, 0o600)
}

// Files that vanish or change under an open log stop it; nothing is created again.
func TestFence(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d session.Folder) error
		want   error
	}{
		"session removed": {func(d session.Folder) error { return os.RemoveAll(path(d)) }, session.ErrLost},
		"session moved":   {func(d session.Folder) error { return os.Rename(path(d), d.Path+"2") }, session.ErrLost},
		"store removed":   {func(d session.Folder) error { return os.RemoveAll(d.Path) }, session.ErrLost},
		"lock removed":    {func(d session.Folder) error { return os.Remove(path(d, "lock")) }, session.ErrLost},
		"journal removed": {func(d session.Folder) error { return os.Remove(path(d, "journal.jsonl")) }, session.ErrLost},
		"lock replaced":   {func(d session.Folder) error { return replace(path(d, "lock")) }, session.ErrLost},
		"journal replaced": {func(d session.Folder) error { return replace(path(d, "journal.jsonl")) },
			session.ErrLost},
		"journal longer":  {func(d session.Folder) error { return grow(path(d, "journal.jsonl")) }, session.ErrConflict},
		"journal shorter": {func(d session.Folder) error { return os.Truncate(path(d, "journal.jsonl"), 10) }, session.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("open files cannot be removed here")
			}
			d := made(t, sessiontest.Prompts(1)...)
			log := open(t, d, "s")
			if err := c.change(d); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadDir(d.Path)
			big := ended(2, strings.Repeat("x", 50<<10))
			err := log.Append(t.Context(), 1, true, big)
			if !errors.Is(err, c.want) || !errors.Is(err, session.ErrBroken) {
				t.Errorf("append: %v, want %v", err, c.want)
			}
			if again := log.Append(t.Context(), 1, true, big); again != err {
				t.Errorf("appending again: %v, not the same error", again)
			}
			if after, _ := os.ReadDir(d.Path); !reflect.DeepEqual(names(before), names(after)) {
				t.Errorf("files before %v, after %v", names(before), names(after))
			}
			if err := log.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
}

func names(entries []os.DirEntry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// replace puts a copy in a file's place.
func replace(name string) error {
	data, err := os.ReadFile(name)
	return errors.Join(err, os.WriteFile(name+".new", data, 0o600), os.Rename(name+".new", name))
}

func grow(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(`{"seq":`)
	return errors.Join(err, f.Close())
}

// The list survives anything that a folder may hold beside sessions that are whole.
func TestListOfAMess(t *testing.T) {
	d := made(t, sessiontest.Prompts(3)...)
	good := slurp(t, path(d, "journal.jsonl"))
	lines := strings.SplitAfter(good, "\n")
	header := lines[0]
	unsealed, _, _ := strings.Cut(header, `,"crc"`)
	folder := func(id, data string) {
		if err := os.Mkdir(filepath.Join(d.Path, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if rest, ok := strings.CutPrefix(data, header); ok {
			data = session.Seal(strings.Replace(unsealed, `"session":"s"`, `"session":"`+id+`"`, 1)) + rest
		}
		put(t, filepath.Join(d.Path, id, "journal.jsonl"), data)
	}
	put(t, filepath.Join(d.Path, "file"), "x")
	folder("foreign", "hello\n")
	folder("empty", "")
	folder("cut header", lines[0][:20])
	for _, err := range []error{os.Mkdir(filepath.Join(d.Path, "folder"), 0o700), os.Mkdir(filepath.Join(d.Path, "a..b"), 0o700),
		os.MkdirAll(filepath.Join(d.Path, "odd", "journal.jsonl"), 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	rest := strings.Join(lines[1:], "")
	folder("torn", header+rest+`{"seq":4,"prev":3`)
	folder("zeros", header+rest+strings.Repeat("\x00", 100<<10))
	folder("bad last", header+lines[1]+lines[2]+strings.Replace(lines[3], "prompt 3", "prompt X", 1))
	folder("bad middle", header+lines[1]+"junk\n"+lines[3])
	folder("bad first", header+"junk\n"+lines[2]+lines[3])
	folder("bad end", header+lines[1]+"junk\njunk\n")
	folder("header", header)

	want := map[string]struct {
		facts  int64
		prompt string
	}{
		"s": {3, "prompt 1"}, "torn": {3, "prompt 1"}, "zeros": {3, "prompt 1"}, "bad last": {2, "prompt 1"},
		"bad middle": {3, "prompt 1"}, "bad first": {3, ""}, "bad end": {0, "prompt 1"}, "header": {0, ""},
	}
	list, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		w, ok := want[info.Session]
		if !ok || info.Facts != w.facts || info.Prompt != w.prompt || info.Dir != "/work" || info.Updated.IsZero() {
			t.Errorf("listed as %+v, want %+v", info, w)
		}
		delete(want, info.Session)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	if list, err := (session.Folder{Path: filepath.Join(d.Path, "none")}).List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("list of a folder that is not there: %v, %v", list, err)
	}
	for id, want := range map[string]error{"folder": session.ErrNotFound, "file": session.ErrNotFound, "odd": session.ErrNotFound,
		"empty": session.ErrNotFound, "cut header": session.ErrNotFound} {
		if _, err := d.Stat(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("stat of %s: %v, want %v", id, err, want)
		}
	}
}

// A folder that is not a session is never deleted, whatever its name.
func TestDeleteForeignFolder(t *testing.T) {
	d := made(t, ended(1, strings.Repeat("x", 50<<10)))
	keep := filepath.Join(d.Path, "src", "main.go")
	if err := os.Mkdir(filepath.Dir(keep), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, keep, "package main")
	if err := d.Delete(t.Context(), "src"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("deleting a folder: %v", err)
	}
	slurp(t, keep)
	if err := d.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(d.Path); len(left) != 1 {
		t.Errorf("left are %v, want src alone", names(left))
	}
}

func TestNoPath(t *testing.T) {
	var d session.Folder
	_, openErr := d.Open(t.Context(), "s", session.Header{})
	_, readErr := sum(d)
	_, listErr := d.List(t.Context())
	_, statErr := d.Stat(t.Context(), "s")
	for _, err := range []error{openErr, readErr, listErr, statErr, d.Delete(t.Context(), "s")} {
		if err == nil || !strings.Contains(err.Error(), "no path") {
			t.Errorf("a store without a path: %v", err)
		}
	}
}

// A relative path means the directory in which a session was opened.
func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	d := session.Folder{Path: "sessions"}
	log := open(t, d, "s")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := log.Append(t.Context(), 0, true, sessiontest.Prompts(1)...); err != nil {
		t.Fatal(err)
	}
	if n, err := sum(session.Folder{Path: filepath.Join(here, "sessions")}); n != 1 || err != nil {
		t.Errorf("%d facts, %v", n, err)
	}
}

// A fork of a damaged session fails and leaves nothing behind.
func TestForkOfDamage(t *testing.T) {
	d := made(t, sessiontest.Prompts(5)...)
	lines := strings.SplitAfter(slurp(t, path(d, "journal.jsonl")), "\n")
	lines[4] = "junk\n"
	put(t, path(d, "journal.jsonl"), strings.Join(lines, ""))
	if err := session.Fork(t.Context(), d, "s", "t", 0); session.DamagedLine(err) != 5 {
		t.Errorf("fork: %v, want damage in line 5", err)
	}
	if _, err := os.Stat(filepath.Join(d.Path, "t")); !os.IsNotExist(err) {
		t.Errorf("the fork's folder: %v", err)
	}
	if err := session.Fork(t.Context(), d, "s", "t", 3); err != nil {
		t.Errorf("fork of what is whole: %v", err)
	}
}

// A line of any length up to the limit can be read.
func TestLongLine(t *testing.T) {
	d := made(t, sessiontest.Prompts(1)...)
	text := strings.Repeat("long ", 100<<10)
	line := fmt.Sprintf(`{"seq":2,"prev":1,"time":"2026-01-02T03:04:05Z","type":"stopped","data":{"reason":%q}`, text)
	put(t, path(d, "journal.jsonl"), slurp(t, path(d, "journal.jsonl"))+session.Seal(line))
	for e, err := range d.Read(t.Context(), "s", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := e.Data.(fact.Stopped); !ok || string(s.Reason) != text {
			t.Error("the long fact came back changed")
		}
	}
	if list, err := d.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}
}
