package tools

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed read.md
var readText string

const (
	maxReadLines = 2000
	maxReadBytes = 50 << 10
	maxLineWidth = 2000   // characters
	maxEntries   = 1000   // of a folder that is listed
	maxFolder    = 10_000 // entries that are read at all
)

type readInput struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset,omitempty"`
	Limit    int    `json:"limit,omitempty"`
}

// Read returns the tool that shows files and folders.
func Read(files Workspace) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Read", Title: "Read a file", Description: readText,
		ReadOnly: true, NonDestructive: true, Idempotent: true, State: filesState,
	}, func(ctx context.Context, call tool.Call, in readInput) (*tool.Result, error) {
		if in.Offset < 0 || in.Limit < 0 {
			return nil, &tool.InputError{Tool: "Read", Problems: []string{"offset and limit must be at least 1"}}
		}
		path, err := files.Resolve(call.Dir, in.FilePath)
		if err != nil {
			return tool.Errorf("%v", err), nil
		}
		r := reading{files: files, call: call, in: in, path: path}
		result, err := r.result(ctx)
		if err != nil {
			return nil, err
		}
		if result.Title == "" {
			result.Title = "Read " + filepath.Base(path)
		}
		return result, nil
	}).OnClassify(func(call tool.Call, in readInput) tool.Traits {
		path, err := files.Resolve(call.Dir, in.FilePath)
		if err != nil {
			return tool.Traits{ReadOnly: true}
		}
		return access(permission.ReadFile, path)
	})
}

// A reading is one call of Read.
type reading struct {
	files toolapi.Files
	call  tool.Call
	in    readInput
	path  string
}

// hidden reports whether the rules forbid showing path, as it is named or as it
// resolved.
func (r reading) hidden() bool {
	named := r.in.FilePath
	if !filepath.IsAbs(named) {
		named = filepath.Join(r.call.Dir, named)
	}
	return r.call.Hides(r.path) || r.call.Hides(named)
}

func (r reading) result(ctx context.Context) (*tool.Result, error) {
	if r.hidden() {
		return tool.Errorf("%s may not be read: a rule forbids it", r.path), nil
	}
	f, err := r.files.Open(ctx, "", r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Errorf("%s does not exist.%s", r.path, r.didYouMean(ctx)), nil
	}
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.path, err)
	}
	switch {
	case info.IsDir():
		return r.folder(f)
	case info.Size() > maxFile:
		return r.large(ctx, f)
	}
	data, err := readWhole(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.path, err)
	}
	result := r.content(ctx, data)
	if !result.IsError && len(data) <= maxFile {
		result.Patch.State = sight(r.path, data)
	}
	return result, nil
}

// content shows a file by its content, whatever its name.
func (r reading) content(ctx context.Context, data []byte) *tool.Result {
	if kind := media.ImageType(data); kind != "" {
		return showImage(r.path, kind, data)
	}
	if media.IsPDF(data) {
		return showPDF(r.path, data)
	}
	text, _, _ := decode(data)
	if binaryText(text) {
		return tool.Errorf("%s is a binary file (%s, %d bytes) and cannot be shown", r.path, binaryType(data), len(data))
	}
	if strings.EqualFold(filepath.Ext(r.path), ".ipynb") {
		if result := showNotebook(text, r.in.Offset, r.in.Limit); result != nil {
			return result
		}
	}
	if text == "" {
		return tool.Text(fmt.Sprintf("%s exists and is empty.", r.path))
	}
	w := r.window(ctx, strings.NewReader(text))
	w.total = countLines(text)
	return w.result(r.path)
}

// large shows a part of a file that is too large to be changed.
func (r reading) large(ctx context.Context, f io.Reader) (*tool.Result, error) {
	b := bufio.NewReaderSize(f, 64<<10)
	head, err := b.Peek(8 << 10)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.path, err)
	}
	if binaryText(string(head)) {
		return tool.Errorf("%s is a binary file (%s) and cannot be shown", r.path, binaryType(head)), nil
	}
	w := r.window(ctx, b)
	if w.err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.path, w.err)
	}
	return w.result(r.path), nil
}

// A window is a part of a text as it is shown.
type window struct {
	text        strings.Builder
	first, next int  // numbers of the first line shown and of the first after it
	more        bool // there is text after it
	cut         bool // a line was cut
	total       int  // lines of the file, 0 if not known
	err         error
}

