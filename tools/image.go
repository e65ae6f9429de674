package tools

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"path/filepath"
	"strings"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
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

// imageType returns the media type of an image by its first bytes, "" for what
// is not an image that can be shown.
func imageType(data []byte) string {
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

func showImage(path, kind string, data []byte) *tool.Result {
	img, size, err := fitImage(kind, data)
	if err != nil {
		return tool.Errorf("%s is an image (%s) that cannot be shown: %v", path, kind, err)
	}
	text := fmt.Sprintf("Image %s (%s, %dx%d pixels)", path, kind, size.old.X, size.old.Y)
	if size.new != size.old {
		text += fmt.Sprintf(", shown at %dx%d", size.new.X, size.new.Y)
	}
	r := tool.Text(text + ".")
	r.Content = append(r.Content, img)
	r.Title = "Read " + filepath.Base(path)
	r.Details = details(map[string]any{"filePath": path, "mediaType": kind, "width": size.old.X, "height": size.old.Y})
	return r
}

type imageSize struct{ old, new image.Point }

// fitImage returns an image as providers take it. It is decoded as a whole even
// if it is passed on as it is: a damaged one would spoil the transcript.
func fitImage(kind string, data []byte) (img llm.Image, size imageSize, err error) {
	decoder := decoders[kind]
	if decoder.image == nil {
		return img, size, errors.New("it is of no known format")
	}
	config, err := decoder.config(bytes.NewReader(data))
	if err != nil {
		return img, size, err
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return img, size, fmt.Errorf("it has %dx%d pixels, more than %d million", config.Width, config.Height, maxPixels/1_000_000)
	}
	pixels, err := decoder.image(bytes.NewReader(data))
	if err != nil {
		return img, size, err
	}
	size.old = pixels.Bounds().Size()
	size.new = fitSize(size.old, maxSide)
	if size.new == size.old && len(data) <= maxImage && kind != "image/gif" {
		return llm.Image{MediaType: kind, Data: data}, size, nil
	}
	for side := maxSide; ; side /= 2 {
		size.new = fitSize(size.old, side)
		img, err := encodeImage(scale(pixels, size.new), kind != "image/jpeg")
		if err != nil || len(img.Data) <= maxImage {
			return img, size, err
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

// decodeBase64 reads base64 that may be broken into lines.
func decodeBase64(s string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "").Replace(s))
}
