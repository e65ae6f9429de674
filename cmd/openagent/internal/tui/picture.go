package tui

import "github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"

// takePictures keeps the pictures that the terminal is to get.
func (l *Loop) takePictures(d ui.Pictures) ui.Pictures {
	list := make([]ui.Picture, len(d.List))
	for i, p := range d.List {
		if p.PNG == nil {
			p.ID = 0
		} else if p.ID != 0 {
			l.unsent = append(l.unsent, p)
		}
		p.PNG = nil
		list[i] = p
	}
	return ui.Pictures{Call: d.Call, List: list}
}

// sendPictures gives pictures to the terminal, before the frame that shows them. The alternate
// screen has pictures of its own.
func (l *Loop) sendPictures() error {
	for _, p := range l.unsent {
		if err := l.Terminal.Picture(p.ID, p.PNG, p.Columns, p.Rows); err != nil {
			return err
		}
	}
	l.unsent = nil
	return nil
}