// window reads the lines that the call asks for, as many as may be shown.
func (r reading) window(ctx context.Context, text io.Reader) *window {
	b := bufio.NewReaderSize(text, 16<<10)
	limit := r.in.Limit
	if limit == 0 {
		limit = maxReadLines
	}
	w := &window{first: max(r.in.Offset, 1)}
	for w.next = 1; ; w.next++ {
		if w.next%1024 == 0 && ctx.Err() != nil {
			w.err = ctx.Err()
			return w
		}
		shown := w.next >= w.first
		if shown && w.next-w.first >= limit {
			_, err := b.Peek(1)
			w.more = err == nil
			return w
		}
		line, left, err := readLine(ctx, b, shown)
		if err != nil {
			if err != io.EOF {
				w.err = err
			}
			return w
		}
		if !shown {
			continue
		}
		if left > 0 {
			line += fmt.Sprintf("… [%d more characters]", left)
			w.cut = true
		}
		line = numbered(w.next, line)
		if w.text.Len() > 0 && w.text.Len()+len(line) > maxReadBytes {
			w.more = true
			return w
		}
		w.text.WriteString(line)
	}
}

// numbered is a line as it is shown, with its number as cat -n writes it.
func numbered(n int, line string) string {
	digits := strconv.Itoa(n)
	return "      "[min(len(digits), 6):] + digits + "→" + line + "\n"
}

// readLine reads one line of any length. It returns its first characters, if they are
// wanted, and the number of the others. A line break (LF or CR LF) is not part of the line.
func readLine(ctx context.Context, b *bufio.Reader, want bool) (line string, left int, err error) {
	var head []byte
	var last byte
	size := 0
	for {
		part, err := b.ReadSlice('\n')
		size += len(part)
		if len(part) > 0 {
			last = part[len(part)-1]
		}
		if room := 4*maxLineWidth + 2 - len(head); want && room > 0 {
			head = append(head, part[:min(len(part), room)]...)
		}
		if want && size > len(head) {
			left += utf8.RuneCount(part) // exact but for characters that two parts share
			if size-len(part) < len(head) {
				left -= utf8.RuneCount(part[:len(head)-(size-len(part))])
			}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			if ctx.Err() != nil {
				return "", 0, ctx.Err()
			}
			continue
		}
		if err != nil && (err != io.EOF || size == 0) {
			return "", 0, err
		}
		break
	}
	if left > 0 && last == '\n' {
		left--
	}
	head = bytes.TrimSuffix(bytes.TrimSuffix(head, []byte("\n")), []byte("\r"))
	line = strings.ToValidUTF8(string(head), "\uFFFD")
	chars := 0
	for i := range line {
		if chars == maxLineWidth {
			left += utf8.RuneCountInString(line[i:])
			line = line[:i]
			break
		}
		chars++
	}
	return line, left, nil
}

func (w *window) result(path string) *tool.Result {
	shown := w.next - w.first
	if shown <= 0 {
		return tool.Errorf("%s has %s: there is no line %d", path, text.Count(w.next-1, "line"), w.first)
	}
	body := w.text.String()
	switch {
	case w.more && w.total > 0:
		body += fmt.Sprintf("\n[Lines %d to %d of %d are shown. Read with offset %d to go on.]\n", w.first, w.next-1, w.total, w.next)
	case w.more:
		body += fmt.Sprintf("\n[Lines %d to %d are shown, and the file has more. Read with offset %d to go on.]\n", w.first, w.next-1, w.next)
	}
	r := tool.Text(body)
	r.Truncated = w.more || w.cut
	r.Title = fmt.Sprintf("Read %s (%s)", filepath.Base(path), text.Count(shown, "line"))
	r.Details = toolapi.Details(readDetails{path, w.first, shown, w.total, r.Truncated})
	return r
}

