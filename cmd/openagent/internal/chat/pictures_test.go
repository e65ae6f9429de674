package chat

import (
	"fmt"
	"testing"
)

func TestFit(t *testing.T) {
	got := ""
	for _, size := range [][2]int{{1200, 800}, {800, 1200}, {10_000, 1}, {1, 10_000}, {16, 16}} {
		columns, rows := fit(size[0], size[1])
		got += fmt.Sprintf("%dx%d ", columns, rows)
	}
	if want := "40x13 20x15 40x1 1x15 30x15 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
