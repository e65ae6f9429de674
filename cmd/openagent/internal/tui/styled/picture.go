package styled

import "strings"

// A place of a picture is a letter of its own. The first one of a row has two marks: the row and
// the column 0. Those behind it count on.
const (
	place     = "\U0010eeee"
	columnOne = "\u0305"
)

// rowMarks are the marks of rows, in order.
var rowMarks = []rune("\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357\u035b\u0363\u0364\u0365")

// MaxPictureRows is how many rows a picture may have.
var MaxPictureRows = len(rowMarks)

// PictureRows returns the places of a picture that the terminal knows by a number of 24 bits.
func PictureRows(id uint32, columns, rows int) []Row {
	var out []Row
	for _, mark := range rowMarks[:min(max(rows, 0), len(rowMarks))] {
		out = append(out, Row{{Text: place + string(mark) + columnOne + strings.Repeat(place, max(columns-1, 0)), Picture: id}})
	}
	return out
}
