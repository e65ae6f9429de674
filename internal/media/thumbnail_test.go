package media

import (
	"bytes"
	"image"
	"image/png"
	"testing"
)

// A thumbnail has the pixels of an image, and nothing else of it.
func TestThumbnail(t *testing.T) {
	encode := func(w, h int) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	data := append(encode(1200, 800), "\x1b]52;c;aGk=\a"...)
	small, err := Thumbnail(data, 300)
	if err != nil || bytes.Contains(small, []byte("\x1b]52")) {
		t.Fatal(err)
	}
	if size, err := Size(small); err != nil || size != image.Pt(300, 200) {
		t.Error(size, err)
	}
	for name, data := range map[string][]byte{"no image": []byte("\x1b[2J"), "damaged": data[:200], "too large": encode(5000, 4000)} {
		if _, err := Thumbnail(data, 300); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
