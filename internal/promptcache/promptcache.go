// Package promptcache counts tokens as the prompt cache of the Messages API does.
package promptcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// A Cache counts the input of requests to the Messages API as the provider's prompt
// cache does (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). A
// prefix that ends at a breakpoint is kept for five minutes or an hour after its last use,
// unless it is too short. For each breakpoint, the last first, up to twenty blocks back are
// compared with the kept prefixes. Blocks count at four bytes a token. The zero Cache
// is ready to use, and safe for concurrent use.
type Cache struct {
	Min int // least tokens of a prefix that is kept; 0: 1,024

	mu   sync.Mutex
	kept map[[32]byte]*keptPrefix
}

type keptPrefix struct {
	ttl   time.Duration
	until time.Time
}

const lookback = 20 // blocks, the breakpoint included

// prefixBlock is a block of a request, with all before it.
type prefixBlock struct {
	hash   [32]byte
	tokens int           // up to its end
	ttl    time.Duration // of its breakpoint, 0: it has none
}

// Tokens estimates the tokens in so many bytes.
func Tokens(bytes int) int { return max(1, bytes/4) }

// Usage returns the input of a request body, and keeps its marked prefixes.
func (c *Cache) Usage(body []byte) llm.Usage {
	blocks := prefixBlocks(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[[32]byte]*keptPrefix{}
	}
	least := c.Min
	if least == 0 {
		least = 1024
	}
	now := time.Now()
	total := all(blocks)
	hit := -1
	for i := len(blocks) - 1; i >= 0 && hit < 0; i-- {
		if blocks[i].ttl == 0 {
			continue
		}
		for j := i; j > i-lookback && j >= 0; j-- {
			if k := c.kept[blocks[j].hash]; k != nil && now.Before(k.until) {
				hit = j
				break
			}
		}
	}
	var u llm.Usage
	if hit >= 0 {
		u.CacheRead = blocks[hit].tokens
	}
	end, hour := u.CacheRead, u.CacheRead
	for i, b := range blocks {
		k := c.kept[b.hash]
		switch {
		case i <= hit && k != nil && now.Before(k.until):
			k.until = now.Add(k.ttl) // it was used
		case b.ttl > 0 && b.tokens >= least && i > hit:
			c.kept[b.hash] = &keptPrefix{b.ttl, now.Add(b.ttl)}
			end = b.tokens
			if b.ttl == time.Hour {
				hour = b.tokens
			}
		}
	}
	u.CacheWrite, u.CacheWriteHour, u.Input = end-u.CacheRead, hour-u.CacheRead, total-end
	return u
}

// Input estimates the tokens of a request to the Messages API, 0 for a body without blocks.
func Input(body []byte) int { return all(prefixBlocks(body)) }

// all returns the tokens of all blocks.
func all(blocks []prefixBlock) int {
	if len(blocks) == 0 {
		return 0
	}
	return blocks[len(blocks)-1].tokens
}

// prefixBlocks returns the blocks of a body in the order in which they are cached:
// tools, system, messages.
func prefixBlocks(body []byte) []prefixBlock {
	var r struct {
		Model    string
		Tools    []json.RawMessage
		System   json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		ToolChoice json.RawMessage `json:"tool_choice"`
		Thinking   json.RawMessage
		Mark       *cacheMark `json:"cache_control"` // the API puts it on the last block
	}
	if json.Unmarshal(body, &r) != nil {
		return nil
	}
	var list []prefixBlock
	last := prefixBlock{hash: sha256.Sum256([]byte(r.Model))}
	add := func(salt string, raw json.RawMessage) {
		var ttl time.Duration
		raw, ttl = unmarked(raw)
		h := sha256.New()
		h.Write(last.hash[:])
		h.Write([]byte(salt))
		h.Write([]byte{0})
		h.Write(raw)
		last = prefixBlock{tokens: last.tokens + Tokens(len(raw)), ttl: ttl}
		h.Sum(last.hash[:0])
		list = append(list, last)
	}
	for _, t := range r.Tools {
		add("tool", t)
	}
	for _, b := range contentOf(r.System) {
		add("system", b)
	}
	settings := string(r.ToolChoice) + "\x00" + string(r.Thinking) // these break the cache of messages alone
	for i, m := range r.Messages {
		for j, b := range contentOf(m.Content) {
			salt := "more"
			if j == 0 {
				salt = m.Role
			}
			if i == 0 && j == 0 {
				salt += settings
			}
			add(salt, b)
		}
	}
	if n := len(list); n > 0 && list[n-1].ttl == 0 {
		list[n-1].ttl = r.Mark.lifetime()
	}
	return list
}

// A cacheMark is a cache_control.
type cacheMark struct{ TTL string }

// lifetime returns how long a marked prefix is kept, 0 without a mark.
func (m *cacheMark) lifetime() time.Duration {
	switch {
	case m == nil:
		return 0
	case m.TTL == "1h":
		return time.Hour
	}
	return 5 * time.Minute
}

// contentOf returns the blocks of content; a string is one.
func contentOf(content json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) == nil || len(content) == 0 {
		return list
	}
	var text string
	if json.Unmarshal(content, &text) != nil {
		return nil
	}
	block, _ := json.Marshal(strictapi.Object{"type": "text", "text": text})
	return []json.RawMessage{block}
}

// unmarked returns a block without its breakpoint, and how long that lives.
func unmarked(raw json.RawMessage) (json.RawMessage, time.Duration) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw, 0
	}
	var mark *cacheMark
	if json.Unmarshal(members["cache_control"], &mark) != nil {
		mark = nil
	}
	delete(members, "cache_control")
	out, err := json.Marshal(members)
	if err != nil {
		return raw, 0
	}
	var small bytes.Buffer
	if json.Compact(&small, out) == nil {
		out = small.Bytes()
	}
	return out, mark.lifetime()
}
