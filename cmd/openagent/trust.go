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
	"syscall"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tools/custom"
)

// trusted is what of projects and plugins counts, as trust.json holds it: folders
// whose tools may run, by their real path, and files of settings.
type trusted struct {
	Folders map[string]trustedFolder `json:"folders"`
	Files   map[string]trustedFile   `json:"files,omitempty"`
	Skills  map[string]trustedFolder `json:"skills,omitempty"` // folders of skills
	Plugins map[string]trustedFolder `json:"plugins,omitempty"`
}

// A trustedFolder is trusted as it was: with a file that is changed, new or gone
// it has to be trusted anew.
type trustedFolder struct {
	Sum   string    `json:"sum"`
	Files []string  `json:"files"`
	Since time.Time `json:"since"`
}

// A trustedFile is trusted as it was.
type trustedFile struct {
	Sum   string    `json:"sum"`
	Since time.Time `json:"since"`
}

const maxTrust = 1 << 20 // bytes of trust.json

func (h *host) trustFile() (string, error) {
	home, err := h.home()
	return filepath.Join(home, "trust.json"), err
}

func decodeTrust(data []byte) (trusted, error) {
	var t trusted
	if data != nil {
		if err := json.Unmarshal(data, &t); err != nil {
			return trusted{}, err
		}
	}
	if t.Folders == nil {
		t.Folders = map[string]trustedFolder{}
	}
	if t.Files == nil {
		t.Files = map[string]trustedFile{}
	}
	if t.Skills == nil {
		t.Skills = map[string]trustedFolder{}
	}
	if t.Plugins == nil {
		t.Plugins = map[string]trustedFolder{}
	}
	return t, nil
}

// readTrust returns what is trusted. A file that cannot be read is an error, and
// nothing is trusted.
func (h *host) readTrust() (trusted, error) {
	file, err := h.trustFile()
	if err != nil {
		return trusted{}, err
	}
	var data []byte
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		if data, err = readFile(file, maxTrust); err != nil {
			return trusted{}, badTrust(file, err)
		}
	}
	t, err := decodeTrust(data)
	if err != nil {
		return trusted{}, badTrust(file, err)
	}
	return t, nil
}

func badTrust(file string, err error) error {
	return cli.Usagef("reading what is trusted in %s: %w; mend or remove the file", file, err)
}

// changeTrust changes what is trusted. The file is never seen half-written, and
// two changes at once are both there.
func (h *host) changeTrust(ctx context.Context, change func(t trusted)) error {
	file, err := h.trustFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return cli.Usagef("writing %s: %w", file, err)
	}
	err = config.Update(ctx, file, 0o600, func(old []byte) ([]byte, error) {
		t, err := decodeTrust(old)
		if err != nil {
			return nil, badTrust(file, err)
		}
		change(t)
		data, err := json.MarshalIndent(t, "", "  ")
		return append(data, '\n'), err
	})
	if err != nil {
		return cli.Usagef("writing %s: %w", file, err)
	}
	return nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// trustsFile reports whether a file of settings is trusted as it is now.
func (h *host) trustsFile(f config.File) bool {
	t, err := h.readTrust()
	if err != nil {
		h.complain("%v", err)
		return false
	}
	known, ok := t.Files[f.Place()]
	return ok && known.Sum == f.Sum
}

// trustFiles remembers that files of settings are trusted as they are.
func (h *host) trustFiles(ctx context.Context, files []config.File) error {
	return h.changeTrust(ctx, func(t trusted) {
		for _, f := range files {
			t.Files[f.Place()] = trustedFile{f.Sum, now()}
		}
	})
}

// trustChange keeps a project's file trusted that its user has changed by
// openagent config set: one that was not there, or was trusted before.
func (h *host) trustChange(ctx context.Context, f config.File, c config.Change) error {
	was := f
	was.Sum = c.Before
	if c.Before != "" && !h.trustsFile(was) {
		return nil
	}
	f.Sum = c.After
	return h.trustFiles(ctx, []config.File{f})
}

// offerSettings asks the person at the terminal about files of the project that
// say more than a project may, and reports whether one is trusted now.
func (h *host) offerSettings(ctx context.Context, s *config.Settings) (changed bool, err error) {
	for _, f := range s.Files() {
		needs := s.Needs(f)
		if len(needs) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(h.err, "The settings %s of this project set what a project may not set by itself:\n%s", h.visible(f.Path), h.needList(needs)); err != nil {
			return changed, err
		}
		yes, err := h.confirm(ctx, "Do you trust them, as they are now? [y/N] ")
		if err != nil {
			return changed, err
		}
		if !yes {
			continue
		}
		if err := h.trustFiles(ctx, []config.File{f}); err != nil {
			return changed, err
		}
		changed = true
	}
	return changed, nil
}

