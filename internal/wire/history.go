package wire

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/openagent-go/agent/llm"
)

// Texts for places where a provider requires words and there are none.
const (
	NoContent = "(no content)"
	Continue  = "Please continue from where you left off."
	NoResult  = "No result of this call is on record. It may or may not have had an effect."
)

// A Kind sorts the parts of a turn.
type Kind uint8

const (
	Words        Kind = iota // text
	Thought                  // reasoning, redacted or not
	Call                     // a tool call
	Answer                   // the result of a tool call
	Media                    // an image or a document
	ServerCall               // a call of a tool that the provider runs
	ServerAnswer             // the result of a ServerCall
	Other
)

// A Part is an encoded piece of a turn. The codec defines the form of Data.
type Part struct {
	Kind Kind
	Ref  string // id of the call, for a ServerCall or ServerAnswer
	Data []byte
}

// A Turn is a run of messages of one role.
type Turn struct {
	Role  llm.Role
	First bool // the first turn of the transcript
	Parts []Part
	// Maker is the model that made the message whose blocks are being added.
	Maker string
}

// Add appends a part.
//
//go:noinline // called from many places: every program stays smaller
func (t *Turn) Add(kind Kind, data []byte) { t.Parts = append(t.Parts, Part{Kind: kind, Data: data}) }

// Has reports whether t has a part of the kind.
func (t *Turn) Has(kind Kind) bool {
	return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Kind == kind })
}

// Size returns the number of bytes in the parts of t.
func (t *Turn) Size() int {
	n := 0
	for _, p := range t.Parts {
		n += len(p.Data) + 1
	}
	return n
}

// A Codec encodes for one provider.
type Codec interface {
	// Block adds the encoded parts of b to t, none if the provider must not see it. id is
	// the id to send for a ToolUse or ToolResult. crowded: the request contains many
	// images.
	Block(t *Turn, b llm.Block, id string, crowded bool)
	// Turn appends the messages of t, with commas between them. last: no turn follows yet.
	Turn(dst []byte, t *Turn, last bool) []byte
}

// IDs is the form of tool call ids that a provider accepts.
type IDs struct {
	Max    int  // bytes
	Exact  bool // exactly Max letters and digits
	Narrow bool // letters, digits, _ and - only
	Once   bool // unique in a request; otherwise unique in a turn
}

// manyImages is the number of images above which providers limit their size further.
const manyImages = 20

// A History converts a growing transcript into turns that satisfy the rules of all
// providers: roles alternate, the results of a turn's calls come first in the next turn,
// each call has exactly one result, and ids are valid and unique. It encodes each message
// once and only copies finished turns. It is safe for concurrent use.
type History struct {
	Codec Codec
	IDs   IDs

	mu      sync.Mutex
	seen    []identity
	crowded bool
	images  int

	closed []byte
	ends   []int // ends of the last closed user turns in closed
	turns  int
	turn   *Turn // open
	spoke  *Turn // the last turn of the assistant
	calls  []call
	taken  map[string]bool
	next   map[string]int // next number to try for an id that is taken
	names  []string
}

// identity distinguishes messages without reading them.
type identity struct {
	role  llm.Role
	first *llm.Block
	n     int
}

func identify(m llm.Message) identity {
	id := identity{role: m.Role, n: len(m.Content)}
	if id.n > 0 {
		id.first = &m.Content[0]
	}
	return id
}

// call is a tool call that the open user turn must answer.
type call struct {
	own, sent string
	answered  bool
}

// A Snapshot is a transcript ready to be sent: Closed and, if both are not
// empty, a comma and Open. The slices must not be changed.
type Snapshot struct {
	Closed []byte
	Ends   []int // ends of up to two user turns in Closed, in order
	Open   []byte
	Last   *Turn // the turn that Open ends with, nil if there are no messages
	Spoke  *Turn // the last turn of the assistant, nil if there is none
	Names  []string
}

// Snapshot returns the state after msgs. It starts again from the beginning unless msgs
// continue the messages of the last call.
func (h *History) Snapshot(msgs []llm.Message) Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.extends(msgs) {
		h.reset(false)
	}
	from := len(h.seen)
	for _, m := range msgs[from:] {
		h.images += countImages(m.Content)
	}
	if h.images > manyImages && !h.crowded {
		images := h.images
		h.reset(true)
		h.images, from = images, 0
	}
	for _, m := range msgs[from:] {
		h.add(m)
		h.seen = append(h.seen, identify(m))
	}
	return h.snapshot()
}

func (h *History) extends(msgs []llm.Message) bool {
	if len(msgs) < len(h.seen) {
		return false
	}
	for i, id := range h.seen {
		if identify(msgs[i]) != id {
			return false
		}
	}
	return true
}

// reset clears the state. The bytes of earlier snapshots stay unchanged.
func (h *History) reset(crowded bool) {
	h.seen, h.crowded, h.images = nil, crowded, 0
	h.closed, h.ends, h.turns, h.turn, h.spoke = nil, nil, 0, nil, nil
	h.calls, h.taken, h.next, h.names = nil, nil, nil, nil
}

