package chat

import (
	"fmt"
	"math/rand/v2"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/llm"
)

const (
	maxPictures    = 4   // of a result are shown, the others are named
	pictureSide    = 800 // pixels of a picture on the terminal
	pictureColumns = 40
	pictureRows    = 15
)

// pictures prepares the images in the result of a call: their sizes, and what a terminal that shows
// pictures gets. The data comes from tools: the pixels are decoded and encoded again.
func (c *Chat) pictures(d event.ToolResult) {
	var list []ui.Picture
	for _, b := range d.Result.Content {
		img, ok := b.(llm.Image)
		if !ok {
			continue
		}
		p := ui.Picture{Size: sizeOf(img.Data)}
		if p.Size != "" && len(list) < maxPictures && c.screen != nil && c.screen.Terminal.About().Pictures {
			if small, err := media.Thumbnail(img.Data, pictureSide); err == nil { // otherwise it is named
				p.PNG, p.ID = small, rand.Uint32N(1<<24-1)+1
				p.Columns, p.Rows = cells(small)
			}
		}
		list = append(list, p)
	}
	if list != nil {
		c.post(ui.Pictures{Call: d.Call, List: list})
	}
}

// sizeOf says how many pixels an image has, "" if it cannot be told.
func sizeOf(data []byte) string {
	size, err := media.Size(data)
	if err != nil || size.X <= 0 || size.Y <= 0 {
		return ""
	}
	return fmt.Sprintf("%d×%d", size.X, size.Y)
}

// cells returns how many cells a picture takes.
func cells(png []byte) (columns, rows int) {
	size, err := media.Size(png)
	if err != nil {
		return 1, 1
	}
	return fit(size.X, size.Y)
}

// fit returns how many cells a picture of a size takes. A cell is twice as high as it is wide.
func fit(width, height int) (columns, rows int) {
	columns = pictureColumns
	rows = (columns*height/width + 1) / 2
	if limit := min(pictureRows, styled.MaxPictureRows); rows > limit {
		rows = limit
		columns = min(max(2*rows*width/height, 1), pictureColumns)
	}
	return columns, max(rows, 1)
}
