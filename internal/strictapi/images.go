package strictapi

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
)

const (
	MaxImage      = 5 << 20 // base64 characters
	maxSide       = 8000    // pixels
	manyImages    = 20      // above this many the sides are limited to maxSideOfMany
	maxSideOfMany = 2000
)

var imageTypes = SetOf("image/jpeg", "image/png", "image/gif", "image/webp")

func (c *anthropicCheck) checkImages() {
	for _, p := range c.images {
		if source := ObjectOf(p.block["source"]); source["type"] == "base64" {
			c.checkImage(p.path, TextOf(source["media_type"]), TextOf(source["data"]))
		}
	}
}

func (c *anthropicCheck) checkImage(path, media, data string) {
	source := path + ".image.source.base64"
	if !imageTypes[media] {
		c.Add("A46", path, "%s.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", source)
	}
	if len(data) > MaxImage {
		c.Add("A47", path, "%s: image exceeds 5 MB maximum: %d bytes > %d bytes", source, len(data), MaxImage)
		return
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		c.Add("A46", path, "%s.data: invalid base64", source)
		return
	}
	kind, width, height := sniff(raw)
	switch {
	case kind == "":
		c.Add("A46", path, "Could not process image")
	case kind != media && imageTypes[media]:
		c.Add("A46", path, "%s: The image was specified using the %s media type, but the image appears to be a %s image", source, media, kind)
	}
	side := max(width, height)
	switch {
	case side > maxSide:
		c.Add("A48", path, "%s.data: At least one of the image dimensions exceed max allowed size: %d pixels", source, maxSide)
	case side > maxSideOfMany && len(c.images) > manyImages:
		c.Add("A48", path, "%s.data: At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", source, maxSideOfMany)
	}
}

// sniff tells an image by its first bytes; sides in pixels for PNG and GIF only.
func sniff(raw []byte) (media string, width, height int) {
	switch {
	case bytes.HasPrefix(raw, []byte("\x89PNG\r\n\x1a\n")) && len(raw) >= 24:
		return "image/png", int(binary.BigEndian.Uint32(raw[16:])), int(binary.BigEndian.Uint32(raw[20:]))
	case (bytes.HasPrefix(raw, []byte("GIF87a")) || bytes.HasPrefix(raw, []byte("GIF89a"))) && len(raw) >= 10:
		return "image/gif", int(binary.LittleEndian.Uint16(raw[6:])), int(binary.LittleEndian.Uint16(raw[8:]))
	case bytes.HasPrefix(raw, []byte("\xff\xd8\xff")):
		return "image/jpeg", 0, 0
	case bytes.HasPrefix(raw, []byte("RIFF")) && len(raw) >= 12 && string(raw[8:12]) == "WEBP":
		return "image/webp", 0, 0
	}
	return "", 0, 0
}
