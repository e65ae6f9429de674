package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxPath bounds what is read as the name or the target of a file.
const maxPath = 64 << 10

// look is for [disk].
func (r *remote) look(ctx context.Context, paths []string) ([]*farInfo, error) {
	found := make([]*farInfo, len(paths))
	err := r.ask(ctx, "look", paths, nil, func(p *parts) error {
		for i, name := range paths {
			part, err := p.next(maxPath)
			if err != nil {
				return err
			}
			info := farInfo{name: path.Base(name)}
			kind, rest := part[:min(1, len(part))], part[min(1, len(part)):]
			switch kind {
			case "n":
				continue
			case "x":
				return fs.ErrPermission
			case "f":
			case "d":
				info.mode = fs.ModeDir
			case "l":
				info.mode, info.target = fs.ModeSymlink, strings.TrimSuffix(rest, "\n")
				if info.target == "" || strings.ContainsRune(info.target, 0) {
					return errGarbage
				}
			case "p":
				info.mode = fs.ModeNamedPipe
			case "s":
				info.mode = fs.ModeSocket
			case "c":
				info.mode = fs.ModeDevice
			case "o":
				info.mode = fs.ModeIrregular
			default:
				return errGarbage
			}
			if kind != "l" && rest != "" {
				return errGarbage
			}
			found[i] = &info
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// describe reads a part of the form "MODE SIZE TIME NAME".
func describe(part string) (*farInfo, string, error) {
	fields := strings.SplitN(part, " ", 4)
	if len(fields) != 4 {
		return nil, "", errGarbage
	}
	info := &farInfo{}
	switch kind := fields[0]; kind {
	case "D":
		info.mode = fs.ModeDir | 0o755
	case "F":
		info.mode = 0o644
	case "L":
		info.mode = fs.ModeSymlink | 0o777
	case "O":
		info.mode = fs.ModeIrregular
	default:
		raw, err := strconv.ParseUint(kind, 16, 32)
		if err != nil {
			return nil, "", errGarbage
		}
		info.mode = fs.FileMode(raw&0o777) | map[uint64]fs.FileMode{0o040000: fs.ModeDir, 0o100000: 0, 0o120000: fs.ModeSymlink, 0o010000: fs.ModeNamedPipe,
			0o140000: fs.ModeSocket, 0o060000: fs.ModeDevice, 0o020000: fs.ModeDevice}[raw&0o170000]
		if raw&0o170000 == 0 {
			info.mode |= fs.ModeIrregular
		}
	}
	size, err1 := strconv.ParseInt(fields[1], 10, 64)
	at, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err1 != nil || err2 != nil || size < 0 {
		return nil, "", errGarbage
	}
	info.size, info.modTime = size, time.Unix(at, 0)
	info.name = path.Base(fields[3])
	return info, fields[3], nil
}

// open is for [disk]. A file is read while its reader goes on.
func (r *remote) open(ctx context.Context, at farPlace) (fs.File, error) {
	dir, base := ".", "."
	if at.rel != "." {
		dir, base = path.Dir(at.rel), path.Base(at.rel)
	}
	ctx, cancel := context.WithCancel(ctx)
	type opened struct {
		file *farFile
		err  error
	}
	result := make(chan opened, 1)
	in, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := r.ask(ctx, "open", []string{at.root, dir, base}, nil, func(p *parts) error {
			if err := p.answered(); err != nil {
				return err
			}
			part, err := p.next(maxPath)
			if err != nil {
				return err
			}
			info, _, err := describe(part)
			if err != nil {
				return err
			}
			info.name = path.Base(at.path)
			if info.IsDir() {
				list, err := readEntries(p)
				var entries []fs.DirEntry
				for _, e := range list {
					entries = append(entries, e.info)
				}
				if err == nil {
					result <- opened{file: &farFile{info: info, entries: entries}}
				}
				return err
			}
			result <- opened{file: &farFile{info: info, content: in}}
			return sendContent(p, out)
		})
		out.CloseWithError(err)
		result <- opened{err: err} // nobody looks if there is a file
	}()
	o := <-result
	if o.err != nil {
		cancel()
		<-ended
		return nil, o.err
	}
	o.file.close = func() error {
		in.Close()
		cancel()
		<-ended
		return nil
	}
	if o.file.info.IsDir() {
		return o.file, o.file.close()
	}
	return o.file, nil
}

// sendContent passes a content on, and makes sure that it is whole.
func sendContent(p *parts, out io.Writer) error {
	if _, err := io.Copy(out, &content{parts: p}); err != nil {
		return err
	}
	return ended(p)
}

func ended(p *parts) error {
	switch last, err := p.next(maxPath); {
	case err != nil:
		return err
	case last != ".":
		return errGarbage
	}
	return nil
}

// A remoteEntry is an entry of a folder and the path that it was listed by.
type remoteEntry struct {
	info *farInfo
	path string
}

// readEntries reads entries up to the end of the answer. Names that are none are left out.
func readEntries(p *parts) ([]remoteEntry, error) {
	var list []remoteEntry
	for {
		part, err := p.next(maxPath)
		if err != nil {
			return nil, err
		}
		if part == "." {
			return list, nil
		}
		info, name, err := describe(part)
		if err != nil {
			return nil, err
		}
		if name = path.Clean(name); info.name == "" || info.name == "." || info.name == ".." || strings.ContainsRune(name, 0) {
			continue
		}
		list = append(list, remoteEntry{info, name})
	}
}

// folder is for [disk].
func (r *remote) folder(ctx context.Context, p string) (Folder, error) {
	found, err := r.look(ctx, []string{p})
	switch {
	case err != nil:
		return nil, err
	case found[0] == nil:
		return nil, fs.ErrNotExist
	case !found[0].mode.IsDir():
		return nil, errNoFolder
	}
	return &remoteFolder{farFolder: farFolder{ctx: ctx, disk: r, path: p}, remote: r, seen: map[string]*farInfo{}}, nil
}

// A remoteFolder is a folder that reads many names with one request.
type remoteFolder struct {
	farFolder
	remote *remote

	mu   sync.Mutex
	seen map[string]*farInfo // what was listed, by path
}

func (f *remoteFolder) Lstat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	info := f.seen[name]
	f.mu.Unlock()
	if info != nil {
		return info, nil
	}
	return f.farFolder.Lstat(name)
}

func (f *remoteFolder) ReadDirs(ctx context.Context, names []string, yield func(i int, list []fs.DirEntry, err error)) error {
	if len(names) == 0 {
		return nil
	}
	readable := make([]bool, len(names))
	lists := map[string][]fs.DirEntry{}
	err := f.remote.ask(ctx, "dirs", append([]string{f.path}, names...), nil, func(p *parts) error {
		if err := p.answered(); err != nil {
			return err
		}
		for i := range names {
			part, err := p.next(maxPath)
			if err != nil {
				return err
			}
			if part != "y" && part != "n" {
				return errGarbage
			}
			readable[i] = part == "y"
		}
		list, err := readEntries(p)
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, e := range list {
			lists[path.Dir(e.path)] = append(lists[path.Dir(e.path)], e.info)
			f.seen[e.path] = e.info
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing %s: %w", f.path, err)
	}
	for i, name := range names {
		if !readable[i] {
			yield(i, nil, fs.ErrPermission)
			continue
		}
		list := lists[name]
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		yield(i, list, nil)
	}
	return nil
}

func (f *remoteFolder) ReadFiles(ctx context.Context, names []string, yield func(i int, r io.Reader, err error) error) error {
	if len(names) == 0 {
		return nil
	}
	var stopped error
	err := f.remote.ask(ctx, "files", append([]string{f.path}, names...), nil, func(p *parts) error {
		if err := p.answered(); err != nil {
			return err
		}
		for i := range names {
			part, err := p.next(maxPath)
			if err != nil {
				return err
			}
			switch part {
			case "y":
				c := &content{parts: p}
				if stopped = yield(i, c, nil); stopped != nil {
					return stopped
				}
				if err := c.Close(); err != nil {
					return err
				}
			case "n":
				if stopped = yield(i, nil, fs.ErrPermission); stopped != nil {
					return stopped
				}
			default:
				return errGarbage
			}
		}
		return ended(p)
	})
	if stopped != nil {
		return stopped
	}
	if err != nil {
		return fmt.Errorf("reading files of %s: %w", f.path, err)
	}
	return nil
}

// commit is for [disk]: it writes the new contents beside the files, and then has the place
// rename all of them with one request.
func (r *remote) commit(ctx context.Context, changes []farChange) error {
	var trash []string
	var args []string
	for i := range changes {
		c := &changes[i]
		dir, base, temp, sum := path.Dir(c.rel), path.Base(c.rel), "", "none"
		if c.old != nil {
			sum = checksum(c.old)
		}
		if !c.remove {
			temp = ".tmp-" + rand.Text()
			trash = append(trash, path.Join(c.root, dir, temp))
			made, err := r.stage(ctx, c, dir, temp)
			for _, d := range made {
				trash = append(trash, d+"/")
			}
			if err != nil {
				return errors.Join(fmt.Errorf("writing %s: %w", c.path, bare(err)), r.discard(ctx, trash))
			}
		}
		args = append(args, c.root, dir, base, temp, sum)
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", changes[0].path, err), r.discard(ctx, trash))
	}
	// Once it has begun it is not broken off: the place makes it whole.
	var why, kept []string
	err := r.ask(context.WithoutCancel(ctx), "commit", args, nil, func(p *parts) error {
		for {
			part, err := p.next(maxPath)
			switch {
			case err != nil:
				return err
			case part == "0":
				return nil
			case strings.HasPrefix(part, "!"):
				why = append(why, part)
			case strings.HasPrefix(part, "?"):
				kept = append(kept, part[1:])
			case part == "1" && why != nil:
				_, file, _ := strings.Cut(why[0], " ")
				return fmt.Errorf("writing %s: %w", path.Clean(file), refusal(why[0]))
			default:
				return errGarbage
			}
		}
	})
	if err == nil {
		return nil
	}
	if kept != nil {
		err = fmt.Errorf("%w; these files could not be put back, their old content is beside them: %s", err, strings.Join(kept, ", "))
	}
	return errors.Join(err, r.discard(ctx, trash))
}

// stage writes a new content beside its file, and returns the folders that it made.
func (r *remote) stage(ctx context.Context, c *farChange, dir, temp string) (made []string, err error) {
	like := c.like
	if c.old != nil {
		like = c.path
	}
	data := c.data
	if data == nil {
		data = []byte{}
	}
	err = r.ask(ctx, "stage", []string{c.root, dir, temp, like}, data, func(p *parts) error {
		for {
			part, err := p.next(maxPath)
			if err != nil {
				return err
			}
			if folder, ok := strings.CutPrefix(part, "m"); ok && path.IsAbs(folder) {
				made = append(made, folder)
				continue
			}
			sum, ok := strings.CutPrefix(part, "+")
			switch {
			case !ok:
				return refusal(part)
			case sum != checksum(data):
				return refusal("!full")
			}
			return nil
		}
	})
	return made, err
}

// discard removes what a change that was not made has left, the newest first.
func (r *remote) discard(ctx context.Context, trash []string) error {
	if len(trash) == 0 {
		return nil
	}
	slices.Reverse(trash)
	// A new file keeps its folder, so files are first.
	slices.SortStableFunc(trash, func(a, b string) int {
		return strings.Compare(map[bool]string{true: "b", false: "a"}[strings.HasSuffix(a, "/")], map[bool]string{true: "b", false: "a"}[strings.HasSuffix(b, "/")])
	})
	err := r.ask(context.WithoutCancel(ctx), "discard", trash, nil, ended)
	if err != nil {
		return fmt.Errorf("removing unfinished files: %w", err)
	}
	return nil
}

// checksum is what POSIX cksum writes.
func checksum(data []byte) string {
	sum, table := uint32(0), crcTable()
	add := func(b byte) { sum = sum<<8 ^ table[byte(sum>>24)^b] }
	for _, b := range data {
		add(b)
	}
	for n := len(data); n > 0; n >>= 8 {
		add(byte(n))
	}
	return strconv.FormatUint(uint64(^sum), 10) + " " + strconv.Itoa(len(data))
}

// crcTable is the table of POSIX cksum, whose bits are in the other order than those of
// package hash/crc32.
var crcTable = sync.OnceValue(func() *[256]uint32 {
	var t [256]uint32
	for i := range t {
		c := uint32(i) << 24
		for range 8 {
			if c&(1<<31) != 0 {
				c = c<<1 ^ 0x04c11db7
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return &t
})
