package settings

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/config"
)

// NewScreen returns the screen on stdout, with colours if the terminal shows them.
func NewScreen(h *cli.IO) *term.Screen {
	return &term.Screen{W: h.ColourOut(), Colours: Colours(h)}
}

// noColor reports whether there are to be no colours.
func noColor(h *cli.IO) bool {
	dir, err := WorkingDir()
	if err != nil {
		return false
	}
	s, err := config.Load(ConfigOptions(h, new(Options), dir))
	none := false
	if err == nil { // else the run says what is wrong
		s.Decode("no_color", &none)
	}
	return none || h.Getenv("NO_COLOR") != ""
}

// Colours reports whether the output is a terminal that is to be coloured.
func Colours(h *cli.IO) bool {
	return h.OutTerminal && h.Getenv("TERM") != "dumb" && !noColor(h)
}
