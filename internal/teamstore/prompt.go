package teamstore

import (
	"fmt"
	"strings"
	"time"
)

// purposes tell the recipient how to treat a message of a type.
var purposes = map[MessageType]string{
	ShutdownRequest:      "%[1]s asks you to end your work. Bring what you are at into a state that others can use, then answer with SendMessage to %[1]s, type shutdown_response, and end your turn: that ends you. If you cannot end yet, answer with a message of type text that says why.",
	ShutdownResponse:     "%[1]s answers your request to end its work.",
	PlanApprovalResponse: "%[1]s answers the plan that you have sent. Go on only as far as the answer allows.",
}

// Text renders messages for a model: each between tags that name its sender, its time and
// its purpose. The content cannot end its message or begin another.
func Text(messages []Message) string {
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "<message from=%s type=%s time=%s>\n", attribute(m.From), attribute(string(m.Type)), attribute(m.Time.UTC().Format(time.RFC3339)))
		if purpose, ok := purposes[m.Type]; ok {
			fmt.Fprintf(&b, purpose+"\n\n", plainTags.Replace(m.From))
		}
		fmt.Fprintf(&b, "%s\n</message>", plainTags.Replace(strings.TrimRight(m.Content, "\n")))
	}
	return b.String()
}

// plainTags keeps texts from holding the tags of a message.
var plainTags = strings.NewReplacer("<message", "&lt;message", "</message", "&lt;/message")

func attribute(s string) string {
	return `"` + strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;").Replace(s) + `"`
}
