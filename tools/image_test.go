package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/llm"
)

func encodeBase64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func testPNG(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadImages(t *testing.T) {
	small := image.NewPaletted(image.Rect(0, 0, 20, 10), color.Palette{color.Black, color.White})
	var jpg, moving bytes.Buffer
	if err := jpeg.Encode(&jpg, small, nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{small, small}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	// A lossless WebP of one pixel.
	onePixel, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	for name, c := range map[string]struct {
		data []byte
		kind string
		text string
	}{
		"a.png":     {testPNG(t, 20, 10), "image/png", "20x10 pixels)."},
		"wrong.jpg": {testPNG(t, 20, 10), "image/png", "(image/png"},
		"a.jpg":     {jpg.Bytes(), "image/jpeg", "20x10 pixels)."},
		"a.gif":     {moving.Bytes(), "image/png", "20x10 pixels)."},
		"a.webp":    {onePixel, "image/webp", "1x1 pixels)."},
		"large.png": {testPNG(t, 2000, 500), "image/png", "2000x500 pixels), shown at 1568x392."},
		"thin.png":  {testPNG(t, 20_000, 1), "image/png", "shown at 1568x1."},
	} {
		d.put(name, string(c.data))
		r := d.do(d.read, readInput{FilePath: name})
		if r.IsError || !strings.Contains(r.Text(), c.text) {
			t.Errorf("%s: %s", name, r.Text())
			continue
		}
		img := r.Content[1].(llm.Image)
		if img.MediaType != c.kind || media.ImageType(img.Data) != c.kind {
			t.Errorf("%s: sent as %s, is %s", name, img.MediaType, media.ImageType(img.Data))
		}
		if config, _, err := image.DecodeConfig(bytes.NewReader(img.Data)); c.kind != "image/webp" && (err != nil || config.Width > 1568 || config.Height > 1568) {
			t.Errorf("%s: %+v, %v", name, config, err)
		}
	}
}

func TestDamagedImagesAreRefused(t *testing.T) {
	whole := testPNG(t, 20, 10)
	bomb := bytes.Clone(testPNG(t, 1, 1))
	binary.BigEndian.PutUint32(bomb[16:], 16_000)
	binary.BigEndian.PutUint32(bomb[20:], 16_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	d := newDesk(t)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut.png":  {whole[:len(whole)-20], "cannot be shown"},
		"bomb.png": {bomb, "16000x16000 pixels"},
		"jpeg":     {[]byte("\xff\xd8\xff\xe0 and so on"), "cannot be shown"},
	} {
		d.put(name, string(c.data))
		d.fails(d.read, readInput{FilePath: name}, c.want)
	}
}
