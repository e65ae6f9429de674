package claude

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
	"reflect"
	"testing"

	"github.com/openagent-go/agent/internal/eventstream"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// frame writes a frame of an event stream. Headers are pairs of names and strings.
func frame(payload string, headers ...string) string {
	var h []byte
	for i := 0; i < len(headers); i += 2 {
		h = append(append(append(h, byte(len(headers[i]))), headers[i]...), 7)
		h = append(binary.BigEndian.AppendUint16(h, uint16(len(headers[i+1]))), headers[i+1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(12+len(h)+len(payload)+4))
	b = binary.BigEndian.AppendUint32(b, uint32(len(h)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, h...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// chunks makes a stream out of the data of events, as Bedrock does.
func chunks(data ...string) string {
	s := ""
	for _, d := range data {
		s += frame(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(d))+`","p":"abc"}`, ":message-type", "event", ":event-type", "chunk")
	}
	return s
}

func exception(kind, words string) string {
	return frame(`{"message":"`+words+`"}`, ":message-type", "exception", ":exception-type", kind)
}

func TestBedrock(t *testing.T) {
	start := chunks(msgStart, textBlock, textDelta("Hi"))
	whole := start + chunks(textDelta(" \u00e9"), stop0, ended("end_turn"), msgStop)
	for _, tt := range []struct {
		name, body string
		want       llm.Class // "" for an answer
	}{
		{"whole", whole, ""},
		{"nothing after the end counts", whole + "garbage", ""},
		{"cut between messages", start, llm.Truncated},
		{"cut inside of a message", whole[:len(whole)-3], llm.Truncated},
		{"throttled", start + exception("throttlingException", "slow down"), llm.RateLimit},
		{"overloaded", exception("serviceUnavailableException", "busy"), llm.Overloaded},
		{"model failed", start + exception("modelStreamErrorException", "oops"), llm.ServerError},
		{"model slow", start + exception("modelTimeoutException", "oops"), llm.Timeout},
		{"refused", exception("validationException", "bad"), llm.Invalid},
		{"too long", exception("validationException", "Input is too long for requested model."), llm.TooLong},
		{"error of the messages API", start + chunks(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), llm.Overloaded},
		{"changed on the way", start[:len(start)-8] + "X" + start[len(start)-7:], llmconst.Protocol},
		{"another format", framed(msgStart), llmconst.Protocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, piece := range []int{0, 7, 1} {
				got, err := play(t, eventstream.MediaType, tt.body, piece, io.ErrUnexpectedEOF, false)
				if class(err) != tt.want {
					t.Fatalf("got %v, want %s", err, tt.want)
				}
				if want := (llm.Blocks{llm.Text{Text: "Hi \u00e9"}}); tt.want == "" && !reflect.DeepEqual(got.Message.Content, want) {
					t.Errorf("got %+v", got.Message.Content)
				}
			}
		})
	}
}
