package media

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
	"math/rand/v2"
	"testing"

	"golang.org/x/image/webp"
)

// picture is an image whose upper left quarter is red.
func picture(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{0, 0, 255, 255}
			if x < w/2 && y < h/2 {
				c = color.RGBA{255, 0, 0, 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func encoded(t testing.TB, kind string, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 95})
	case "gif":
		err = gif.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// largeWebP is a lossless WebP of 8,001 by 2 pixels of one colour.
func largeWebP(t testing.TB) []byte {
	t.Helper()
	// The picture of one pixel has five codes of one symbol each, so that more pixels of
	// it take no more bits: its size stands in the header alone.
	data, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	bits := binary.LittleEndian.Uint32(data[21:])
	binary.LittleEndian.PutUint32(data[21:], bits&^(1<<28-1)|(8001-1)|(2-1)<<14)
	return data
}

func TestImage(t *testing.T) {
	for name, c := range map[string]struct {
		data    []byte
		kind    string
		was, is image.Point
	}{
		"small png":    {encoded(t, "png", picture(20, 10)), "image/png", image.Pt(20, 10), image.Pt(20, 10)},
		"large png":    {encoded(t, "png", picture(9000, 100)), "image/png", image.Pt(9000, 100), image.Pt(1568, 17)},
		"large jpeg":   {encoded(t, "jpeg", picture(300, 2000)), "image/jpeg", image.Pt(300, 2000), image.Pt(235, 1568)},
		"large gif":    {encoded(t, "gif", picture(2000, 50)), "image/png", image.Pt(2000, 50), image.Pt(1568, 39)},
		"large webp":   {largeWebP(t), "image/png", image.Pt(8001, 2), image.Pt(1568, 1)},
		"edge of size": {encoded(t, "png", picture(1568, 1)), "image/png", image.Pt(1568, 1), image.Pt(1568, 1)},
	} {
		p, err := Image(c.data)
		if err != nil || p.MediaType != c.kind || ImageType(p.Data) != c.kind || p.Was != c.was || p.Is != c.is {
			t.Errorf("%s: %s, %v to %v, %v", name, p.MediaType, p.Was, p.Is, err)
			continue
		}
		img, _, err := image.Decode(bytes.NewReader(p.Data))
		if err != nil || img.Bounds().Size() != c.is {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := webp.Decode(bytes.NewReader(largeWebP(t))); err != nil {
		t.Errorf("the WebP is not what it should be: %v", err)
	}
}

func TestImageOfNoiseBecomesSmallEnough(t *testing.T) {
	noise := image.NewRGBA(image.Rect(0, 0, 1100, 1100))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(r.Uint32())
	}
	p, err := Image(encoded(t, "png", noise))
	if err != nil || base64.StdEncoding.EncodedLen(len(p.Data)) > 5<<20 || p.Is != p.Was {
		t.Errorf("%d bytes, %v, %v", len(p.Data), p.Is, err)
	}
}

// exif puts an orientation into a JPEG.
func exif(jpeg []byte, orientation uint16, order binary.ByteOrder) []byte {
	tiff := []byte("II*\x00")
	if order == binary.BigEndian {
		tiff = []byte("MM\x00*")
	}
	put := func(v any) { tiff, _ = binary.Append(tiff, order, v) } // of fixed size
	put(uint32(8))
	put(uint16(2))
	for _, entry := range [][4]uint16{{0x010f, 3, 1, 0}, {0x0112, 3, 1, orientation}} {
		put(entry[0])
		put(entry[1])
		put(uint32(entry[2]))
		put(entry[3])
		put(uint16(0))
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	out := append(bytes.Clone(jpeg[:2]), 0xff, 0xe1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(segment)+2))
	return append(append(out, segment...), jpeg[2:]...)
}

// However the camera was held, the red quarter comes where it was seen.
func TestImageStandsUpright(t *testing.T) {
	pictures := map[int][]byte{40: encoded(t, "jpeg", picture(40, 20)), 1600: encoded(t, "jpeg", picture(1600, 160))}
	for orientation, red := range map[uint16]image.Point{1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 1}, 8: {0, 1}} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			for w, data := range pictures {
				if w > 40 && (order == binary.BigEndian) != (orientation%2 == 0) {
					continue // the byte order does not depend on the size, and large ones take time
				}
				p, err := Image(exif(data, orientation, order))
				if err != nil {
					t.Fatal(err)
				}
				img, err := jpeg.Decode(bytes.NewReader(p.Data))
				if err != nil {
					t.Fatal(err)
				}
				size := img.Bounds().Size()
				if size != p.Is || (size.Y > size.X) != (orientation >= 5) || max(size.X, size.Y) > 1568 || (p.Was.Y > p.Was.X) != (orientation >= 5) {
					t.Errorf("orientation %d: %v to %v", orientation, p.Was, p.Is)
				}
				r, _, b, _ := img.At(size.X/4+red.X*size.X/2, size.Y/4+red.Y*size.Y/2).RGBA()
				if r < 0xc000 || b > 0x4000 {
					t.Errorf("orientation %d: no red at %v", orientation, red)
				}
			}
		}
	}
	for _, broken := range []string{"", "\xff", "\xff\xe1", "\xff\xe1\x00\x08Exif\x00\x00", "\xff\xe1\x00\x10Exif\x00\x00II*\x00\xff\xff\xff\xff", "\xff\xe1\xff\xff"} {
		if o := orientation([]byte("\xff\xd8" + broken)); o != 1 {
			t.Errorf("%q: %d", broken, o)
		}
	}
}

func TestImageRefused(t *testing.T) {
	bomb := encoded(t, "png", picture(1, 1))
	binary.BigEndian.PutUint32(bomb[16:], 60_000)
	binary.BigEndian.PutUint32(bomb[20:], 60_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	wide := largeWebP(t)
	binary.LittleEndian.PutUint32(wide[21:], binary.LittleEndian.Uint32(wide[21:])|(1<<28-1))
	for name, data := range map[string][]byte{
		"bomb": bomb, "webp bomb": wide, "nothing": nil, "text": []byte("hello"), "tiff": []byte("II*\x00........"),
		"png cut": encoded(t, "png", picture(200, 100))[:100], "jpeg cut": encoded(t, "jpeg", picture(200, 100))[:400], "gif cut": encoded(t, "gif", picture(200, 100))[:900],
	} {
		if p, err := Image(data); err == nil {
			t.Errorf("%s: %v", name, p.Is)
		}
	}
}

func TestPDFRefused(t *testing.T) {
	for title, want := range map[string]string{"a.txt": "a.txt is not a PDF file", "": "the document is not a PDF file"} {
		if _, err := PDF(title, []byte("words")); err == nil || err.Error() != want {
			t.Errorf("%q: %v", title, err)
		}
	}
}
