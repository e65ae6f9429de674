package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
)

// maxShown is how many pixels of an image are decoded to show it to a person.
const maxShown = 16_000_000

// Size returns the size in pixels of an image, by its header.
func Size(data []byte) (image.Point, error) {
	decoder := decoders[ImageType(data)]
	if decoder.image == nil {
		return image.Point{}, errors.New("it is not a PNG, JPEG, GIF or WebP image")
	}
	config, err := decoder.config(bytes.NewReader(data))
	if err != nil {
		return image.Point{}, err
	}
	return image.Pt(config.Width, config.Height), nil
}

// Thumbnail returns an image of any origin as a PNG with no side longer than so many pixels,
// encoded again: nothing but its pixels is left. It refuses images of more than 16 million pixels.
func Thumbnail(data []byte, side int) ([]byte, error) {
	size, err := Size(data)
	if err != nil {
		return nil, err
	}
	if size.X <= 0 || size.Y <= 0 || size.X > maxShown/size.Y {
		return nil, fmt.Errorf("it has %dx%d pixels, more than %d million", size.X, size.Y, maxShown/1_000_000)
	}
	kind := ImageType(data)
	pixels, err := decoders[kind].image(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	small := scale(pixels, fitSize(pixels.Bounds().Size(), side))
	if kind == "image/jpeg" {
		small = upright(small, orientation(data))
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, small)
	return b.Bytes(), err
}
