// Minimal is the least program without a library: one tool, one prompt, the
// Messages API over net/http, asking the server at BASE_URL.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
)

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Use     string          `json:"tool_use_id,omitempty"`
	Content string          `json:"content,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

func main() {
	tools := json.RawMessage(`[{"name":"double","description":"Doubles a number.","input_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]`)
	messages := []message{{"user", []block{{Type: "text", Text: "Double all numbers."}}}}
	for {
		body, err := json.Marshal(map[string]any{"model": "claude-sonnet-4-6", "max_tokens": 16384, "tools": tools, "messages": messages})
		if err != nil {
			log.Fatal(err)
		}
		resp, err := http.Post(os.Getenv("BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		var reply message
		if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || len(reply.Content) == 0 {
			log.Fatal("bad reply: ", err)
		}
		resp.Body.Close()
		b := reply.Content[0]
		if b.Type != "tool_use" {
			fmt.Println(b.Text)
			return
		}
		var in struct{ N int }
		if err := json.Unmarshal(b.Input, &in); err != nil {
			log.Fatal(err)
		}
		messages = append(messages, message{"assistant", reply.Content},
			message{"user", []block{{Type: "tool_result", Use: b.ID, Content: strconv.Itoa(2 * in.N)}}})
	}
}
