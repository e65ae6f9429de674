package teamstore

import "encoding/json"

// Most sets how many bytes of a space d keeps.
func (d *Dir) Most(bytes int64) { d.most = bytes }

// Seal returns a line of a journal: an object with its checksum.
func Seal(object string) string {
	line, err := seal(json.RawMessage(object))
	if err != nil {
		panic(err)
	}
	return string(line)
}
