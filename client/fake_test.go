package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test's own program plays the program that a client drives: with the name of a part in
// this variable.
const part = "CLIENT_TEST_PART"

func TestMain(m *testing.M) {
	if play := parts[os.Getenv(part)]; play != nil {
		f := &fake{in: bufio.NewReaderSize(os.Stdin, 1<<20)}
		play(f)
		os.Exit(f.code)
	}
	os.Exit(m.Run())
}

// A fake is a program that speaks stream-json.
type fake struct {
	in   *bufio.Reader
	init map[string]any // the request initialize
	code int
}

// line is what a program reads.
type line struct {
	Type    string         `json:"type"`
	UUID    string         `json:"uuid"`
	ID      string         `json:"request_id"`
	Request map[string]any `json:"request"`
	Message struct {
		Content any `json:"content"`
	} `json:"message"`
	Priority string `json:"priority"`
	Response struct {
		Subtype  string          `json:"subtype"`
		ID       string          `json:"request_id"`
		Response json.RawMessage `json:"response"`
		Error    string          `json:"error"`
	} `json:"response"`
}

// read returns the next line, and false at the end.
func (f *fake) read() (l line, ok bool) {
	data, err := f.in.ReadBytes('\n')
	if err != nil {
		return l, false
	}
	if err := json.Unmarshal(data, &l); err != nil {
		panic(err)
	}
	return l, true
}

func (f *fake) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (f *fake) reply(id, answer string) {
	f.say(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, id, answer)
}

// start answers initialize.
func (f *fake) start() {
	l, _ := f.read()
	f.init = l.Request
	f.reply(l.ID, `{"commands":[]}`)
}

// answer plays a prompt.
func (f *fake) answer(text string) {
	f.say(`{"type":"system","subtype":"init","session_id":"s1","cwd":"/d","model":"m","permissionMode":"plan","tools":["Bash"],"mcp_servers":[{"name":"a","status":"connected"}]}`)
	f.say(`{"type":"assistant","uuid":"u","message":{"content":[{"type":"text","text":%q}]}}`, text)
	f.result(text)
}

func (f *fake) result(text string) {
	f.say(`{"type":"result","subtype":"success","is_error":false,"result":%q,"num_turns":1,"terminal_reason":"completed","total_cost_usd":0.5,"usage":{"input_tokens":3,"output_tokens":2,"cache_creation":{"ephemeral_1h_input_tokens":1}},"permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{}}]}`, text)
}

// ask makes a request, and returns the answer. Other requests that come first are answered
// with an error.
func (f *fake) ask(id, request string) line {
	f.say(`{"type":"control_request","request_id":%q,"request":%s}`, id, request)
	return f.wait(id)
}

func (f *fake) wait(id string) line {
	for {
		l, ok := f.read()
		if !ok {
			return l
		}
		if l.Type == "control_response" && l.Response.ID == id {
			return l
		}
	}
}

// serve answers prompts and requests until the input ends.
func (f *fake) serve(prompt func(line)) {
	for {
		l, ok := f.read()
		switch {
		case !ok:
			return
		case l.Type == "user":
			prompt(l)
		case l.Type == "control_request":
			f.control(l)
		}
	}
}

func (f *fake) control(l line) {
	switch subtype := l.Request["subtype"]; subtype {
	case "mcp_status":
		f.reply(l.ID, `{"mcpServers":[{"name":"a","status":"failed","error":"gone","tools":[{"name":"t"},7,"u"]}]}`)
	case "get_context_usage":
		f.reply(l.ID, `{"totalTokens":10,"maxTokens":200}`)
	case "set_permission_mode", "set_model", "interrupt":
		members, _ := json.Marshal(l.Request)
		f.reply(l.ID, string(members))
	case "silence":
	case "refuse":
		f.say(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"not now"}}`, l.ID)
	default:
		f.say(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"unknown request","error_code":"unsupported_request"}}`, l.ID)
	}
}

