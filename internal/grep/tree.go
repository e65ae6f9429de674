package grep

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/openagent-go/agent/internal/walk"
)

// errEnough stops a search that has enough results.
var errEnough = errors.New("enough")

// Tree is [Search.Files] for a tree that is on no disk of this machine. It searches one
// file after the other.
func (s *Search) Tree(ctx context.Context, tree fs.FS, paths []string, report func(path string, r Report) bool) error {
	one := &searcher{Search: s, ctx: ctx}
	err := walk.ReadFiles(ctx, tree, paths, func(i int, r io.Reader, err error) error {
		found := Report{Skipped: Unreadable}
		if err == nil {
			one.restart()
			if found, err = one.file(r); err != nil {
				return err
			}
		}
		if !report(paths[i], found) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// restart lets the next file have all the room for lines.
func (s *searcher) restart() {
	s.bytes = 0
	if s.room = s.Max; s.Max == 0 {
		s.room = -1
	}
}
