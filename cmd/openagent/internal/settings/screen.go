package settings

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/config"
)

// noColor reports whether colours are off.
func noColor(h *cli.IO) bool {
	dir, err := WorkingDir()
	if err != nil {
		return false
	}
	s, err := config.Load(ConfigOptions(h, new(Options), dir))
	none := false
	if err == nil { // the run reports other errors
		s.Decode("no_color", &none)
	}
	return none || h.Getenv("NO_COLOR") != ""
}

// Colours reports whether to write colours to the output.
func Colours(h *cli.IO) bool {
	return h.OutTerminal && h.Getenv("TERM") != "dumb" && !noColor(h)
}

// Dumb reports whether the terminal can show nothing but lines.
func Dumb(h *cli.IO) bool {
	term := h.Getenv("TERM")
	return runtime.GOOS != "windows" && (term == "" || term == "dumb")
}

// minColumns is how wide a terminal has to be for the terminal UI.
const minColumns = 30

// PlainMode reports whether a conversation is shown in plain mode: as lines, each written once.
func (o *Options) PlainMode(h *cli.IO) bool {
	if o.Plain || Dumb(h) || listens(h.Getenv) || !h.InTerminal || !h.OutTerminal {
		return true
	}
	if h.Columns == nil {
		return false
	}
	n := h.Columns()
	return 0 < n && n < minColumns // 0: the terminal does not know
}

// listens reports whether the user has asked programs for output that a screen reader reads well,
// as other programs let them.
func listens(getenv func(string) string) bool {
	said := strings.ToLower(cmp.Or(getenv("ACCESSIBLE"), getenv("CLAUDE_AX_SCREEN_READER")))
	return said != "" && !slices.Contains([]string{"0", "false", "no", "off"}, said)
}
