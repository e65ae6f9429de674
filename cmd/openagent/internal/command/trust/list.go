package trust

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/internal/trusted"
)

func listTrust(h *cli.IO, format string) error {
	t, err := settings.ReadTrust(h)
	if err != nil {
		return err
	}
	type entry struct {
		Dir    string    `json:"dir,omitempty"`    // tool folder
		Skills string    `json:"skills,omitempty"` // skill folder
		Plugin string    `json:"plugin,omitempty"` // folder
		File   string    `json:"file,omitempty"`   // settings file
		Memory string    `json:"memory,omitempty"` // folder of memory entries
		State  string    `json:"state"`            // trusted, changed or gone
		Files  []string  `json:"files,omitempty"`
		Since  time.Time `json:"since,omitzero"`
	}
	list := []entry{}
	var rows [][]string
	for _, dir := range slices.Sorted(maps.Keys(t.Folders)) {
		f := t.Folders[dir]
		state := "trusted"
		switch l, err := customtools.List(dir); {
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
		state := app.SkillState(dir, f)
		list = append(list, entry{Skills: dir, State: state, Files: f.Files, Since: f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), "skills " + strings.Join(f.Files, ", ")})
	}
	for _, dir := range slices.Sorted(maps.Keys(t.Plugins)) {
		f := t.Plugins[dir]
		state := app.PluginState(dir, f)
		list = append(list, entry{Plugin: dir, State: state, Since: f.Since})
		rows = append(rows, []string{dir, state, f.Since.Local().Format(time.DateTime), "plugin, all of its files"})
	}
	for _, place := range slices.Sorted(maps.Keys(t.Files)) {
		f := t.Files[place]
		state := fileState(place, f)
		kind := "settings"
		switch {
		case app.IsServerFile(place):
			kind = "MCP servers"
		case app.IsAgentFolder(place):
			kind = "agents"
		}
		list = append(list, entry{File: place, State: state, Since: f.Since})
		rows = append(rows, []string{place, state, f.Since.Local().Format(time.DateTime), kind})
	}
	for _, dir := range slices.Sorted(maps.Keys(t.Memory)) {
		files := slices.Sorted(maps.Keys(t.Memory[dir]))
		state := "trusted"
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			state = "gone"
		}
		list = append(list, entry{Memory: dir, State: state, Files: files})
		rows = append(rows, []string{dir, state, "-", "memory " + strings.Join(files, ", ")})
	}
	if len(list) == 0 && format != cli.FormatJSON {
		h.Warn("no folder is trusted; add one with openagent trust add DIR")
	}
	return h.WriteList(format, list, "WHAT STATE SINCE FILES", rows)
}

func fileState(place string, t trusted.File) string {
	switch {
	case app.IsServerFile(place):
		return app.ServerFileState(place, t)
	case app.IsAgentFolder(place):
		return app.AgentFolderState(place, t)
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
