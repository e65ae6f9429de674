package checkpoint

import (
	"context"
	"path/filepath"
	"unicode/utf8"
)

// A past is a tree of a checkpoint, for scans before it is restored. What was ignored then decides,
// because whoever adds files can also add ignore files. A nil *past is valid: its methods report that nothing is known.
type past struct {
	kinds   map[string]kind   // of all paths that it covers
	ignore  map[string][]byte // its .gitignore files, by folder
	unknown map[string]bool   // folders with a .gitignore that it does not cover: the present one counts
	own     map[string]bool   // folders of repositories
	// excludes are those of the checkpoint.
	excludes map[string]string
	root     string
}

// maxExcludes is the length in bytes of all exclude files that a checkpoint keeps.
const maxExcludes = 64 << 10

// kind returns the kind of a path that is covered, else 0.
func (p *past) kind(path string) kind {
	if p == nil {
		return 0
	}
	return p.kinds[path]
}

// ignoreFile returns the text of a folder's .gitignore, and whether it is known.
func (p *past) ignoreFile(dir string) (text []byte, known bool) {
	if p == nil || p.unknown[dir] {
		return nil, false
	}
	return p.ignore[dir], true
}

// exclude returns the patterns of the exclude file of the repository at dir, and whether there
// was a repository. now are the present ones.
func (p *past) exclude(dir string, now []byte) ([]byte, bool) {
	switch {
	case p == nil:
		return now, true
	case !p.own[dir]:
		return nil, false
	case p.excludes == nil:
		return now, true
	}
	return []byte(p.excludes[filepath.Join(p.root, filepath.FromSlash(dir))]), true
}

// excludes returns the exclude files for a checkpoint; nil if it cannot keep all of them.
func excludes(scans []*scan) map[string]string {
	texts, size := map[string]string{}, 0
	for _, s := range scans {
		for dir, text := range s.own {
			if size += len(text); size > maxExcludes || !utf8.Valid(text) {
				return nil
			}
			if len(text) > 0 {
				texts[filepath.Join(s.root, filepath.FromSlash(dir))] = string(text)
			}
		}
	}
	return texts
}

// pasts returns the trees of a checkpoint.
func (s *Store) pasts(ctx context.Context, c Checkpoint) (list []*past, err error) {
	for _, t := range c.Trees {
		x, err := parseSum(t.Hash)
		if err != nil {
			return nil, err
		}
		p := &past{root: t.Root, kinds: make(map[string]kind, t.Files), ignore: map[string][]byte{}, unknown: map[string]bool{}, own: map[string]bool{}, excludes: c.Excludes}
		if err := s.gather(ctx, x, "", p); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (s *Store) gather(ctx context.Context, x sum, path string, p *past) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in, err := s.list(x)
	if err != nil {
		return err
	}
	for _, e := range in {
		at := join(path, e.name)
		if e.kind.covered() {
			p.kinds[at] = e.kind
		}
		switch {
		case e.kind == folder:
			err = s.gather(ctx, e.sum, at, p)
		case e.name == ".git":
			p.own[path] = true
		case e.name != ".gitignore":
		case e.kind == file && e.size <= maxIgnore:
			p.ignore[path], err = s.load(object{contents, e.sum}, maxIgnore)
		case !e.kind.covered():
			p.unknown[path] = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}