func countImages(bs llm.Blocks) int {
	n := 0
	for _, b := range bs {
		switch b := b.(type) {
		case llm.Image:
			n++
		case llm.ToolResult:
			n += countImages(b.Content)
		}
	}
	return n
}

func (h *History) add(m llm.Message) {
	role := llm.User
	if m.Role == llm.Assistant {
		role = llm.Assistant
	}
	if h.turn == nil || h.turn.Role != role {
		h.close()
		h.turn = &Turn{Role: role, First: h.turns == 0}
		h.turns++
		if role == llm.Assistant {
			h.spoke, h.calls = h.turn, nil
			if !h.IDs.Once {
				h.taken, h.next = nil, nil
			}
		}
	}
	h.turn.Maker = m.Model
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.ToolUse:
			if role == llm.Assistant {
				h.use(b)
			}
		case llm.ToolResult:
			if role == llm.User {
				h.result(b)
			}
		default:
			h.Codec.Block(h.turn, b, "", h.crowded)
		}
	}
}

// close encodes the open turn for the last time.
func (h *History) close() {
	if h.turn == nil {
		return
	}
	t := h.turn
	if t.Role == llm.User {
		t = h.answered(t)
		h.calls = nil
	}
	if len(h.closed) > 0 {
		h.closed = append(h.closed, ',')
	}
	h.closed = h.Codec.Turn(h.closed, t, false)
	if t.Role == llm.User {
		h.ends = append(h.ends, len(h.closed))
		h.ends = h.ends[max(0, len(h.ends)-2):]
	}
	if h.turn != h.spoke {
		h.turn.Parts = nil
	}
}

func (h *History) use(u llm.ToolUse) {
	if !slices.Contains(h.names, u.Name) {
		h.names = append(h.names, u.Name)
	}
	id := h.id(u.ID)
	h.calls = append(h.calls, call{own: u.ID, sent: id})
	h.Codec.Block(h.turn, u, id, h.crowded)
}

// result takes the first result for a call, and drops results without a call.
func (h *History) result(r llm.ToolResult) {
	for i := range h.calls {
		if c := &h.calls[i]; c.own == r.ID && !c.answered {
			c.answered = true
			h.Codec.Block(h.turn, r, c.sent, h.crowded)
			return
		}
	}
}

// id returns the id to send for own. It is own, if that is valid and not taken.
func (h *History) id(own string) string {
	if h.taken == nil {
		h.taken, h.next = map[string]bool{}, map[string]int{}
	}
	base := h.IDs.legal(own)
	id := base
	for h.taken[id] {
		h.next[base]++
		suffix := "_" + strconv.Itoa(h.next[base])
		if h.IDs.Exact {
			id = digest(own+suffix, h.IDs.Max)
			continue
		}
		id = base[:min(len(base), h.IDs.Max-len(suffix))] + suffix
	}
	h.taken[id] = true
	return id
}

func (ids IDs) legal(id string) string {
	if ids.Exact {
		if len(id) == ids.Max && strings.IndexFunc(id, func(r rune) bool { return !letterOrDigit(r) }) < 0 {
			return id
		}
		return digest(id, ids.Max)
	}
	if ids.Narrow {
		id = strings.Map(narrow, id)
	}
	if len(id) > ids.Max {
		id = strings.ToValidUTF8(id[:ids.Max], "")
	}
	if id == "" {
		return "call"
	}
	return id
}

func letterOrDigit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// digest returns a hash of s as n letters and digits.
func digest(s string, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	f := fnv.New64a()
	f.Write([]byte(s))
	sum := f.Sum64()
	out := make([]byte, n)
	for i := range out {
		out[i] = digits[sum%62]
		sum /= 62
	}
	return string(out)
}

// answered returns the user turn t with a result for each call that lacks one.
// It leaves t as it is.
func (h *History) answered(t *Turn) *Turn {
	full := *t
	full.Parts = slices.Clip(t.Parts)
	for _, c := range h.calls {
		if !c.answered {
			h.Codec.Block(&full, llm.ToolResult{IsError: true, Content: llm.Blocks{llm.Text{Text: NoResult}}}, c.sent, h.crowded)
		}
	}
	return &full
}

func (h *History) snapshot() Snapshot {
	s := Snapshot{Closed: slices.Clip(h.closed), Ends: slices.Clone(h.ends), Names: slices.Clip(h.names), Spoke: h.spoke}
	if h.turn == nil {
		return s
	}
	turn := *h.turn
	turn.Parts = slices.Clip(turn.Parts)
	s.Last = &turn
	if h.turn == h.spoke {
		s.Spoke = s.Last
	}
	if turn.Role == llm.User {
		s.Last = h.answered(&turn)
		s.Open = h.Codec.Turn(nil, s.Last, true)
		return s
	}
	if len(h.calls) == 0 {
		s.Open = h.Codec.Turn(nil, s.Last, true)
		return s
	}
	s.Open = append(h.Codec.Turn(nil, s.Last, false), ',')
	s.Last = h.answered(&Turn{Role: llm.User})
	s.Open = h.Codec.Turn(s.Open, s.Last, true)
	return s
}
