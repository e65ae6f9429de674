package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/workspace"
)

// behaviourVar makes the test program a server with this behaviour.
const behaviourVar = "MCP_TEST_MANNERS"

func TestMain(m *testing.M) {
	if behaviour := os.Getenv(behaviourVar); behaviour != "" {
		serve(behaviour)
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/signal.signal_recv"))
}

// A message is what this server reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string         `json:"name"`
		Cursor    string         `json:"cursor"`
		Arguments map[string]any `json:"arguments"`
		Meta      struct {
			Token any `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

func put(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// serve is a server of 2025-06-18 whose behaviour is a list of words, each of which it
// behaves badly in one way.
func serve(behaviour string) {
	has := func(word string) bool { return strings.Contains(" "+behaviour+" ", " "+word+" ") }
	if file := os.Getenv("MCP_TEST_PID"); file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, os.Getpid())
			f.Close()
		}
	}
	if has("host") {
		host()
		return
	}
	if has("gate") { // starts when it may
		for _, err := os.Stat(os.Getenv("MCP_TEST_GATE")); err != nil; _, err = os.Stat(os.Getenv("MCP_TEST_GATE")) {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if has("sdk") {
		official()
		return
	}
	if has("ignore-term") {
		signal.Ignore(syscall.SIGTERM)
	}
	if has("dies") {
		fmt.Fprintln(os.Stderr, "no database at "+os.Getenv("DB_PASSWORD"))
		os.Exit(3)
	}
	if has("banner") {
		put("Starting the server …\n{\"level\":\"info\"}\n[not json")
	}
	more, lists := false, 0
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var m message
		err := json.Unmarshal(in.Bytes(), &m)
		if file := os.Getenv("MCP_TEST_CANCELLED"); file != "" && m.Method == "notifications/cancelled" {
			_ = os.WriteFile(file, in.Bytes(), 0o600) // the test sees that it is not there
		}
		if err != nil || m.ID == nil {
			continue
		}
		reply := func(result string) { put(`{"result":%s,"jsonrpc":"2.0","id":%s}`, result, m.ID) }
		if has("silent") {
			continue
		}
		switch m.Method {
		case "server/discover":
			switch {
			case has("ignore-discover"):
			case has("exit-discover"):
				os.Exit(1)
			case has("null-discover"):
				put(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not initialized"}}`)
			default:
				put(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
			}
		case "initialize":
			reply(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"manners","version":"1"},"instructions":"Be kind."}`)
		case "tools/list":
			switch {
			case has("endless"):
				reply(`{"tools":[],"nextCursor":"x"}`)
			case has("fat"): // pages of 1 MB
				reply(`{"tools":[{"name":"t` + m.Params.Cursor + `","description":"` + strings.Repeat("x", 1<<20) + `","inputSchema":{"type":"object"}}],"nextCursor":"` + m.Params.Cursor + `x"}`)
			case has("restless") && m.Params.Cursor == "":
				lists++
				put(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				reply(`{"tools":[{"name":"lists","inputSchema":{"type":"object"}}]}`)
			case m.Params.Cursor == "":
				reply(`{"tools":[` + toolsFor(behaviour) + `],"nextCursor":"2"}`)
			case more:
				reply(`{"tools":[{"name":"late","inputSchema":{"type":"object"}},{"name":"new","inputSchema":{"type":"object"}}]}`)
			default:
				reply(`{"tools":[{"name":"late","inputSchema":{"type":"object"}}]}`)
			}
		case "tools/call":
			switch m.Params.Name {
			case "lists":
				reply(fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, lists))
			case "echo":
				if has("noise") {
					put("log: called")
				}
				text, _ := json.Marshal(m.Params.Arguments["text"])
				reply(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
			case "env":
				text, _ := json.Marshal(strings.Join(os.Environ(), "\n"))
				reply(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
			case "fails":
				reply(`{"content":[{"type":"text","text":"no such row"}],"isError":true}`)
			case "large":
				reply(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 17<<20) + `"}]}`)
			case "deep":
				put(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, strings.Repeat("[", 5<<20)+strings.Repeat("]", 5<<20))
				reply(`{"content":[{"type":"text","text":"shallow"}]}`)
			case "hang":
			case "crash":
				fmt.Fprintln(os.Stderr, "out of cheese")
				os.Exit(7)
			case "grow":
				more = true
				for range 4 {
					put(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				}
				reply(`{"content":[]}`)
			case "progress":
				for i := range 5 {
					time.Sleep(time.Second)
					put(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%q,"progress":%d,"total":5,"message":"step %d"}}`, m.Params.Meta.Token, i+1, i+1)
				}
				reply(`{"content":[{"type":"text","text":"done"}]}`)
			case "structured":
				reply(`{"content":[{"type":"text","text":"n is 1"}],"structuredContent":{"n":` + fmt.Sprint(m.Params.Arguments["n"]) + `}}`)
			case "wrong":
				put(`{"jsonrpc":"2.0","id":999,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`)
				reply(`{"content":[{"type":"text","text":"right"}]}`)
			default:
				put(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}`, m.ID)
			}
		default:
			put(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
		}
	}
	if has("ignore-eof") {
		for { // even a signal only ends the sleep
			time.Sleep(time.Minute)
		}
	}
}

func toolsFor(behaviour string) string {
	var list []string
	for _, name := range strings.Fields("echo env fails large deep hang crash grow progress wrong") {
		list = append(list, `{"name":"`+name+`","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`)
	}
	list = append(list, `{"name":"structured","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`)
	if strings.Contains(behaviour, "bad-tools") {
		list = append(list, `{"name":"echo","inputSchema":{"type":"object"}}`, `{"name":"a.b","inputSchema":{"type":"object"}}`, `{"name":"a/b","inputSchema":{"type":"object"}}`,
			`{"name":"`+strings.Repeat("long", 30)+`","inputSchema":{"type":"object"}}`, `{"name":"refs","inputSchema":{"type":"object","properties":{"x":{"$ref":"https://evil.example/schema"}}}}`,
			`{"name":"none"}`, `{"name":"union","inputSchema":{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}}`,
			`{"name":"huge","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 70_000)+`"}}`)
	}
	return strings.Join(list, ",")
}

// host has a server behind a shell, and is killed.
func host() {
	ws := &workspace.Workspace{}
	all := mcp.New(map[string]mcp.Config{"s": {Command: "sh", Args: []string{"-c", `"$0"; true`, os.Args[0]},
		Env: map[string]string{behaviourVar: "ignore-eof ignore-term", "MCP_TEST_PID": os.Getenv("MCP_TEST_CHILD_PID")}, AlwaysLoad: true}}, mcp.Options{Workspace: ws})
	tools, err := all.Tools(context.Background())
	put("%d tools, %v", len(tools), err)
	time.Sleep(time.Minute)
}

// pids reads the ids of the processes that wrote to a file.
func pids(t *testing.T, file string) []int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, s := range strings.Fields(string(data)) {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}
