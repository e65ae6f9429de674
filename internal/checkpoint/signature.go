package checkpoint

import "time"

// A signature tells without reading whether a file was changed. change and inode are 0 on
// systems that do not have them.
type signature struct {
	size   int64
	mtime  int64 // nanoseconds since 1970
	change int64 // of anything, including mode and mtime; no program can set it
	inode  uint64
}

const (
	// tick is how long the clock of a file system may stand still.
	tick = 20 * time.Millisecond
	// coarseTick is that of file systems that count in seconds.
	coarseTick = 3 * time.Second
)

// settled reports whether a change of the file after now would show in its signature. The last
// change must be so long ago that its time will not come again.
func (s signature) settled(now time.Time) bool {
	last := s.change
	if last == 0 {
		last = s.mtime
	}
	still := tick
	if last%1e9 == 0 {
		still = coarseTick
	}
	return last < now.Add(-still).UnixNano()
}
