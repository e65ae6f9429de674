package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

var errSwapped = errors.New("the folder was replaced while it was read")

// enter opens a folder in another, never through a link.
func enter(at *os.Root, name string) (*os.Root, error) {
	found, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !found.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a folder")}
	}
	in, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := in.Stat(".")
	if err == nil && !os.SameFile(found, opened) {
		err = &fs.PathError{Op: "open", Path: name, Err: errSwapped}
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// A cursor goes from folder to folder of a tree and keeps those on the way open.
type cursor struct {
	top *os.Root
	way []step
}

type step struct {
	name string
	root *os.Root
}

// to returns the folder at path, which stays open until the next call.
func (c *cursor) to(path string) (*os.Root, error) {
	var names []string
	if path != "" {
		names = strings.Split(path, "/")
	}
	shared := 0
	for shared < len(c.way) && shared < len(names) && c.way[shared].name == names[shared] {
		shared++
	}
	c.back(shared)
	for _, name := range names[shared:] {
		in, err := enter(c.at(), name)
		if err != nil {
			return nil, err
		}
		c.way = append(c.way, step{name, in})
	}
	return c.at(), nil
}

func (c *cursor) at() *os.Root {
	if n := len(c.way); n > 0 {
		return c.way[n-1].root
	}
	return c.top
}

func (c *cursor) back(n int) {
	for _, s := range c.way[n:] {
		_ = s.root.Close() // nothing was written through it
	}
	c.way = c.way[:n]
}

// close leaves the top open.
func (c *cursor) close() { c.back(0) }

// split cuts a path into the folder and the name in it.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// openIn opens a regular file of a folder for reading. It waits for no pipe.
func openIn(at *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := at.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}
