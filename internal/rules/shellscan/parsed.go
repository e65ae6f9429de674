package shellscan

import (
	"slices"
	"strings"
	"sync"
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

// Scan takes a line apart. What it returns must not be changed.
func Scan(line string) (Commands, error) {
	if len(line) > maxKeptLine {
		return parseLine(line)
	}
	kept.Lock()
	p := kept.by[line]
	kept.Unlock()
	if p == nil {
		p = &parsedLine{}
		p.Commands, p.err = parseLine(line)
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
	c, err := Scan(line)
	c.List, c.Redirects = slices.Clone(c.List), slices.Clone(c.Redirects)
	for i := range c.List {
		x := &c.List[i]
		x.Args, x.Env = slices.Clone(x.Args), slices.Clone(x.Env)
	}
	return c, err
}
