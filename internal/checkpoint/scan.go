package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/openagent-go/agent/internal/gitignore"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/walk"
)

const (
	maxEntries = 1_000_000 // files and folders of a tree
	maxDepth   = 256       // folders
	maxWorkers = 4
	maxIgnore  = 1 << 20 // bytes of the longest ignore file, as for other tools
)

// workers is how many goroutines read a tree.
func workers() int { return min(runtime.GOMAXPROCS(0), maxWorkers) }

// A node is an entry of a tree as it is now.
type node struct {
	entry
	signature signature
	settled   bool    // a change will show in signature
	read      bool    // sum is known
	in        []*node // of a folder, by name
}

// A place is a file that must be read.
type place struct {
	dir string
	*node
}

// A scan looks at a working tree. It does not read files that the index knows.
type scan struct {
	*Store
	root  string // absolute
	top   *os.Root
	index index
	apart []fs.FileInfo // folders that are not entered
	// past is the state that the tree shall come back to; nil: there is none. Its files are
	// covered even if they are ignored or large now, and its ignore files decide.
	past *past
	// dry scans store nothing, so they need not look whether content is stored.
	dry bool

	slots   chan struct{} // for goroutines
	group   sync.WaitGroup
	entries atomic.Int64

	mu     sync.Mutex
	err    error
	unread []place
	need   int64 // bytes that all files take in a store
	gaps   []Gap
	own    map[string][]byte // exclude files, by folder
	same   int               // files of the index that are as it says
}

// walk lists the entries of the tree. The content of unread files is missing.
func (s *scan) walk(ctx context.Context) (*node, error) {
	s.slots = make(chan struct{}, workers()-1)
	rules, prefix := walk.Above(s.root, s.root)
	top := &node{entry: entry{kind: folder}}
	s.folder(ctx, s.top, top, visit{rules: rules, prefix: prefix})
	s.group.Wait()
	if s.err != nil {
		return nil, s.err
	}
	return top, nil
}

// A visit is the context of one folder.
type visit struct {
	path   string // "" for the root
	prefix string // path of the root for the rules
	rules  *gitignore.Rules
	depth  int
	hidden bool // ignored, entered only for covered entries
}

func (s *scan) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *scan) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// folder lists a folder into n.
func (s *scan) folder(ctx context.Context, at *os.Root, n *node, v visit) {
	if err := ctx.Err(); err != nil {
		s.fail(err)
		return
	}
	names, err := readNames(at)
	if err != nil {
		if v.path == "" {
			s.fail(fmt.Errorf("reading %s: %w", s.root, err))
		} else {
			s.leave(n, v.path, err)
		}
		return
	}
	if s.entries.Add(int64(len(names))) > maxEntries {
		s.fail(fmt.Errorf("%w in %s: more than %d", ErrTooMany, s.root, maxEntries))
		return
	}
	slices.SortFunc(names, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	l := listing{scan: s, at: at, visit: v, full: join(v.prefix, v.path)}
	l.rules = l.within(names)
	n.in = make([]*node, 0, len(names))
	for i, e := range names {
		if i%1024 == 1023 && (ctx.Err() != nil || s.failed()) {
			return // the next step finds out why
		}
		if in := l.entry(ctx, e); in != nil {
			n.in = append(n.in, in)
		}
	}
	s.add(l)
}

// add takes over the entries found in a folder.
func (s *scan) add(l listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread = append(s.unread, l.unread...)
	s.need += l.need
	s.same += l.same
}

// note records a gap.
func (s *scan) note(path, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps = append(s.gaps, Gap{s.root, path, why})
}

// leave makes a gap of a node.
func (n *node) leave(why string) {
	n.entry = entry{kind: gap, name: n.name, text: why}
	n.in = nil
}

// reason says for people and programs why something cannot be covered.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // the path is known
	}
	text := err.Error()
	return text[:min(len(text), 200)]
}

