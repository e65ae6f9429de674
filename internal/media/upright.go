package media

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation returns how a camera was held, 1 to 8, as Exif says it; 1 where it does
// not. Source: CIPA DC-008 (Exif 2.32), tag 0x0112.
func orientation(jpeg []byte) int {
	for at := 2; at+4 <= len(jpeg) && jpeg[at] == 0xff; {
		size := int(binary.BigEndian.Uint16(jpeg[at+2:]))
		if jpeg[at+1] == 0xda || size < 2 || at+2+size > len(jpeg) { // the picture itself
			return 1
		}
		if segment := jpeg[at+4 : at+2+size]; jpeg[at+1] == 0xe1 && bytes.HasPrefix(segment, []byte("Exif\x00\x00")) {
			return tiffOrientation(segment[6:])
		}
		at += 2 + size
	}
	return 1
}

func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int(order.Uint32(tiff[4:]))
	if at < 8 || at+2 > len(tiff) {
		return 1
	}
	n := int(order.Uint16(tiff[at:]))
	for at += 2; n > 0 && at+12 <= len(tiff); n, at = n-1, at+12 {
		if order.Uint16(tiff[at:]) == 0x0112 {
			if o := int(order.Uint16(tiff[at+8:])); 1 <= o && o <= 8 {
				return o
			}
			return 1
		}
	}
	return 1
}

// upright turns an image that was taken with an orientation.
func upright(img image.Image, orientation int) image.Image {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	size := image.Pt(w, h)
	if orientation >= 5 {
		size = image.Pt(h, w)
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	for y := range h {
		for x := range w {
			u, v := x, y
			switch orientation {
			case 2:
				u = w - 1 - x
			case 3:
				u, v = w-1-x, h-1-y
			case 4:
				v = h - 1 - y
			case 5:
				u, v = y, x
			case 6:
				u, v = h-1-y, x
			case 7:
				u, v = h-1-y, w-1-x
			case 8:
				u, v = y, w-1-x
			}
			out.Set(u, v, img.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	return out
}