// needList shows all that a file of settings says beyond what a project may: first what
// would run.
func (h *host) needList(needs []config.Need) string {
	var b strings.Builder
	for _, runs := range []bool{true, false} {
		for _, n := range needs {
			if n.Runs() != runs {
				continue
			}
			for _, line := range n.Lines() {
				fmt.Fprintf(&b, "  %s\n", h.visible(line))
			}
		}
	}
	return b.String()
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
func (h *host) trust(ctx context.Context, l custom.Listing) error {
	return h.changeTrust(ctx, func(t trusted) {
		t.Folders[l.Dir] = trustedFolder{Sum: l.Sum, Files: l.Files, Since: now()}
	})
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
		if err := h.trust(ctx, l); err != nil {
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
	h.dropTyped()
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
		return false, cli.Ended(signalCode(ctx))
	}
}

func trustCommand(h *host) cli.Command {
	format := ""
	flags := func() cli.Flags { return listFlags(&format) }
	return cli.Command{Name: "trust", Summary: "Say which projects' tools, skills, agents and settings count", Default: "list", Subcommands: []cli.Command{
		{Name: "list", Summary: "List the folders and files that you trust", Examples: []string{"openagent trust list"}, Flags: flags,
			Run: func(context.Context, []string) error { return h.listTrust(format) }},
		{Name: "add", Args: "DIR", Least: 1, Most: 1, Summary: "Trust a folder as it is now", Examples: []string{"openagent trust add ."}, Flags: flags,
			Run: func(ctx context.Context, args []string) error { return h.addTrust(ctx, args[0]) }},
		{Name: "remove", Args: "DIR", Least: 1, Most: 1, Summary: "Trust a folder no longer", Examples: []string{"openagent trust remove ."}, Flags: flags,
			Run: func(ctx context.Context, args []string) error { return h.removeTrust(ctx, args[0]) }},
	}}
}

func (h *host) listTrust(format string) error {
	t, err := h.readTrust()
	if err != nil {
		return err
	}
	type entry struct {
		Dir    string    `json:"dir,omitempty"`    // of tools
		Skills string    `json:"skills,omitempty"` // folder of skills
		Plugin string    `json:"plugin,omitempty"` // folder
		File   string    `json:"file,omitempty"`   // of settings
		State  string    `json:"state"`            // trusted, changed or gone
		Files  []string  `json:"files,omitempty"`
		Since  time.Time `json:"since"`
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
		list = append(list, entry{Dir: dir, State: state, Files: f.Files, Since: f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), strings.Join(f.Files, ", ")})
	}
	for _, dir := range slices.Sorted(maps.Keys(t.Skills)) {
		f := t.Skills[dir]
		state := skillState(dir, f)
		list = append(list, entry{Skills: dir, State: state, Files: f.Files, Since: f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), "skills " + strings.Join(f.Files, ", ")})
	}
	for _, dir := range slices.Sorted(maps.Keys(t.Plugins)) {
		f := t.Plugins[dir]
		state := pluginState(dir, f)
		list = append(list, entry{Plugin: dir, State: state, Since: f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), "plugin, all of its files"})
	}
	for _, place := range slices.Sorted(maps.Keys(t.Files)) {
		f := t.Files[place]
		state := fileState(place, f)
		kind := "settings"
		switch {
		case isServerFile(place):
			kind = "MCP servers"
		case isKindFolder(place):
			kind = "agents"
		}
		list = append(list, entry{File: place, State: state, Since: f.Since})
		rows = append(rows, []string{place, state, f.Since.Local().Format(time.DateTime), kind})
	}
	if len(list) == 0 && format != formatJSON {
		h.complain("no folder is trusted; add one with openagent trust add DIR")
	}
	return h.list(format, list, "WHAT STATE SINCE FILES", rows)
}

func fileState(place string, t trustedFile) string {
	switch {
	case isServerFile(place):
		return serverFileState(place, t)
	case isKindFolder(place):
		return kindFolderState(place, t)
	}
	s, err := config.Load(config.Options{Dir: filepath.Dir(filepath.Dir(place))})
	if err != nil {
		return "changed"
	}
	for _, f := range s.Files() {
		switch {
		case f.Place() != place:
		case !f.Exists:
			return "gone"
		case f.Sum == t.Sum:
			return "trusted"
		}
	}
	return "changed"
}

