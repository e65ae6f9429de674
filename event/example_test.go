package event_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// An event has one form in journals and streams. The type of Data says what happened.
func ExampleEvent() {
	line, err := json.Marshal(event.Event{
		Seq: 7, Prev: 6, Session: "support-42", Time: time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC),
		Data: event.SessionNamed{Title: "A broken build"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(line))

	var e event.Event
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Println(err)
		return
	}
	switch d := e.Data.(type) {
	case event.SessionNamed:
		fmt.Println("fact", e.Seq, "is a title:", d.Title)
	case event.UserMessage:
		fmt.Println("fact", e.Seq, "is a prompt:", llm.Blocks(d.Message.Content).Text())
	}
	// Output:
	// {"seq":7,"prev":6,"time":"2026-11-23T04:00:00Z","session":"support-42","type":"session_named","data":{"title":"A broken build"}}
	// fact 7 is a title: A broken build
}
