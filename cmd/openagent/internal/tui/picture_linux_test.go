package tui

import (
	"context"
	"errors"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// A terminal that takes pictures gets them before the frame that shows them.
func TestPictures(t *testing.T) {
	s := sit(t, t.TempDir())
	s.shows("status")
	s.types("\x1bP>|kitty(0.36)\x1b\\")
	s.shows("\x1b_Gi=31,s=1,v=1,a=q")
	s.types("\x1b_Gi=31;OK\x1b\\x")
	s.shows("> x")
	s.Tell(ui.Pictures{Call: "c", List: []ui.Picture{{ID: 7, Columns: 4, Rows: 2, PNG: []byte("pixels")}, {ID: 8}}})
	s.shows("\x1b_Ga=T,U=1,f=100,t=d,q=2,i=7,c=4,r=2,m=0;cGl4ZWxz\x1b\\")
	s.stop()
	if err := s.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if list := s.Model.Pictures["c"]; len(list) != 2 || list[0].ID != 7 || list[0].PNG != nil || list[1].ID != 0 {
		t.Error(list)
	}
}
