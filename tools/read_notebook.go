package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A notebook holds the visible parts of a Jupyter notebook (nbformat 4).
type notebook struct {
	Cells []struct {
		ID      string          `json:"id"`
		Type    string          `json:"cell_type"`
		Source  notebookText    `json:"source"`
		Count   *int            `json:"execution_count"`
		Outputs []notebookShown `json:"outputs"`
	} `json:"cells"`
}

type notebookShown struct {
	Type      string                  `json:"output_type"`
	Text      notebookText            `json:"text"`
	Data      map[string]notebookText `json:"data"`
	Name      string                  `json:"ename"`
	Value     string                  `json:"evalue"`
	Traceback []string                `json:"traceback"`
}

// A notebookText is a string, or a list of strings to be joined. Other JSON
// (application/json outputs) is "".
type notebookText string

func (t *notebookText) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = notebookText(one)
		return nil
	}
	var many []string
	if json.Unmarshal(data, &many) == nil {
		*t = notebookText(strings.Join(many, ""))
	}
	return nil
}

const (
	maxOutput         = 10_000 // bytes of one output of a cell
	maxNotebookImages = 10
)

// showNotebook shows the cells of a notebook and their outputs; nil if text is not a
// notebook.
func showNotebook(source string, offset, limit int) *tool.Result {
	var nb notebook
	if json.Unmarshal([]byte(source), &nb) != nil || nb.Cells == nil {
		return nil
	}
	first := max(offset, 1) - 1
	if first > 0 && first >= len(nb.Cells) {
		return tool.Errorf("the notebook has %s: there is no cell %d", text.Count(len(nb.Cells), "cell"), offset)
	}
	end := len(nb.Cells)
	if limit > 0 {
		end = min(end, first+limit)
	}
	s := notebookView{}
	fmt.Fprintf(&s.text, "Notebook with %s.\n", text.Count(len(nb.Cells), "cell"))
	for i := first; i < end; i++ {
		c := nb.Cells[i]
		fmt.Fprintf(&s.text, "\n--- cell %d: %s", i+1, c.Type)
		if c.ID != "" {
			fmt.Fprintf(&s.text, ", id %s", c.ID)
		}
		if c.Count != nil {
			fmt.Fprintf(&s.text, ", run %d", *c.Count)
		}
		fmt.Fprintf(&s.text, " ---\n%s\n", c.Source)
		for _, o := range c.Outputs {
			s.output(i+1, o)
		}
	}
	r := tool.Text(s.text.String())
	r.Content = append(r.Content, s.images...)
	return r
}

type notebookView struct {
	text   strings.Builder
	images llm.Blocks
}

func (s *notebookView) output(cell int, o notebookShown) {
	shown := string(o.Text)
	switch {
	case o.Type == "error" && len(o.Traceback) > 0:
		shown = strings.Join(o.Traceback, "\n")
	case o.Type == "error":
		shown = o.Name + ": " + o.Value
	case o.Data != nil:
		shown = string(o.Data["text/plain"])
	}
	for _, kind := range []string{"image/png", "image/jpeg"} {
		if data := o.Data[kind]; data != "" {
			shown = strings.TrimPrefix(shown+"\n", "\n") + s.image(string(data))
		}
	}
	shown = text.Clean(shown)
	if len(shown) > maxOutput {
		shown = strings.ToValidUTF8(shown[:maxOutput], "") + fmt.Sprintf("\n[… %d more bytes]", len(shown)-maxOutput)
	}
	if shown != "" {
		fmt.Fprintf(&s.text, "--- output of cell %d ---\n%s\n", cell, strings.TrimSuffix(shown, "\n"))
	}
}

// image adds a picture and returns the words that stand in its place.
func (s *notebookView) image(data string) string {
	if len(s.images) == maxNotebookImages {
		return "[an image that is left out]"
	}
	raw, err := decodeBase64(data)
	if err != nil {
		return "[an image that cannot be read]"
	}
	p, err := media.Image(raw)
	if err != nil {
		return fmt.Sprintf("[an image that cannot be shown: %v]", err)
	}
	s.images = append(s.images, p.Image)
	return fmt.Sprintf("[image %d below]", len(s.images))
}
