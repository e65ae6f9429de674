package attach

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// picture returns a PNG.
func picture(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	pdf := "%PDF-1.4\n1 0 obj<</Type /Page>>endobj\n%%EOF"
	for name, c := range map[string]struct {
		data, want string // want: of an error
		kind       string
	}{
		"a.jpg":    {string(picture(t, 2, 2)), "", "image/png"},
		"a.txt":    {pdf, "", "application/pdf"},
		"a.pdf":    {"words", "", "text/plain"},
		"bom.txt":  {"\xef\xbb\xbfwords", "", "text/plain"},
		"le.txt":   {"\xff\xfew\x00o\x00r\x00d\x00s\x00", "", "text/plain"},
		"be.txt":   {"\xfe\xff\x00w\x00o\x00r\x00d\x00s", "", "text/plain"},
		"latin":    {"caf\xe9", "neither", ""},
		"zip":      {"PK\x03\x04\x00", "neither", ""},
		"empty":    {" \n", "empty", ""},
		"long":     {strings.Repeat("x", 3<<20), "2 MB", ""},
		"huge":     {strings.Repeat("x", 33<<20), "32 MB", ""},
		"cut.png":  {string(picture(t, 200, 100)[:90]), "cannot be shown", ""},
		"many.pdf": {"%PDF-1.4\n" + strings.Repeat("<</Type /Page >>", 101) + "%%EOF", "101 pages", ""},
		"key.pdf":  {"%PDF-1.4\ntrailer<</Encrypt 3 0 R>>%%EOF", "encrypted", ""},
		"cut.pdf":  {"%PDF-1.4\n", "damaged", ""},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		blocks, err := File(path)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "attaching "+path+": "+name+" ") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		switch b := blocks[len(blocks)-1].(type) {
		case llm.Image:
			if b.MediaType != c.kind || len(blocks) != 2 {
				t.Errorf("%s: %s", name, b.MediaType)
			}
		case llm.Document:
			if b.MediaType != c.kind || b.Title != name || c.kind == "text/plain" && string(b.Data) != "words" {
				t.Errorf("%s: %s %q %q", name, b.MediaType, b.Title, b.Data)
			}
		}
	}
	for _, path := range []string{filepath.Join(dir, "missing"), dir} {
		if _, err := File(path); err == nil || !strings.HasPrefix(err.Error(), "attaching "+path+": ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
