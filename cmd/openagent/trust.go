package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/tools/custom"
)

// trusted are the folders whose tools may run, by their real path, as
// trust.json holds them.
type trusted struct {
	Folders map[string]trustedFolder `json:"folders"`
}

// A trustedFolder is trusted as it was: with a file that is changed, new or gone
// it has to be trusted anew.
type trustedFolder struct {
	Sum   string    `json:"sum"`
	Files []string  `json:"files"`
	Since time.Time `json:"since"`
}

const maxTrust = 1 << 20 // bytes of trust.json

func (h *host) trustFile() (string, error) {
	home, err := h.home()
	return filepath.Join(home, "trust.json"), err
}

// readTrust returns what is trusted. A file that cannot be read is an error, and
// nothing is trusted.
func (h *host) readTrust() (trusted, error) {
	t := trusted{Folders: map[string]trustedFolder{}}
	file, err := h.trustFile()
	if err != nil {
		return t, err
	}
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	data, err := readFile(file, maxTrust)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return trusted{}, usagef("reading the trusted folders in %s: %w; mend or remove the file", file, err)
	}
	if t.Folders == nil {
		t.Folders = map[string]trustedFolder{}
	}
	return t, nil
}

// writeTrust replaces the file; it is never seen half-written.
func (h *host) writeTrust(t trusted) error {
	file, err := h.trustFile()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the trusted folders: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return usagef("writing %s: %w", file, err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".trust-*") // mode 0600
	if err != nil {
		return usagef("writing %s: %w", file, err)
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
		return usagef("writing %s: %w", file, err)
	}
	return nil
}

// trusts reports whether a folder is trusted as it is now.
func (h *host) trusts(l custom.Listing) bool {
	t, err := h.readTrust()
	if err != nil {
		h.complain("%v", err)
		return false
	}
	f, ok := t.Folders[l.Dir]
	return ok && f.Sum == l.Sum
}

// trust remembers that a folder is trusted as it is.
func (h *host) trust(l custom.Listing) error {
	t, err := h.readTrust()
	if err != nil {
		return err
	}
	t.Folders[l.Dir] = trustedFolder{Sum: l.Sum, Files: l.Files, Since: time.Now().UTC().Truncate(time.Second)}
	return h.writeTrust(t)
}

// offerTrust asks the person at the terminal about the folders that are not
// trusted. Who says no is asked again the next time.
func (h *host) offerTrust(ctx context.Context, folders []custom.Folder) error {
	for _, f := range folders {
		l, err := custom.List(f.Path)
		if f.Trusted || err != nil || len(l.Files) == 0 || h.trusts(l) {
			continue // what cannot be read is said when the tools are loaded
		}
		if _, err := fmt.Fprintf(h.err, "The folder %s holds tools that the agent could run as programs:\n%s", h.oneLine(l.Dir), h.fileList(l)); err != nil {
			return err
		}
		yes, err := h.confirm(ctx, "Do you trust them, as they are now? [y/N] ")
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		if err := h.trust(l); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) fileList(l custom.Listing) string {
	var b strings.Builder
	for _, name := range l.Files {
		fmt.Fprintf(&b, "  %s\n", h.oneLine(name))
	}
	return b.String()
}

// confirm asks a question on the terminal; anything but yes is no. Stdin is read
// up to the end of the line and no further.
func (h *host) confirm(ctx context.Context, question string) (bool, error) {
	if _, err := fmt.Fprint(h.err, question); err != nil {
		return false, err
	}
	said := make(chan string, 1)
	go func() { // reads on where ctx ends first, and ends with the program
		var line []byte
		var b [1]byte
		for len(line) < 1000 {
			if n, err := h.in.Read(b[:]); n == 0 && err != nil || n > 0 && b[0] == '\n' {
				break
			} else if n > 0 {
				line = append(line, b[0])
			}
		}
		said <- strings.ToLower(strings.TrimSpace(string(line)))
	}()
	select {
	case answer := <-said:
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(h.err)
		return false, ended(signalCode(ctx))
	}
}

func trustCommand(h *host) (flags, action) {
	format := ""
	return listFlags(&format), func(_ context.Context, args []string) error {
		verb := "list"
		if len(args) > 0 {
			verb, args = args[0], args[1:]
		}
		switch {
		case verb == "list" && len(args) == 0:
			return h.listTrust(format)
		case verb == "add" && len(args) == 1:
			return h.addTrust(args[0])
		case verb == "remove" && len(args) == 1:
			return h.removeTrust(args[0])
		}
		return usagef("write openagent trust list, add DIR or remove DIR")
	}
}

func (h *host) listTrust(format string) error {
	t, err := h.readTrust()
	if err != nil {
		return err
	}
	type entry struct {
		Dir   string    `json:"dir"`
		State string    `json:"state"` // trusted, changed or gone
		Files []string  `json:"files"`
		Since time.Time `json:"since"`
	}
	list := []entry{}
	var rows [][]string
	for _, dir := range slices.Sorted(maps.Keys(t.Folders)) {
		f := t.Folders[dir]
		state := "trusted"
		switch l, err := custom.List(dir); {
		case err == nil && l.Dir == "":
			state = "gone"
		case err != nil || l.Dir != dir || l.Sum != f.Sum:
			state = "changed"
		}
		list = append(list, entry{dir, state, f.Files, f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), strings.Join(f.Files, ", ")})
	}
	if len(list) == 0 && format != formatJSON {
		h.complain("no folder is trusted; add one with openagent trust add DIR")
	}
	return h.list(format, list, "FOLDER STATE SINCE FILES", rows)
}

func (h *host) addTrust(dir string) error {
	if err := needDir("trust add", dir); err != nil {
		return err
	}
	l, err := custom.List(dir)
	if err != nil {
		return usagef("trust add: %s: %w", dir, err)
	}
	for _, err := range l.Refused {
		h.complain("%v", err)
	}
	if len(l.Files) == 0 {
		return usagef("trust add: %s holds no tools; name the folder that the executable files are in", dir)
	}
	if err := h.trust(l); err != nil {
		return err
	}
	return h.show(fmt.Sprintf("trusted: %s\n%s", h.oneLine(l.Dir), h.fileList(l)))
}

func (h *host) removeTrust(dir string) error {
	t, err := h.readTrust()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return usagef("trust remove: %w", err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	if _, ok := t.Folders[abs]; !ok {
		return usagef("trust remove: %s is not trusted; openagent trust list shows what is", abs)
	}
	delete(t.Folders, abs)
	return h.writeTrust(t)
}
