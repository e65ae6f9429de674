package permission

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Lines that were taken apart are kept for a while: a call is judged several times,
// and what a line means does not change.

const (
	maxKept     = 64      // lines
	maxKeptLine = 8 << 10 // bytes of one
)

type keptLines struct {
	sync.Mutex
	by   map[string]*parsedLine
	ring [maxKept]string // the oldest at next
	next int
}

type parsedLine struct {
	Commands
	err error
}

var kept = keptLines{by: map[string]*parsedLine{}}

// lineReader is parseLine once [UnderstandShell] was called. Nothing else that judges calls
// refers to it, so that programs whose tools run no commands are linked without a
// shell's parser, half a megabyte.
var lineReader atomic.Pointer[func(line string) (Commands, error)]

var errNoReader = errors.New("this program does not understand command lines: it has to call permission.UnderstandShell, which importing package tools does")

// UnderstandShell lets command lines be judged by what they do. Importing package tools
// or package sandbox calls it. A program whose own tools have an [Access] of kind
// [RunCommand] and that imports neither has to call it itself, before any call is judged:
// until then every line is one that is not understood, which no rule allows.
func UnderstandShell() { lineReader.Store(new(parseLine)) }

// parsed takes a line apart. What it returns must not be changed.
func parsed(line string) (Commands, error) {
	parse := lineReader.Load()
	if parse == nil {
		return Commands{Unclear: errNoReader.Error()}, errNoReader
	}
	if len(line) > maxKeptLine {
		return (*parse)(line)
	}
	kept.Lock()
	p := kept.by[line]
	kept.Unlock()
	if p == nil {
		p = &parsedLine{}
		p.Commands, p.err = (*parse)(line)
		kept.add(strings.Clone(line), p)
	}
	return p.Commands, p.err
}

func (k *keptLines) add(line string, p *parsedLine) {
	k.Lock()
	defer k.Unlock()
	if k.by[line] != nil {
		return
	}
	delete(k.by, k.ring[k.next])
	k.by[line], k.ring[k.next] = p, line
	k.next = (k.next + 1) % maxKept
}

// ParseCommand takes a command line (bash) apart. The error is not nil if the
// line has a syntax error or exceeds a limit; then Unclear is set as well and
// List holds what was found before.
func ParseCommand(line string) (Commands, error) {
	UnderstandShell()
	c, err := parsed(line)
	c.List, c.Redirects = slices.Clone(c.List), slices.Clone(c.Redirects)
	for i := range c.List {
		x := &c.List[i]
		x.Args, x.Env = slices.Clone(x.Args), slices.Clone(x.Env)
	}
	return c, err
}
