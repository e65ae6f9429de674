// Package sessionid makes the ids of sessions.
package sessionid

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// clock is the time of the last id: milliseconds since 1970 and a 12 bit
// fraction, as in a UUID.
var clock struct {
	sync.Mutex
	last uint64
}

// New returns a UUID of version 7 (RFC 9562, method 3 of section 6.2). Ids of one process
// sort in the order in which they were made.
func New() string {
	now := time.Now()
	ms, rest := now.UnixMilli(), now.Nanosecond()%1e6
	tick := uint64(ms)<<12 | uint64(rest)<<12/1e6
	clock.Lock()
	tick = max(tick, clock.last+1)
	clock.last = tick
	clock.Unlock()

	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], tick>>12<<16|0x7000|tick&0xfff)
	_, _ = rand.Read(u[8:]) // never fails
	u[8] = u[8]&0x3f | 0x80
	return Spelled(u)
}

// Reset forgets the last id, so that a simulation which begins again makes the same ids.
func Reset() {
	clock.Lock()
	defer clock.Unlock()
	clock.last = 0
}

// Spelled writes a UUID as text.
func Spelled(u [16]byte) string {
	text := []byte("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
	hex.Encode(text, u[:4])
	hex.Encode(text[9:], u[4:6])
	hex.Encode(text[14:], u[6:8])
	hex.Encode(text[19:], u[8:10])
	hex.Encode(text[24:], u[10:])
	return string(text)
}
