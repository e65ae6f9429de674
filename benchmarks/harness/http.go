package harness

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// A Transport plays a [Script] through the Anthropic Messages API, without a
// socket: for libraries that have no place for a model of one's own. Replies are
// streams where Stream is set.
type Transport struct {
	Script Script
	Stream bool
}

const (
	httpCall = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-6","content":[{"type":"tool_use","id":"%s","name":"` + Tool +
		`","input":%s}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":20}}`
	httpFinal = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-6","content":[{"type":"text","text":"` + Final +
		`"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":20}}`
	streamStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-6\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}}\n\n"
	streamEnd   = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":20}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	streamCall  = streamStart + "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"" + Tool + "\",\"input\":{}}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%q}}\n\n" + streamEnd
	streamFinal = streamStart + "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + Final + "\"}}\n\n" + streamEnd
)

// RoundTrip answers a request by the last call whose result is in it. It takes
// the body as a socket would: piece by piece, and keeps none of it.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	turns, err := lastCall(r.Body)
	if err != nil {
		return nil, err
	}
	use, err := t.Script.Next(r.Context(), 2*turns+1)
	if err != nil {
		return nil, err
	}
	kind, reply := "application/json", httpFinal
	switch {
	case t.Stream && use != nil:
		reply = fmt.Sprintf(streamCall, use.ID, use.Input, "tool_use")
	case t.Stream:
		reply = fmt.Sprintf(streamFinal, "end_turn")
	case use != nil:
		reply = fmt.Sprintf(httpCall, use.ID, use.Input)
	}
	if t.Stream {
		kind = "text/event-stream"
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(reply)), ContentLength: int64(len(reply)), Request: r}, nil
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// lastCall returns how many calls a request tells of: the number in the id of
// the last one, and one more; none is 0.
func lastCall(body io.Reader) (calls int, err error) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	kept := 0 // of the last piece: an id may go on in the next
	for err == nil {
		var n int
		n, err = body.Read(buf[kept:])
		piece := buf[:kept+n]
		if i := bytes.LastIndex(piece, []byte("call_")); i >= 0 {
			calls = 0
			for _, c := range piece[i+len("call_"):] {
				if c < '0' || c > '9' {
					break
				}
				calls = 10*calls + int(c-'0')
			}
			calls++
		}
		kept = copy(buf[:], piece[max(0, len(piece)-len("call_1000")):])
	}
	if err != io.EOF {
		return 0, err
	}
	return calls, nil
}
