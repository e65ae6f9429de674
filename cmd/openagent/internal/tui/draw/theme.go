package draw

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
)

// A Theme says how styles look. The zero Theme has no colours.
type Theme struct {
	Colours  bool // the 16 colours of the terminal
	Light    bool // the background is light
	Contrast bool // no dim text
	Shaded   bool // diffs have coloured backgrounds
	Bare     bool // nothing but letters
}

// Themes names the themes that a person can choose. With "auto", the background of the terminal
// decides.
var Themes = []string{"auto", "dark", "light", "contrast", "none"}

// Named returns a theme by its name.
func (t Theme) Named(name string) Theme {
	switch name {
	case "dark":
		return Theme{Colours: true, Shaded: true}
	case "light":
		return Theme{Colours: true, Light: true, Shaded: true}
	case "contrast":
		return Theme{Colours: true, Contrast: true}
	case "none":
		return Theme{}
	}
	return t
}

var colours = map[styled.Kind]string{
	styled.Dim: "2", styled.Heading: "1;36", styled.Code: "36", styled.Link: "4", styled.Keyword: "35", styled.String: "32", styled.Number: "33",
	styled.Comment: "2", styled.Name: "36", styled.Added: "32", styled.Removed: "31", styled.AddedWord: "1;32", styled.RemovedWord: "1;31",
	styled.Good: "32", styled.Bad: "31", styled.Warn: "33", styled.Accent: "36",
}

// shades are the kinds with a background of their own, on dark and light terminals.
var shades = map[styled.Kind][2]string{
	styled.Added:       {"48;2;20;60;35", "48;2;220;245;225"},
	styled.Removed:     {"48;2;75;25;25", "48;2;255;225;225"},
	styled.AddedWord:   {"1;48;2;35;115;60", "1;48;2;165;230;180"},
	styled.RemovedWord: {"1;48;2;130;45;45", "1;48;2;255;185;185"},
}

// colourless are the kinds that differ without colours.
var colourless = map[styled.Kind]string{styled.Heading: "1", styled.Link: "4", styled.AddedWord: "1", styled.RemovedWord: "1"}

// attrs are the codes of attributes, in the order of their bits.
var attrs = []string{"1", "3", "9", "4", "7"}

// style wraps a text without escapes in the sequences of its kind.
func (t Theme) style(s span) string { return render(t, row{s}) }

// code returns the parameters of the sequence that begins the style of a span, "" for none.
func (t Theme) code(s span) string {
	if t.Bare {
		return ""
	}
	if n := s.Picture; n != 0 { // the terminal reads the number in the colour
		return fmt.Sprintf("38;2;%d;%d;%d", n>>16&0xff, n>>8&0xff, n&0xff)
	}
	code := colourless[s.Kind]
	if t.Colours {
		code = colours[s.Kind]
		shade, is := shades[s.Kind]
		switch {
		case is && t.Shaded && t.Light:
			code = shade[1]
		case is && t.Shaded:
			code = shade[0]
		case t.Contrast && code == "2":
			code = ""
		}
	}
	for i, a := range attrs {
		if s.Attr&(1<<i) != 0 {
			code = strings.TrimPrefix(code+";"+a, ";")
		}
	}
	return code
}
