package acp

import (
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

// maxOutput is how many bytes of a command's output are kept to compare them with its result.
const maxOutput = 64 << 10

// An output is what a client has seen of a command's output.
type output struct {
	to      int64  // bytes of output that were added
	waiting string // that the client is to see
	seen    string // by the client; the end of it if there was more
	whole   bool   // seen is all
}

// add adds what a report says. A report may come again, with a later one's number.
func (o *output) add(s tool.Status) {
	var part toolapi.Output
	if json.Unmarshal(s.Metadata[toolapi.OutputMember], &part) != nil || part.To <= o.to || part.From < o.to {
		return
	}
	if o.to == 0 {
		o.whole = true
	}
	if part.From > o.to {
		o.whole = false
		o.waiting += "[…]\n"
	}
	o.waiting += part.Text
	o.to = part.To
}

// next returns the output that the client has not seen.
func (o *output) next() string {
	data := o.waiting
	o.waiting = ""
	o.seen += data
	if cut := len(o.seen) - maxOutput; cut > 0 {
		o.seen, o.whole = o.seen[cut:], false
	}
	return data
}

// recent returns the end of the output.
func (o *output) recent() string {
	const most = 4 << 10
	if cut := len(o.seen) - most; cut > 0 {
		_, end, _ := strings.Cut(o.seen[cut:], "\n")
		return text.Ellipsis + "\n" + end
	}
	return o.seen
}

// rest returns the part of a command's result that the client has not seen.
func (o *output) rest(result string) string {
	seen := o.seen
	waiting := o.next()
	switch after, found := strings.CutPrefix(result, strings.TrimRight(seen, "\n")); {
	case seen == "":
		return result
	case o.whole && found:
		return strings.TrimPrefix(after, seen[len(strings.TrimRight(seen, "\n")):])
	}
	return waiting
}
