package harness

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// What a session of work is made of, for every library the same: ten prompts, for each
// three turns that read a file and a report.
var (
	SessionSystem  = strings.TrimSpace(strings.Repeat("You are a careful agent. ", 40))
	SessionTools   = sessionTools()
	SessionPrompts = sessionPrompts()
)

// SessionTurns is how many requests the session takes.
const SessionTurns = 40

// A SessionTool is a tool of the session. It takes a path and a limit.
type SessionTool struct{ Name, Text, Result string }

func sessionTools() []SessionTool {
	text := func(name string) string {
		return name + " " + strings.TrimSpace(strings.Repeat("does its work on what it is given, and says so. ", 12))
	}
	list := []SessionTool{{"Read", text("Read"), strings.Repeat("a line of some file, with words in it\n", 60)}}
	for i := range 19 {
		name := fmt.Sprintf("Tool%02d", i)
		list = append(list, SessionTool{name, text(name), "done"})
	}
	return list
}

func sessionPrompts() []string {
	var list []string
	for i := range SessionTurns / 4 {
		list = append(list, fmt.Sprintf("Prompt %d: look at the files again.", i))
	}
	return list
}

// SessionReport is how every answer to a prompt begins.
const SessionReport = "Report "

// A Way is how the prompt cache is asked for.
type Way string

const (
	ByItself Way = ""       // what the library does when nobody says anything
	Marked   Way = "marked" // the program asks, as the library's documentation shows
	Stable   Way = "stable" // and does what else is needed for stable bytes
)

// A Say goes on with a session by one prompt and returns the answer's text.
type Say func(ctx context.Context, prompt string) (string, error)

// Session is the main function of a program that holds the session of work with the
// Messages API at -url, in a way that it has. It prints the library's version.
func Session(library string, open func(url string, way Way) (Say, error)) {
	url := flag.String("url", "", "base URL of the server")
	way := flag.String("way", "", "who asks for the prompt cache")
	flag.Parse()
	if err := hold(*url, Way(*way), open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(Result{Version: version(library)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hold(url string, way Way, open func(string, Way) (Say, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	say, err := open(url, way)
	if err != nil {
		return err
	}
	for i, prompt := range SessionPrompts {
		text, err := say(ctx, prompt)
		if err == nil && !strings.HasPrefix(text, SessionReport) {
			err = fmt.Errorf("the answer is %q", text)
		}
		if err != nil {
			return fmt.Errorf("prompt %d: %w", i, err)
		}
	}
	return nil
}