// parts are what a fake does.
var parts = map[string]func(f *fake){
	"good": func(f *fake) {
		f.start()
		f.serve(func(l line) {
			f.say(`{"type":"keep_alive"}`)
			f.say(`{"type":"news","of":["the","future"]}`)
			f.answer(fmt.Sprint("echo ", l.Message.Content))
		})
	},
	"args": func(f *fake) {
		f.start()
		f.serve(func(line) {
			all, _ := json.Marshal(map[string]any{"args": os.Args[1:], "init": f.init})
			f.answer(string(all))
		})
	},
	"silent": func(f *fake) { _, _ = io.Copy(io.Discard, f.in) },
	"refuses": func(f *fake) {
		l, _ := f.read()
		f.control(line{ID: l.ID, Request: map[string]any{"subtype": "refuse"}})
		f.serve(nil)
	},
	"early": func(f *fake) {
		fmt.Fprintln(os.Stderr, "\x1b[31mno key\x1b[0m: set KEY")
		f.code = 3
	},
	"crash": func(f *fake) {
		f.start()
		f.serve(func(line) {
			f.say(`{"type":"assistant","message":{"content":"half"}}`)
			fmt.Fprintln(os.Stderr, "fatal: out of luck")
			os.Exit(4)
		})
	},
	"junk":  func(f *fake) { f.start(); f.serve(func(line) { f.say("Debugger attached."); f.answer("late") }) },
	"array": func(f *fake) { f.start(); f.serve(func(line) { f.say("[]") }) },
	"quiet": func(f *fake) { f.start(); f.say(`{"type":"control_request","request":{}}`); f.serve(nil) },
	"huge": func(f *fake) {
		f.start()
		f.serve(func(line) {
			long := strings.Repeat("a", 1<<20)
			fmt.Print(`{"type":"assistant","message":{"content":"`)
			for range 70 {
				fmt.Print(long)
			}
			f.say(`"}}`)
		})
	},
	"large": func(f *fake) {
		f.start()
		f.serve(func(line) { f.answer(strings.Repeat("a", 1<<20)) })
	},
	"types": func(f *fake) {
		f.start()
		f.serve(func(line) {
			f.say(`{"type":7,"uuid":[]}`)
			f.say(`{}`)
			f.say(`{"type":"assistant","uuid":7,"message":7,"parent_tool_use_id":{}}`)
			f.say(`{"type":"assistant","message":{"content":{"a":1}}}`)
			f.say(`{"type":"user","message":{"content":[7,{"type":"odd"}]}}`)
			f.say(`{"type":"system","subtype":"init","tools":7}`)
			f.say(`{"type":"stream_event","event":[]}`)
			f.say(`{"type":"control_response","response":7}`)
			f.say(`{"type":"control_response","response":{"request_id":"nobody"}}`)
			f.say(`{"type":"control_cancel_request","request_id":"nobody"}`)
			for i, r := range []string{`7`, `{"subtype":"dance"}`, `{"subtype":"can_use_tool","tool_name":7}`, `{"subtype":"can_use_tool"}`, `{"subtype":"hook_callback","callback_id":"nobody"}`,
				`{"subtype":"mcp_message","server_name":"nobody","message":{}}`, `{"subtype":"mcp_message","message":7}`} {
				l := f.ask(fmt.Sprint("r", i), r)
				f.say(`{"type":"answer","of":%q,"subtype":%q,"error":%q}`, r, l.Response.Subtype, l.Response.Error)
			}
			f.say(`{"type":"result","is_error":"perhaps"}`)
		})
	},
	"asks": func(f *fake) {
		f.start()
		f.serve(func(l line) {
			var answers []string
			for i, r := range strings.Split(fmt.Sprint(l.Message.Content), "\n") {
				a := f.ask(fmt.Sprint("q", i), r)
				answers = append(answers, string(a.Response.Response)+a.Response.Error)
			}
			f.answer(strings.Join(answers, "\n"))
		})
	},
	"withdraws": func(f *fake) {
		f.start()
		f.serve(func(l line) {
			f.say(`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}}`)
			f.say(`{"type":"control_cancel_request","request_id":"q"}`)
			f.answer("withdrawn")
		})
	},
	"slow": func(f *fake) { // answers only when it is interrupted
		f.start()
		n := 0
		f.serve(func(l line) {
			n++
			f.say(`{"type":"assistant","message":{"content":"begun %d"}}`, n)
			if n > 1 {
				f.result(fmt.Sprint("end ", n))
				return
			}
			for {
				if l, _ := f.read(); l.Request["subtype"] == "interrupt" {
					f.control(l)
					break
				}
			}
			f.result("interrupted")
		})
	},
	"background": func(f *fake) {
		f.start()
		f.serve(func(l line) {
			f.say(`{"type":"result","subtype":"success","result":"of an agent","origin":{"kind":"task-notification"}}`)
			f.answer("mine " + l.Priority)
		})
	},
	"stubborn": func(f *fake) {
		signal.Ignore(syscall.SIGTERM)
		f.start()
		f.say(`{"type":"ready"}`)
		time.Sleep(time.Hour)
	},
	"parent": func(f *fake) { // its child keeps the output open
		f.start()
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		f.say(`{"type":"child","pid":%d}`, child.Process.Pid)
		f.serve(nil)
	},
	"flood": func(f *fake) { // requests, and reads no answers
		f.start()
		for i := range 5_000 {
			f.say(`{"type":"control_request","request_id":"f%d","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}}`, i)
		}
		f.answer("done")
		time.Sleep(time.Hour)
	},
}
