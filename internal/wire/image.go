package wire

import (
	"bytes"
	"encoding/binary"
)

// Picture returns the media type of an image, and its width and height in pixels. The type
// is "" for anything but PNG, GIF, JPEG and WebP; sizes that the header does not contain
// are 0.
func Picture(data []byte) (mediaType string, width, height int) {
	switch {
	case len(data) >= 24 && bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png", int(binary.BigEndian.Uint32(data[16:])), int(binary.BigEndian.Uint32(data[20:]))
	case len(data) >= 10 && (bytes.HasPrefix(data, []byte("GIF87a")) || bytes.HasPrefix(data, []byte("GIF89a"))):
		return "image/gif", int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:]))
	case len(data) >= 4 && bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		width, height = jpegSize(data)
		return "image/jpeg", width, height
	case len(data) >= 16 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		width, height = webpSize(data[12:])
		return "image/webp", width, height
	}
	return "", 0, 0
}

// jpegSize looks for the start-of-frame segment (ITU T.81, B.2.2).
func jpegSize(data []byte) (width, height int) {
	for i := 2; i+9 <= len(data) && data[i] == 0xff; {
		marker := data[i+1]
		if marker == 0xff || 0xd0 <= marker && marker <= 0xd8 {
			i++
			if marker != 0xff {
				i++
			}
			continue
		}
		if 0xc0 <= marker && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc {
			return int(binary.BigEndian.Uint16(data[i+7:])), int(binary.BigEndian.Uint16(data[i+5:]))
		}
		i += 2 + int(binary.BigEndian.Uint16(data[i+2:]))
	}
	return 0, 0
}

// webpSize reads the first chunk of a WebP file (RFC 9649, 2.5 to 2.7).
func webpSize(chunk []byte) (width, height int) {
	if len(chunk) < 18 {
		return 0, 0
	}
	le := binary.LittleEndian
	switch string(chunk[:4]) {
	case "VP8 ":
		return int(le.Uint16(chunk[14:]) & 0x3fff), int(le.Uint16(chunk[16:]) & 0x3fff)
	case "VP8L":
		bits := le.Uint32(chunk[9:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		return int(le.Uint32(chunk[12:])&0xffffff) + 1, int(le.Uint32(chunk[14:])>>8) + 1
	}
	return 0, 0
}
