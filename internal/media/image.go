// Package media makes images and PDFs fit for models: as large as providers take them, and
// none that would spoil a conversation.
package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"github.com/openagent-go/agent/llm"
)

const (
	// maxSide is the longest side in pixels of an image as the model gets it:
	// larger ones are scaled down by the provider.
	maxSide = 1568
	// maxImage is the size in bytes of the largest image that is sent: providers
	// count 5 MiB of base64.
	maxImage = 5 << 20 / 4 * 3
	// maxPixels is how many pixels are decoded: an image of few bytes can fill the
	// memory.
	maxPixels = 50_000_000
)

// ImageType returns the media type of an image by its first bytes. It is "" for anything
// that is not an image models accept.
func ImageType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// A Picture is an image as models take it, with its size in pixels before and now.
type Picture struct {
	llm.Image
	Was, Is image.Point // the size in pixels before and after scaling
}

// Size says how large a picture is, and how large it is shown.
func (p Picture) Size() string {
	s := fmt.Sprintf("%dx%d pixels", p.Was.X, p.Was.Y)
	if p.Is != p.Was {
		s += fmt.Sprintf(", shown at %dx%d", p.Is.X, p.Is.Y)
	}
	return s
}

// Image returns an image of any type that models accept. The content, not the name, decides
// the type. The image stands upright, no side is longer than 1,568 pixels, and its base64
// is at most 5 MiB. Of an animation it is the first frame. Data that needs no change stays
// as it is, but is decoded as a whole: a damaged image would spoil a conversation
// permanently. An image of more than 50 million pixels is refused without decoding it.
func Image(data []byte) (p Picture, err error) {
	kind := ImageType(data)
	decoder := decoders[kind]
	if decoder.image == nil {
		return p, errors.New("it is not a PNG, JPEG, GIF or WebP image")
	}
	config, err := decoder.config(bytes.NewReader(data))
	if err != nil {
		return p, err
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return p, fmt.Errorf("it has %dx%d pixels, more than %d million", config.Width, config.Height, maxPixels/1_000_000)
	}
	pixels, err := decoder.image(bytes.NewReader(data))
	if err != nil {
		return p, err
	}
	turned := kind == "image/jpeg" && orientation(data) > 1
	p.Was = pixels.Bounds().Size()
	if turned {
		pixels = upright(scale(pixels, fitSize(p.Was, maxSide)), orientation(data)) // the smaller one is turned
		if size := pixels.Bounds().Size(); (size.X > size.Y) != (p.Was.X > p.Was.Y) {
			p.Was = image.Pt(p.Was.Y, p.Was.X)
		}
	}
	p.Is = fitSize(pixels.Bounds().Size(), maxSide)
	if p.Is == p.Was && len(data) <= maxImage && kind != "image/gif" && !turned {
		p.Image = llm.Image{MediaType: kind, Data: data}
		return p, nil
	}
	for side := maxSide; ; side /= 2 {
		p.Is = fitSize(pixels.Bounds().Size(), side)
		p.Image, err = encodeImage(scale(pixels, p.Is), kind != "image/jpeg")
		if err != nil || len(p.Data) <= maxImage {
			return p, err
		}
	}
}

// decoders reads each type; of a moving picture the first frame.
var decoders = map[string]struct {
	config func(r *bytes.Reader) (image.Config, error)
	image  func(r *bytes.Reader) (image.Image, error)
}{
	"image/png": {
		func(r *bytes.Reader) (image.Config, error) { return png.DecodeConfig(r) },
		func(r *bytes.Reader) (image.Image, error) { return png.Decode(r) },
	},
	"image/jpeg": {
		func(r *bytes.Reader) (image.Config, error) { return jpeg.DecodeConfig(r) },
		func(r *bytes.Reader) (image.Image, error) { return jpeg.Decode(r) },
	},
	"image/gif": {
		func(r *bytes.Reader) (image.Config, error) { return gif.DecodeConfig(r) },
		func(r *bytes.Reader) (image.Image, error) { return gif.Decode(r) },
	},
	"image/webp": {
		func(r *bytes.Reader) (image.Config, error) { return webp.DecodeConfig(r) },
		func(r *bytes.Reader) (image.Image, error) { return webp.Decode(r) },
	},
}

// fitSize scales size down, in proportion, until no side is longer than side.
func fitSize(size image.Point, side int) image.Point {
	long := max(size.X, size.Y)
	if long <= side {
		return size
	}
	return image.Pt(max(1, size.X*side/long), max(1, size.Y*side/long))
}

func scale(img image.Image, size image.Point) image.Image {
	if img.Bounds().Size() == size {
		return img
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	draw.BiLinear.Scale(out, out.Bounds(), img, img.Bounds(), draw.Src, nil)
	return out
}

// encodeImage writes img as PNG where that is wanted and small enough, else as
// JPEG on white.
func encodeImage(img image.Image, lossless bool) (llm.Image, error) {
	var b bytes.Buffer
	if lossless {
		fast := png.Encoder{CompressionLevel: png.BestSpeed}
		if err := fast.Encode(&b, img); err != nil {
			return llm.Image{}, fmt.Errorf("encoding the image: %w", err)
		}
		if b.Len() <= maxImage {
			return llm.Image{MediaType: "image/png", Data: b.Bytes()}, nil
		}
		b.Reset()
	}
	white := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(white, white.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(white, white.Bounds(), img, img.Bounds().Min, draw.Over)
	if err := jpeg.Encode(&b, white, &jpeg.Options{Quality: 85}); err != nil {
		return llm.Image{}, fmt.Errorf("encoding the image: %w", err)
	}
	return llm.Image{MediaType: "image/jpeg", Data: b.Bytes()}, nil
}
