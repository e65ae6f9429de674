package settings

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/config"
)

// NewScreen returns the screen on stdout. It uses colours if the terminal supports them.
func NewScreen(h *cli.IO) *term.Screen {
	return &term.Screen{W: h.ColourOut(), Colours: Colours(h)}
}

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
