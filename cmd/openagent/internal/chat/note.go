package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// The places of notes, as values in their picker.
const (
	notePicker  = "note"
	forProject  = "project"
	forMe       = "user"
	forMeHere   = "local"
	projectFile = "AGENTS.md"
	localFile   = "CLAUDE.local.md"
	maxNotes    = 1 << 20 // bytes of a file that a note is added to
)

// offerNote asks where a note is kept, and shows what is added there. It runs in the goroutine of
// the loop.
func (c *Chat) offerNote(note string) {
	c.note = note
	about := []ui.Line{{Text: "   + - " + note}, {Kind: ui.DimLine, Text: "   Agents read it with every prompt."}}
	items := []ui.Item{{Text: projectFile + " of this folder", Note: "for everybody in the project", Value: forProject}}
	if home, err := c.h.Home(); err == nil {
		items = append(items, ui.Item{Text: c.h.OneLine(c.s.ShortPath(filepath.Join(home, projectFile))), Note: "for you, in all folders", Value: forMe})
	}
	items = append(items, ui.Item{Text: localFile + " of this folder", Note: "for you, not in git", Value: forMeHere})
	c.post(ui.Choice{Kind: notePicker, Title: "keep the note where?", Items: items, About: about})
}

// keepNote adds a note to the file of a place.
func (c *Chat) keepNote(place, note string) {
	base, name := c.s.Project, projectFile
	switch place {
	case forMe:
		home, err := c.h.Home()
		if err != nil {
			c.fail(err)
			return
		}
		base = home
	case forMeHere:
		name = localFile
	}
	if err := appendNote(base, name, note, place == forProject); err != nil {
		c.fail(err)
		return
	}
	said := "  added to " + c.h.OneLine(c.s.ShortPath(filepath.Join(base, name)))
	if place == forMeHere {
		said += hidden(base)
	}
	c.say(ui.DimLine, said)
}

func (c *Chat) fail(err error) { c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error())) }

// appendNote adds a note to a file of a folder, as an item of a list. It follows no link out of the
// folder. A file that others read as well has their mode.
func appendNote(base, name, note string, shared bool) error {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	mode := fs.FileMode(0o600)
	if shared {
		mode = 0o644
	}
	return appendTo(root, name, mode, func(before []byte) string {
		switch last := before[bytes.LastIndexByte(bytes.TrimRight(before, "\n"), '\n')+1:]; {
		case len(before) == 0, bytes.HasPrefix(last, []byte("- ")) && bytes.HasSuffix(before, []byte("\n")):
			return "- " + note + "\n"
		case !bytes.HasSuffix(before, []byte("\n")):
			return "\n\n- " + note + "\n"
		}
		return "\n- " + note + "\n"
	})
}

// appendTo adds to a file what add returns for its content.
func appendTo(root *os.Root, name string, mode fs.FileMode, add func(before []byte) string) error {
	var before []byte
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("adding to %s: %w", name, err)
	case !info.Mode().IsRegular() || info.Size() > maxNotes:
		return fmt.Errorf("adding to %s: it is no text file of less than %d bytes", name, maxNotes)
	default:
		if before, err = root.ReadFile(name); err != nil {
			return fmt.Errorf("adding to %s: %w", name, err)
		}
	}
	text := add(before)
	if text == "" {
		return nil
	}
	f, err := root.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("adding to %s: %w", name, err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// hidden keeps the local file out of git, and says so. A folder that is in no repository needs
// nothing.
func hidden(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		info, err := os.Lstat(git)
		if err == nil && info.IsDir() {
			if exclude(git) == nil {
				return ", which git ignores"
			}
		}
		if err == nil {
			return "; add that name to .gitignore to keep it out of git"
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// exclude adds the local file to what a repository ignores on this machine.
func exclude(git string) error {
	root, err := os.OpenRoot(git)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Mkdir("info", 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return appendTo(root, filepath.Join("info", "exclude"), 0o644, func(before []byte) string {
		for line := range strings.Lines(string(before)) {
			if strings.TrimSpace(line) == localFile {
				return ""
			}
		}
		if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
			return "\n" + localFile + "\n"
		}
		return localFile + "\n"
	})
}
