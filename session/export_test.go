package session

import (
	"errors"
	"hash/crc32"
)

// Folder and Volatile are the stores that Dir and Memory make.
type (
	Folder   = folderStore
	Volatile = memoryStore
)

// DamagedLine returns the line that an error of damage names, 0 if it is another error.
func DamagedLine(err error) int {
	corrupt, ok := errors.AsType[*corruptError](err)
	if !ok || !errors.Is(err, ErrCorrupt) {
		return 0
	}
	return corrupt.line
}

// Torn returns how many bytes were cut off when l was opened.
func Torn(l Log) int64 { return l.(*journal).torn }

// IsMessage is isMessage.
var IsMessage = isMessage

// Seal closes a line of a journal that someone else has written.
func Seal(line string) string {
	return string(appendCRC([]byte(line), crc32.Checksum([]byte(line), castagnoli))) + "\n"
}

// Found and Done return all that a report holds.
func Found(r *Report) *report    { return &r.found }
func Done(r *Repaired) *repaired { return &r.done }
