package httptape

import (
	"bytes"
	"strings"

	"github.com/openagent-go/agent/internal/eventstream"
	"github.com/openagent-go/agent/internal/sse"
)

const binaryStream = eventstream.MediaType

// eventsIn returns the JSON values that a body is made of, as far as it can be read.
func eventsIn(media, body string) [][]byte {
	var all [][]byte
	switch media {
	case binaryStream:
		for r := eventstream.NewReader(strings.NewReader(body), 0); ; {
			data, err := r.Chunk()
			if err != nil {
				return all
			}
			all = append(all, bytes.Clone(data))
		}
	case "text/event-stream":
		for r := sse.NewReader(strings.NewReader(body), 0); ; {
			e, err := r.Next()
			if err != nil {
				return all
			}
			all = append(all, bytes.Clone(e.Data))
		}
	}
	return [][]byte{[]byte(body)}
}