// readDetails are the Details of a result of Read for a text.
type readDetails struct {
	FilePath   string `json:"filePath"`
	StartLine  int    `json:"startLine"`
	NumLines   int    `json:"numLines"`
	TotalLines int    `json:"totalLines,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
}

// folder lists the entries of a folder, folders with a slash.
func (r reading) folder(f fs.File) (*tool.Result, error) {
	entries, err := readDir(f)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("listing %s: %w", r.path, err)
	}
	var names []string
	for _, e := range entries {
		if r.call.Hides(filepath.Join(r.path, e.Name())) {
			continue
		}
		name := e.Name()
		switch {
		case e.IsDir():
			name += "/"
		case e.Type()&fs.ModeSymlink != 0:
			name += "@"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	text := fmt.Sprintf("%s is a folder with %d entries", r.path, len(names))
	if len(entries) == maxFolder {
		text = fmt.Sprintf("%s is a folder with %d entries or more", r.path, len(names))
	}
	switch {
	case len(names) == 0:
		text = fmt.Sprintf("%s is an empty folder", r.path)
	case len(names) > maxEntries:
		names = names[:maxEntries]
		text += fmt.Sprintf(", of which %d are shown (use Glob for the others)", maxEntries)
	}
	if len(names) == 0 {
		return tool.Text(text + "."), nil
	}
	return tool.Text(text + ":\n" + strings.Join(names, "\n") + "\n"), nil
}

// readDir reads the entries of an open folder, as many as are shown.
func readDir(f fs.File) ([]fs.DirEntry, error) {
	folder, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, errors.New("its entries cannot be listed")
	}
	return folder.ReadDir(maxFolder)
}

// didYouMean names the entries of the nearest folder that may have been meant.
func (r reading) didYouMean(ctx context.Context) string {
	dir := filepath.Dir(r.path)
	missing := filepath.Base(r.path)
	for {
		f, err := r.files.Open(ctx, "", dir)
		if err == nil {
			entries, _ := readDir(f)
			f.Close()
			var names []string
			for _, e := range entries {
				if !r.call.Hides(filepath.Join(dir, e.Name())) {
					names = append(names, e.Name())
				}
			}
			slices.Sort(names)
			return meant(dir, missing, names)
		}
		parent := filepath.Dir(dir)
		if parent == dir || !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		dir, missing = parent, filepath.Base(dir)
	}
}

// meant words the suggestion of up to three names.
func meant(dir, missing string, names []string) string {
	stem := func(s string) string { return strings.ToLower(strings.TrimSuffix(s, filepath.Ext(s))) }
	for _, n := range names {
		if n != missing && string([]rune(n)) == missing { // as JSON shows it
			return fmt.Sprintf(" A name in %s that looks like it is not UTF-8, so no tool can name it. Rename it with a command that finds it by a pattern.", dir)
		}
	}
	var near []string
	add := func(name string) {
		if name != "" && len(near) < 3 && !slices.Contains(near, filepath.Join(dir, name)) {
			near = append(near, filepath.Join(dir, name))
		}
	}
	add(text.Nearest(missing, names))
	for _, n := range names {
		if stem(n) == stem(missing) {
			add(n)
		}
	}
	for _, n := range names {
		if len(stem(missing)) > 2 && strings.Contains(strings.ToLower(n), stem(missing)) {
			add(n)
		}
	}
	if near == nil {
		return fmt.Sprintf(" The nearest folder that exists is %s.", dir)
	}
	return " Did you mean " + strings.Join(near, " or ") + "?"
}

// binaryType guesses the type of a binary file.
func binaryType(data []byte) string {
	for _, t := range []struct{ magic, name string }{
		{"\x7fELF", "ELF program"}, {"MZ", "Windows program"}, {"\xcf\xfa\xed\xfe", "Mach-O program"},
		{"PK\x03\x04", "zip archive"}, {"\x1f\x8b", "gzip archive"}, {"BZh", "bzip2 archive"},
		{"\xfd7zXZ", "xz archive"}, {"7z\xbc\xaf", "7z archive"}, {"\x28\xb5\x2f\xfd", "zstd archive"},
		{"SQLite format 3", "SQLite database"}, {"\x00asm", "WebAssembly module"}, {"\xca\xfe\xba\xbe", "Java class or Mach-O program"},
		{"BM", "BMP image"}, {"II*\x00", "TIFF image"}, {"MM\x00*", "TIFF image"}, {"\x00\x00\x01\x00", "icon"},
		{"ID3", "MP3 sound"}, {"OggS", "Ogg sound"}, {"fLaC", "FLAC sound"}, {"RIFF", "RIFF sound or video"},
		{"wOFF", "font"}, {"wOF2", "font"}, {"\x00\x01\x00\x00", "font"}, {"OTTO", "font"},
	} {
		if bytes.HasPrefix(data, []byte(t.magic)) {
			return t.name
		}
	}
	if len(data) > 12 && string(data[4:8]) == "ftyp" {
		return "MP4 or HEIF media"
	}
	return "unknown type"
}
