package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/lsp"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/walk"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

const (
	// maxServers is how many language servers run at once; the one that was asked
	// longest ago makes room.
	maxServers = 6
	// maxCrashes is how often a server may end of itself before it is given up.
	maxCrashes = 2
	// maxSource is the size in bytes of the largest file that a server is asked about.
	maxSource = 4 << 20
	// maxWatched is the largest number of source files below a server's folder for which
	// the server is told about changes.
	maxWatched = 50_000
	// startTime bounds the greeting of a server.
	startTime = time.Minute
)

// Languages starts language servers when they are first needed and keeps them
// until the sessions that asked have ended: one for each folder and language. It
// is safe for concurrent use.
type Languages struct {
	place   toolapi.Workplace
	servers []LanguageServer
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	working sync.WaitGroup

	mu      sync.Mutex
	running map[serverKey]*languageServer
	asked   int // counts questions
}

type serverKey struct{ root, name string }

// languageServer is a server that is wanted.
type languageServer struct {
	key      serverKey
	spec     *LanguageServer
	sessions map[string]bool // that have asked it
	asked    int             // when it was asked last
	crashes  int
	current  *attempt
}

// attempt is a server that is starting, running, or has ended.
type attempt struct {
	cancel context.CancelFunc
	ready  chan struct{} // closed: the fields below are set
	server *lsp.Server   // nil if it did not start
	err    error

	syncing sync.Mutex // held while the server is told about changes
	files   map[string]time.Time
}

// NewLanguages returns the language servers for the files of place; nil is
// [DefaultLanguageServers]. None is started before it is asked. It must be closed.
func NewLanguages(ws *workspace.Workspace, servers []LanguageServer) *Languages {
	return newLanguages(ws, servers)
}

