package tools

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

func showImage(path, kind string, data []byte) *tool.Result {
	p, err := media.Image(data)
	if err != nil {
		return tool.Errorf("%s is an image (%s) that cannot be shown: %v", path, kind, err)
	}
	size, shown, _ := strings.Cut(p.Size(), ", ")
	text := fmt.Sprintf("Image %s (%s, %s)", path, kind, size)
	if shown != "" {
		text += ", " + shown
	}
	r := tool.Text(text + ".")
	r.Content = append(r.Content, p.Image)
	r.Title = "Read " + filepath.Base(path)
	r.Details = toolapi.Details(map[string]any{"filePath": path, "mediaType": kind, "width": p.Was.X, "height": p.Was.Y})
	return r
}

// showPDF passes a document on.
func showPDF(path string, data []byte) *tool.Result {
	d, err := media.PDF(path, data)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	d.Title = filepath.Base(path)
	r := tool.Text(fmt.Sprintf("PDF document %s (%d bytes).", path, len(data)))
	r.Content = append(r.Content, d)
	return r
}

// decodeBase64 reads base64 that may be broken into lines.
func decodeBase64(s string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "").Replace(s))
}
