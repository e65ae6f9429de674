package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/openagent-go/agent/internal/safefile"
)

// A sum is the SHA-256 of an object, and its name.
type sum [sha256.Size]byte

func (s sum) String() string { return hex.EncodeToString(s[:]) }

func parseSum(text string) (s sum, err error) {
	data, err := hex.DecodeString(text)
	if err == nil && len(data) != len(s) {
		err = errors.New("not a SHA-256")
	}
	copy(s[:], data)
	return s, err
}

const (
	blockSize = 4 << 10 // of the disk, for counting
	// smallFile is the size of the largest files that are read at once.
	smallFile = 1 << 20
	// maxList is the size in bytes of the longest list of a folder.
	maxList = 256 << 20
)

// blocks rounds a size up to the blocks that it takes on the disk.
func blocks(size int64) int64 { return (size + blockSize - 1) / blockSize * blockSize }

// Areas of objects. Contents and lists are kept apart: a file may have any
// content, that of a list as well.
const (
	contents = "contents"
	folders  = "folders"
)

// An object is content or the list of a folder, by its sum.
type object struct {
	area string
	sum  sum
}

func (o object) place() []string {
	name := o.sum.String()
	return []string{o.area, name[:1], name[1:]}
}

// has reports whether an object is there, as far as its size tells.
func (s *Store) has(o object, size int64) bool {
	var name [2 * sumSize]byte
	hex.Encode(name[:], o.sum[:])
	sep := string(os.PathSeparator)
	info, err := safefile.Lstat(s.Dir + sep + o.area + sep + string(name[:1]) + sep + string(name[1:]))
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// A writer takes objects in, until a limit.
type writer struct {
	store *Store
	left  *counter // bytes that may be added
}

// put adds an object unless it is there.
func (d writer) put(x object, data []byte) error {
	if d.store.has(x, int64(len(data))) {
		return nil
	}
	if err := d.left.take(blocks(int64(len(data)))); err != nil {
		return err
	}
	if err := d.store.save(data, x.place()...); err != nil {
		return fmt.Errorf("storing content: %w", err)
	}
	return nil
}

// A readError is about the source that was to be stored, not about the store.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// copy stores the content of r and returns its sum and size.
func (d writer) copy(r io.Reader) (x sum, size int64, err error) {
	w, err := d.store.begin()
	if err != nil {
		return x, 0, fmt.Errorf("storing content: %w", err)
	}
	hash := sha256.New()
	size, err = io.Copy(metered{w, d.left}, io.TeeReader(failing{r}, hash))
	if err != nil {
		if _, ok := errors.AsType[readError](err); !ok {
			err = fmt.Errorf("storing content: %w", err)
		}
		return x, 0, errors.Join(err, w.abort())
	}
	hash.Sum(x[:0])
	if d.store.has(object{contents, x}, size) {
		d.left.give(size)
		return x, size, w.abort()
	}
	if err := w.commit(object{contents, x}.place()...); err != nil {
		return x, 0, fmt.Errorf("storing content: %w", err)
	}
	return x, size, nil
}

// A metered writer subtracts from the space that is left.
type metered struct {
	to   io.Writer
	left *counter
}

func (m metered) Write(p []byte) (int, error) {
	if err := m.left.take(int64(len(p))); err != nil {
		return 0, err
	}
	return m.to.Write(p)
}

// A failing reader marks its errors.
type failing struct{ io.Reader }

func (f failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = readError{err}
	}
	return n, err
}

// open returns a reader of an object. The reader fails with a [*CorruptError] at the end if
// the content does not match its sum.
func (s *Store) open(x object) (io.ReadCloser, error) {
	f, err := safefile.Open(s.path(x.place()...), os.O_RDONLY)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &CorruptError{s.path(x.place()...), err}
		}
		return nil, err
	}
	return &checked{File: f, hash: sha256.New(), want: x.sum}, nil
}

type checked struct {
	safefile.File
	hash interface {
		io.Writer
		Sum([]byte) []byte
	}
	want sum
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	_, _ = c.hash.Write(p[:n]) // never fails
	if err == io.EOF && sum(c.hash.Sum(nil)) != c.want {
		err = &CorruptError{c.Name(), errors.New("the content is not what was stored")}
	}
	return n, err
}

// WriteTo would be that of the file, which checks nothing.
func (c *checked) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{c})
}

// load returns an object of at most limit bytes.
func (s *Store) load(x object, limit int64) ([]byte, error) {
	r, err := s.open(x)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &CorruptError{s.path(x.place()...), fmt.Errorf("the object has more than %d bytes", limit)}
	}
	return data, err
}