// addTrust trusts a project: its tools, its skills, its agents, its settings and its
// MCP servers; or all of a plugin. A folder that is none, without any of
// these, is taken for a folder of tools.
func (h *host) addTrust(ctx context.Context, dir string) error {
	if err := needDir("trust add", dir); err != nil {
		return err
	}
	var files []config.File
	var s *config.Settings
	servers, err := readServerFile(dir)
	if err != nil {
		return cli.Usagef("trust add: %w", err)
	}
	whole, err := pluginIn(dir)
	if err != nil {
		return cli.Usagef("trust add: %w", err)
	}
	kinds := kindFoldersIn(dir)
	if info, err := os.Stat(filepath.Join(dir, ".openagent")); err == nil && info.IsDir() || servers != nil || len(kinds) > 0 {
		from := h.sources(new(options), dir)
		from.Trusted, from.Given = nil, nil
		if s, err = config.Load(from); err != nil {
			return unsettled(err)
		}
		for _, f := range s.Files() {
			if f.Exists && (f.Scope == config.Project || f.Scope == config.Local) {
				files = append(files, f)
			}
		}
	}
	skills := skillsOf(dir)
	tools, err := h.toolFolders(dir, servers != nil || whole != nil || s != nil || len(skills) > 0)
	if err != nil {
		return err
	}
	if len(tools) == 0 && len(files) == 0 && servers == nil && whole == nil && len(skills) == 0 && len(kinds) == 0 {
		return cli.Usagef("trust add: %s holds no tools, no skills, no agents, no settings, no hooks and no .mcp.json; name a project, or the folder that the executable files are in", dir)
	}
	for _, found := range kinds {
		if err := h.trustKinds(ctx, found); err != nil {
			return err
		}
		if err := h.show(fmt.Sprintf("trusted: %s\n%s", h.oneLine(found.Dir), h.kindList(found))); err != nil {
			return err
		}
	}
	for _, found := range skills {
		if err := h.trustSkills(ctx, found); err != nil {
			return err
		}
		if err := h.show(fmt.Sprintf("trusted: %s\n%s", h.oneLine(found.Dir), h.skillNames(found))); err != nil {
			return err
		}
	}
	if whole != nil {
		if err := h.trustPlugin(ctx, whole); err != nil {
			return err
		}
		if err := h.show(fmt.Sprintf("trusted: the plugin %s, all of its files\n%s", h.visible(whole.dir), whole.lines(h, false))); err != nil {
			return err
		}
	}
	for _, l := range tools {
		if err := h.trust(ctx, l); err != nil {
			return err
		}
		if err := h.show(fmt.Sprintf("trusted: %s\n%s", h.oneLine(l.Dir), h.fileList(l))); err != nil {
			return err
		}
	}
	if servers != nil {
		if err := h.trustServers(ctx, servers); err != nil {
			return err
		}
		if err := h.show(fmt.Sprintf("trusted: %s\n%s", h.oneLine(servers.place), h.serverList(servers))); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	if err := h.trustFiles(ctx, files); err != nil {
		return err
	}
	for _, f := range files {
		if err := h.show(fmt.Sprintf("trusted: %s\n%s", h.oneLine(f.Place()), h.needList(s.Needs(f)))); err != nil {
			return err
		}
	}
	return nil
}

// toolFolders are the folders of tools of a project or a plugin. A folder that is
// neither is taken for one itself.
func (h *host) toolFolders(dir string, known bool) ([]custom.Listing, error) {
	var out []custom.Listing
	for _, path := range []string{filepath.Join(dir, ".openagent", "tools"), filepath.Join(dir, "tools"), dir} {
		if path == dir && (known || len(out) > 0) {
			continue
		}
		l, err := custom.List(path)
		if err != nil {
			return nil, cli.Usagef("trust add: %s: %w", path, err)
		}
		for _, err := range l.Refused {
			h.complain("%v", err)
		}
		if len(l.Files) > 0 {
			out = append(out, l)
		}
	}
	return out, nil
}

// removeTrust takes back the trust in a folder of tools, or in all of a project.
func (h *host) removeTrust(ctx context.Context, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return cli.Usagef("trust remove: %w", err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	own := filepath.Join(abs, ".openagent")
	removed := 0
	err = h.changeTrust(ctx, func(t trusted) {
		for _, d := range []string{abs, filepath.Join(own, "tools"), filepath.Join(abs, "tools")} {
			if _, ok := t.Folders[d]; ok {
				delete(t.Folders, d)
				removed++
			}
		}
		if _, ok := t.Plugins[abs]; ok {
			delete(t.Plugins, abs)
			removed++
		}
		for _, d := range []string{abs, filepath.Join(abs, "skills"), filepath.Join(abs, ".agents", "skills"), filepath.Join(abs, ".claude", "skills")} {
			if _, ok := t.Skills[d]; ok {
				delete(t.Skills, d)
				removed++
			}
		}
		for place := range t.Files {
			if filepath.Dir(place) == own || place == abs || place == filepath.Join(abs, projectServersName) || isKindFolder(place) && slices.ContainsFunc(agentFolders(abs), func(f subagent.Folder) bool { return f.Path == place }) {
				delete(t.Files, place)
				removed++
			}
		}
	})
	if err == nil && removed == 0 {
		return cli.Usagef("trust remove: %s is not trusted; openagent trust list shows what is", abs)
	}
	return err
}
