package term

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// pictureQuestion asks whether the terminal takes pictures (kitty graphics protocol). Only terminals
// that show pictures in text are asked: others may show the question.
const pictureQuestion = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"

// pictureAnswer is the answer of a terminal that does.
const pictureAnswer = "Gi=31;OK"

// hasPlaces reports whether a terminal of a name shows pictures in text.
// Other terminals with the protocol do not, nor does kitty before 0.28.
func hasPlaces(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "ghostty") {
		return true
	}
	version, ok := strings.CutPrefix(name, "kitty(")
	if !ok {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 0 || minor >= 28
}

// maxChunk is how much of a picture goes into one sequence.
const maxChunk = 4096

// Picture gives a PNG to the terminal under a number, that takes the place of text of so many cells. See
// styled.PictureRows. Nothing is shown before these are written.
func (t *Terminal) Picture(id uint32, png []byte, columns, rows int) error {
	_, err := t.out.WriteString(picture(id, png, columns, rows))
	return err
}

func picture(id uint32, png []byte, columns, rows int) string {
	data := base64.StdEncoding.EncodeToString(png)
	var b strings.Builder
	head := "a=T,U=1,f=100,t=d,q=2,i=" + strconv.FormatUint(uint64(id), 10) + ",c=" + strconv.Itoa(columns) + ",r=" + strconv.Itoa(rows) + ","
	for more := true; more; head = "q=2," {
		chunk := data[:min(len(data), maxChunk)]
		data = data[len(chunk):]
		more = data != ""
		m := "0"
		if more {
			m = "1"
		}
		b.WriteString("\x1b_G" + head + "m=" + m + ";" + chunk + st)
	}
	return b.String()
}