func newLanguages(place toolapi.Workplace, servers []LanguageServer) *Languages {
	if servers == nil {
		servers = DefaultLanguageServers()
	}
	l := &Languages{place: place, servers: servers, running: map[serverKey]*languageServer{}}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// EndSession ends the servers that no other session has asked, and waits for their end.
func (l *Languages) EndSession(session string) error {
	l.mu.Lock()
	var idle []*attempt
	for key, s := range l.running {
		if delete(s.sessions, session); len(s.sessions) == 0 {
			delete(l.running, key)
			idle = append(idle, s.current)
		}
	}
	l.mu.Unlock()
	var ending sync.WaitGroup
	for _, a := range idle {
		ending.Go(a.close)
	}
	ending.Wait()
	return nil
}

// Close ends all servers and waits for their end. Nothing can be asked any more.
func (l *Languages) Close() error {
	l.mu.Lock()
	var all []*attempt
	for _, s := range l.running {
		all = append(all, s.current)
	}
	clear(l.running)
	l.end()
	l.mu.Unlock()
	var ending sync.WaitGroup
	for _, a := range all {
		ending.Go(a.close)
	}
	ending.Wait()
	l.working.Wait()
	return nil
}

func (a *attempt) close() {
	a.cancel()
	<-a.ready
	if a.server != nil {
		a.server.Close()
	}
}

// wait waits until a is ready, and says so to who watches the call.
func (a *attempt) wait(ctx context.Context, name string) error {
	select {
	case <-a.ready:
		return nil
	default:
		tool.Progress(ctx, tool.Status{Text: "Starting " + name})
	}
	select {
	case <-a.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ended reports whether a has come to an end.
func (a *attempt) ended() bool {
	select {
	case <-a.ready:
	default:
		return false
	}
	if a.server == nil {
		return true
	}
	select {
	case <-a.server.Ended():
		return true
	default:
		return false
	}
}

// reason returns why a has ended.
func (a *attempt) reason() error {
	if a.server == nil {
		return a.err
	}
	return a.server.Err()
}

// A place in the tree of servers: which one is for a file, and where it works.
type station struct {
	spec *LanguageServer
	root string
}

// stationOf returns the server for a file. path is absolute and free of symlinks.
func (l *Languages) stationOf(path string) (station, error) {
	for i := range l.servers {
		if s := &l.servers[i]; s.language(path) != "" {
			return station{s, l.rootOf(s, filepath.Dir(path))}, nil
		}
	}
	return station{}, &noServerError{fmt.Sprintf("No language server is known for %s files.", filepath.Ext(path))}
}

// rootOf returns the folder that a server works in: dir or the nearest above it
// that has a marker, the outermost that tools may use if none has.
func (l *Languages) rootOf(s *LanguageServer, dir string) string {
	outermost := dir
	for d := dir; ; d = filepath.Dir(d) {
		root, path, err := toolapi.OpenRoot(l.place, "", d)
		if err != nil || path != d {
			if err == nil {
				root.Close()
			}
			return outermost
		}
		marked := slices.ContainsFunc(s.RootMarkers, func(name string) bool {
			info, err := root.Lstat(name)
			return err == nil && info.Mode().IsRegular()
		})
		root.Close()
		if marked {
			return d
		}
		outermost = d
		if filepath.Dir(d) == d {
			return outermost
		}
	}
}

// stationsAt returns the servers for the folder dir: those with a marker there or above.
func (l *Languages) stationsAt(dir string) []station {
	var found []station
	for i := range l.servers {
		s := &l.servers[i]
		root := l.rootOf(s, dir)
		r, _, err := toolapi.OpenRoot(l.place, "", root)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(s.RootMarkers, func(name string) bool { _, err := r.Lstat(name); return err == nil }) {
			found = append(found, station{s, root})
		}
		r.Close()
	}
	return found
}

// starts returns the commands that a question about path, the file or folder called name in
// it, would run: servers that are not running yet. They are programs that read the settings
// of the repository, and some run programs from it.
func (l *Languages) starts(path, name string) []permission.Access {
	var stations []station
	if name == "" || l.isFolder(path) {
		stations = l.stationsAt(path)
	} else if at, err := l.stationOf(path); err == nil {
		stations = []station{at}
	}
	var out []permission.Access
	for _, at := range stations {
		l.mu.Lock()
		running := l.running[serverKey{at.root, at.spec.Name}] != nil
		l.mu.Unlock()
		if running {
			continue
		}
		if _, err := at.spec.program(l.place); err != nil {
			continue // there is no server to start
		}
		line := strings.Join(append([]string{at.spec.Command}, at.spec.Args...), " ")
		out = append(out, permission.Access{Kind: permission.RunCommand, Target: line, Dir: at.root})
	}
	return out
}

// confined reports whether the operating system confines the servers.
func (l *Languages) confined() bool {
	return confines(l.place)
}

// ask calls question with the server at a station, and once more if the server ends in the
// meantime. If no server is running, it starts one if start is set, which needs permission;
// else it fails with errNotRunning. A *noServerError means that there is none.
func (l *Languages) ask(ctx context.Context, session string, at station, start bool, question func(*lsp.Server) error) error {
	for {
		a, err := l.attempt(session, at, start)
		if err != nil {
			return err
		}
		if err := a.wait(ctx, at.spec.Name); err != nil {
			return err
		}
		if a.server == nil {
			if l.ctx.Err() != nil || errors.Is(a.err, context.Canceled) {
				return fmt.Errorf("asking %s: it was ended", at.spec.Name)
			}
			continue // counted as a crash
		}
		err = l.refresh(ctx, at, a)
		if err == nil {
			err = question(a.server)
		}
		if err == nil || !errors.Is(err, lsp.ErrEnded) || l.ctx.Err() != nil {
			return err
		}
	}
}

var errNotRunning = errors.New("the language server is not running")

// attempt returns the server at a station, with start set also one that must be
// started, for the first time or because it has ended.
func (l *Languages) attempt(session string, at station, start bool) (*attempt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return nil, errors.New("the language servers were closed")
	}
	key := serverKey{at.root, at.spec.Name}
	s := l.running[key]
	if !start && (s == nil || s.current.ended()) {
		return nil, errNotRunning
	}
	if s == nil {
		program, err := at.spec.program(l.place)
		if err != nil {
			return nil, err
		}
		l.makeRoom()
		s = &languageServer{key: key, spec: at.spec, sessions: map[string]bool{}}
		s.current = l.start(at, program)
		l.running[key] = s
	}
	l.asked++
	s.asked = l.asked
	s.sessions[session] = true
	if !s.current.ended() || s.crashes >= maxCrashes {
		return s.current, s.givenUp()
	}
	s.crashes++
	if s.crashes >= maxCrashes {
		return nil, s.givenUp()
	}
	last := s.current
	program, err := at.spec.program(l.place)
	if err != nil {
		return nil, err
	}
	l.working.Go(last.close)
	s.current = l.start(at, program)
	return s.current, nil
}

// givenUp returns the error for a server that is not started again.
func (s *languageServer) givenUp() error {
	if s.crashes < maxCrashes {
		return nil
	}
	err := s.current.reason()
	if s.current.server == nil {
		return &noServerError{fmt.Sprintf("%s does not start: %v.", s.spec.Name, err)}
	}
	return fmt.Errorf("%s crashed twice and is not started again in this session: %w", s.spec.Name, err)
}

// makeRoom ends the server that was asked longest ago if there are too many.
func (l *Languages) makeRoom() {
	if len(l.running) < maxServers {
		return
	}
	var oldest *languageServer
	for _, s := range l.running {
		if oldest == nil || s.asked < oldest.asked {
			oldest = s
		}
	}
	delete(l.running, oldest.key)
	l.working.Go(oldest.current.close)
}

// start starts a server. The start continues if the question is given up, because other
// questions will follow.
func (l *Languages) start(at station, program string) *attempt {
	ctx, cancel := context.WithTimeout(l.ctx, startTime)
	a := &attempt{cancel: cancel, ready: make(chan struct{})}
	l.working.Go(func() {
		defer cancel()
		defer close(a.ready)
		options := at.spec.InitOptions
		if at.spec.options != nil && options == nil {
			if options, a.err = at.spec.options(program); a.err != nil {
				return
			}
		}
		a.files = l.watched(ctx, at) // before it looks itself, so that no change is missed
		a.server, a.err = lsp.Open(ctx, lsp.Config{
			Name: at.spec.Name, Root: at.root, Options: options,
			Start: func(in io.Reader, out, errs io.Writer) (lsp.Program, error) {
				p, err := l.place.Start(l.ctx, workspace.Command{
					Args: append([]string{program}, at.spec.Args...), Dir: at.root, Env: at.spec.environment(),
					Input: in, Output: out, Errors: errs,
				})
				if err != nil {
					return lsp.Program{}, err
				}
				done := make(chan struct{})
				l.working.Go(func() {
					defer close(done)
					p.Wait()
				})
				return lsp.Program{Stop: p.Stop, Done: done}, nil
			},
		})
	})
	return a
}

// refresh tells the server about the changes on disk since the last question.
func (l *Languages) refresh(ctx context.Context, at station, a *attempt) error {
	a.syncing.Lock()
	defer a.syncing.Unlock()
	files := l.watched(ctx, at)
	changes := map[string]lsp.FileChange{}
	if files != nil && a.files != nil {
		for path, time := range files {
			if was, ok := a.files[path]; !ok {
				changes[path] = lsp.Created
			} else if !was.Equal(time) {
				changes[path] = lsp.Changed
			}
		}
		for path := range a.files {
			if _, ok := files[path]; !ok {
				changes[path] = lsp.Deleted
			}
		}
	}
	err := a.server.Refresh(ctx, changes, func(path string) (string, error) { return readSource(l.place, path) })
	if err == nil && files != nil {
		a.files = files
	}
	return err
}

// watched returns the files that a server should hear of when they change, with
// the time of their last change; nil where they are too many to look at.
func (l *Languages) watched(ctx context.Context, at station) map[string]time.Time {
	root, _, err := toolapi.OpenRoot(l.place, "", at.root)
	if err != nil {
		return nil
	}
	defer root.Close()
	w := walk.Walk{Root: root, Times: true, Max: maxWatched, Want: func(file string) bool {
		return at.spec.language(file) != "" || slices.Contains(at.spec.RootMarkers, filepath.Base(file))
	}}
	w.Rules, w.Prefix = walk.Above(at.root, at.root)
	list, err := w.List(ctx)
	if err != nil {
		return nil
	}
	files := make(map[string]time.Time, len(list.Files))
	for _, f := range list.Files {
		files[filepath.Join(at.root, filepath.FromSlash(f.Path))] = f.ModTime
	}
	return files
}

// readSource reads a file for a language server.
func readSource(place toolapi.Workplace, path string) (string, error) {
	f, err := place.Open(context.Background(), "", path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("reading %s: %w", path, fs.ErrInvalid)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	if len(data) > maxSource {
		return "", fmt.Errorf("%s is too large for a language server: more than %d MB", path, maxSource>>20)
	}
	return string(data), nil
}
