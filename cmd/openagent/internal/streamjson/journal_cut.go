package streamjson

import (
	"fmt"

	"github.com/openagent-go/agent/event"
)

// journalCutLine says that an unfinished record was cut off the session's journal.
type journalCutLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Bytes   int64  `json:"bytes"`
	Message string `json:"message"`
	Origin
}

// journalCut tells people on stderr as well, in every format of output.
func (r *Report) journalCut(d event.JournalCut) {
	text := JournalCutText(d)
	r.Line(journalCutLine{Type: "system", Subtype: "journal_cut", Bytes: d.Bytes, Message: text, Origin: r.NewOrigin("")})
	if r.Warn != nil {
		r.Warn("%s", text)
	}
}

// JournalCutText tells people that the end of a journal was cut off.
func JournalCutText(d event.JournalCut) string {
	return fmt.Sprintf("the session's journal ended in an unfinished record, as a crash leaves it: its %d bytes were cut off and are kept in journal.jsonl.torn", d.Bytes)
}
