package term

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
)

// A terminal that says what it is gets asked for pictures, and gets them in pieces of text.
func TestPicture(t *testing.T) {
	var a About
	if got := a.learn(reply{kind: versionReply, text: "ghostty 1.1"}); got != pictureQuestion {
		t.Errorf("%q", got)
	}
	for name, want := range map[string]string{"foot(1.20)": "", "kitty(0.26.5)": "", "kitty(0.28.0)": pictureQuestion, "kitty(1.0)": pictureQuestion, "kitty": ""} {
		if got := a.learn(reply{kind: versionReply, text: name}); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	png := bytes.Repeat([]byte("\x1b[2J\xff"), 2000)
	var data strings.Builder
	rest := picture(0x123456, png, 40, 13)
	piece := regexp.MustCompile(`^\x1b_G([a-zA-Z0-9=,]*),m=([01]);([A-Za-z0-9+/=]*)\x1b\\`)
	for n := 0; rest != ""; n++ {
		m := piece.FindStringSubmatch(rest)
		if m == nil || len(m[3]) > maxChunk {
			t.Fatalf("%q", rest[:100])
		}
		if rest = rest[len(m[0]):]; (rest == "") != (m[2] == "0") {
			t.Error("the end is not where it is said to be")
		}
		if want := "a=T,U=1,f=100,t=d,q=2,i=1193046,c=40,r=13"; n == 0 && m[1] != want {
			t.Errorf("%s, want %s", m[1], want)
		}
		data.WriteString(m[3])
	}
	if got, err := base64.StdEncoding.DecodeString(data.String()); err != nil || !bytes.Equal(got, png) {
		t.Error("it is another picture", err)
	}
}

// The painter keeps the places of pictures as they are.
func TestPaintPlaces(t *testing.T) {
	row := "\x1b[38;2;1;2;3m\U0010eeee\u0305\u0305\U0010eeee\x1b[m"
	got := string((&Painter{}).Paint(nil, frame.Frame{Above: []string{row}, Live: []string{""}}, 80, 24))
	if !strings.Contains(got, row) {
		t.Errorf("%q", got)
	}
}
