package promptcache

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/llm"
)

// cached makes a body of texts: with a * before it the text is a breakpoint, with a +
// one of an hour. All are messages of the user but the first, the system prompt.
func cached(texts ...string) []byte {
	var blocks []string
	for _, s := range texts {
		mark := ""
		switch {
		case strings.HasPrefix(s, "*"):
			mark = `,"cache_control":{"type":"ephemeral"}`
		case strings.HasPrefix(s, "+"):
			mark = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
		}
		s = strings.TrimLeft(s, "*+")
		blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":%q%s}`, s+strings.Repeat(" word", 400), mark)) // 500 tokens and some
	}
	return []byte(`{"model":"m","system":[` + blocks[0] + `],"messages":[{"role":"user","content":[` + strings.Join(blocks[1:], ",") + `]}]}`)
}

// each counts the blocks that a count of tokens amounts to.
func each(u llm.Usage) [4]int {
	return [4]int{u.Input / 500, u.CacheRead / 500, u.CacheWrite / 500, u.CacheWriteHour / 500}
}

func TestCache(t *testing.T) {
	numbered := func(from, to int) (list []string) {
		for i := from; i <= to; i++ {
			list = append(list, fmt.Sprint(i))
		}
		return list
	}
	marked := func(list []string) []string { list[len(list)-1] = "*" + list[len(list)-1]; return list }
	type request struct {
		after time.Duration
		texts []string
		want  [4]int // input, read, written, of these for an hour
	}
	for name, list := range map[string][]request{
		"no breakpoints":    {{0, numbered(1, 4), [4]int{4}}, {0, numbered(1, 4), [4]int{4}}},
		"one more each":     {{0, []string{"s", "*a"}, [4]int{0, 0, 2}}, {0, []string{"s", "a", "*b"}, [4]int{0, 2, 1}}, {0, []string{"s", "a", "b", "*c", "d"}, [4]int{1, 3, 1}}},
		"too short":         {{0, []string{"*s", "a"}, [4]int{2}}, {0, []string{"*s", "a"}, [4]int{2}}},
		"changed":           {{0, []string{"s", "a", "*b"}, [4]int{0, 0, 3}}, {0, []string{"t", "a", "*b"}, [4]int{0, 0, 3}}},
		"an earlier one":    {{0, []string{"s", "*a", "*b"}, [4]int{0, 0, 3}}, {0, []string{"s", "*a", "*c"}, [4]int{0, 2, 1}}},
		"twenty blocks":     {{0, marked(numbered(1, 5)), [4]int{0, 0, 5}}, {0, marked(numbered(1, 24)), [4]int{0, 5, 19}}},
		"twenty-one blocks": {{0, marked(numbered(1, 5)), [4]int{0, 0, 5}}, {0, marked(numbered(1, 25)), [4]int{0, 0, 25}}},
		"five minutes":      {{0, []string{"s", "a", "*b"}, [4]int{0, 0, 3}}, {4 * time.Minute, []string{"s", "a", "*b"}, [4]int{0, 3}}, {4 * time.Minute, []string{"s", "a", "*b"}, [4]int{0, 3}}, {6 * time.Minute, []string{"s", "a", "*b"}, [4]int{0, 0, 3}}},
		"an hour":           {{0, []string{"s", "a", "+b"}, [4]int{0, 0, 3, 3}}, {50 * time.Minute, []string{"s", "a", "+b", "*c"}, [4]int{0, 3, 1}}, {61 * time.Minute, []string{"s", "a", "+b"}, [4]int{0, 0, 3, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := Cache{Min: 1000}
				for i, r := range list {
					time.Sleep(r.after)
					if got := each(c.Usage(cached(r.texts...))); got != r.want {
						t.Errorf("request %d: input, read, written, for an hour: %v, want %v", i, got, r.want)
					}
				}
			})
		})
	}
}

// A mark at the top of a request is on its last block.
func TestCacheOfWholeRequest(t *testing.T) {
	c := Cache{Min: 1000}
	for i, want := range [][4]int{{0, 0, 3}, {0, 3, 1}} {
		body := cached([]string{"s", "a", "b", "c"}[:3+i]...)
		body = append([]byte(`{"cache_control":{"type":"ephemeral"},`), body[1:]...)
		if got := each(c.Usage(body)); got != want {
			t.Errorf("request %d: input, read, written, for an hour: %v, want %v", i, got, want)
		}
	}
}