func readNames(at *os.Root) ([]fs.DirEntry, error) {
	f, err := at.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// within returns the rules in force in a folder: a repository within another starts again.
func (l *listing) within(names []fs.DirEntry) *gitignore.Rules {
	rules := l.rules
	for _, e := range names {
		if e.Name() == ".git" {
			if text, ok := l.exclude(); ok {
				rules = (*gitignore.Rules)(nil).With(l.full, text)
			}
		}
	}
	if text, known := l.past.ignoreFile(l.path); known {
		return rules.With(l.full, text)
	}
	for _, e := range names {
		if e.Name() == ".gitignore" && e.Type().IsRegular() { // git reads no symlink either
			rules = rules.With(l.full, ignoreFile(l.at, ".gitignore"))
		}
	}
	return rules
}

// exclude returns the patterns of a repository's own folder that count, and whether the
// repository does: not if it came later than the state to come back to.
func (l *listing) exclude() (text []byte, ok bool) {
	text = exclude(l.at)
	l.mu.Lock()
	if l.own == nil {
		l.own = map[string][]byte{}
	}
	l.own[l.path] = text
	l.mu.Unlock()
	return l.past.exclude(l.path, text)
}

// exclude returns the ignore file in a repository's own folder.
func exclude(at *os.Root) []byte {
	c := cursor{top: at}
	defer c.close()
	in, err := c.to(".git/info")
	if err != nil {
		return nil
	}
	return ignoreFile(in, "exclude")
}

// ignoreFile returns nil if the file cannot be read.
func ignoreFile(at *os.Root, name string) []byte {
	f, info, err := openIn(at, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err != nil || info.Size() > maxIgnore {
		return nil
	}
	return data
}

// A listing is a folder being read.
type listing struct {
	*scan
	visit
	at     *os.Root
	full   string // path for the rules
	unread []place
	need   int64
	same   int
}

// entry returns the node of a name, nil if it is gone.
func (l *listing) entry(ctx context.Context, e fs.DirEntry) *node {
	name := e.Name()
	n := &node{entry: entry{kind: ignored, name: name}}
	path := join(l.path, name)
	if isGit(name) || strings.HasPrefix(name, stagePrefix) || inWorktrees(path) && l.past.kind(path) == 0 {
		return n
	}
	hidden := l.hidden || l.rules.Ignores(join(l.full, name), e.IsDir())
	if hidden && l.past.kind(path) == 0 {
		return n
	}
	info, err := l.at.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		l.leave(n, path, err)
	case info.Mode().IsRegular():
		l.file(n, path, info)
	case info.IsDir():
		return l.enter(ctx, n, path, info, hidden)
	case info.Mode().Type() == fs.ModeSymlink:
		if n.text, err = l.at.Readlink(name); err != nil {
			l.leave(n, path, err)
			return n
		}
		n.kind, n.signature = link, signatureOf(info)
	default:
		l.leave(n, path, special(info.Mode()))
	}
	return n
}

// inWorktrees reports whether a path is the folder of the git worktrees of agents. Each belongs
// to its agent, and a rewind of others must not take its work. Ignore files do not decide: the
// first worktree brings that of the folder along.
func inWorktrees(path string) bool {
	const folder = ".openagent/worktrees"
	return path == folder || strings.HasSuffix(path, "/"+folder)
}

func (s *scan) leave(n *node, path string, err error) {
	if outOfFiles(err) {
		s.fail(fmt.Errorf("reading %s: %w", path, err))
	}
	n.leave(reason(err))
	s.note(path, n.text)
}

func special(mode fs.FileMode) error {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("a named pipe")
	case mode&fs.ModeSocket != 0:
		return errors.New("a socket")
	case mode&fs.ModeDevice != 0:
		return errors.New("a device")
	}
	return errors.New("not a file, folder or symlink")
}

func (s *scan) tooLarge(path string, size int64) bool {
	return size > s.maxFile() && s.past.kind(path) == 0
}

func (s *scan) large() error { return fmt.Errorf("larger than %d bytes", s.maxFile()) }

func (l *listing) file(n *node, path string, info fs.FileInfo) {
	if l.tooLarge(path, info.Size()) {
		l.leave(n, path, l.large())
		return
	}
	n.kind, n.mode, n.size, n.signature = file, info.Mode().Perm(), info.Size(), signatureOf(info)
	l.need += blocks(n.size)
	if k, ok := l.index[path]; ok && k.signature == n.signature && (l.dry || l.has(object{contents, k.sum}, n.size)) {
		n.sum, n.settled, n.read = k.sum, true, true
		l.same++
		return
	}
	l.unread = append(l.unread, place{l.path, n})
}

// enter visits a folder, in its own goroutine if one is free.
func (l *listing) enter(ctx context.Context, n *node, path string, info fs.FileInfo, hidden bool) *node {
	for _, other := range l.apart {
		if safefile.SameFile(info, other) {
			return n
		}
	}
	if hidden && l.past.kind(path) != folder {
		return n
	}
	if l.depth == maxDepth {
		l.leave(n, path, fmt.Errorf("the folder is more than %d folders deep", maxDepth))
		return n
	}
	in, err := enter(l.at, n.name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		l.leave(n, path, err)
		return n
	}
	n.kind, n.mode = folder, info.Mode().Perm()
	v := visit{path: path, prefix: l.prefix, rules: l.rules, depth: l.depth + 1, hidden: hidden}
	work := func() {
		l.folder(ctx, in, n, v)
		_ = in.Close() // it was only read
	}
	select {
	case l.slots <- struct{}{}:
		l.group.Go(func() {
			work()
			<-l.slots
		})
	default:
		work()
	}
	return n
}

// outOfFiles reports whether an error is about this process, not about one file.
func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
