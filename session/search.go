package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// A Hit is a fact in which [Search] has found the words.
type Hit struct {
	Session Info      `json:"session"` // where the text is
	Seq     int64     `json:"seq"`     // the number of the fact
	Time    time.Time `json:"time"`    // of the fact
	Type    string    `json:"type"`    // of the fact
	Snippet string    `json:"snippet"` // the place with the text around it, in one line
	At      int       `json:"at"`      // where in the snippet the words begin, in bytes
	Length  int       `json:"length"`  // of the words, in bytes
}

// SearchOptions bound a search. The zero value searches all sessions.
type SearchOptions struct {
	Limit int             // hits at all; 0 is 100
	Each  int             // hits in one session; 0 is 5
	Match func(Info) bool // the sessions to search; nil is all
}

const (
	defaultHits     = 100
	defaultHitsEach = 5
	snippetSide     = 60 // characters on each side of the words
	maxQuery        = 1000
)

// Search looks for a text in the conversations of all sessions of a store: prompts,
// answers, the inputs and results of tools, titles and tags. It ignores case and kinds of
// space. The session changed last comes first, in it the earliest fact. One fact at a time
// is in memory. A session that cannot be read yields an error with a Hit that holds only
// the session, and the search continues; it ends with the context.
//
// Search reads all sessions, unless the store has a method Find(ctx, word string) ([]string, error).
// It returns the ids of all sessions in whose facts a word of ASCII letters and digits may be, in any case
// and also within a longer word. Search then reads only these. The text of a [llm.Document] is base64 in
// the JSON of a fact, so a session with one may have any word.
func Search(ctx context.Context, s Store, query string, o SearchOptions) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		words, err := wordsOf(query)
		if err != nil {
			yield(Hit{}, fmt.Errorf("searching sessions: %w", err))
			return
		}
		list, err := s.List(ctx)
		if err != nil {
			yield(Hit{}, fmt.Errorf("searching sessions: %w", err))
			return
		}
		if f, ok := s.(finder); ok && words.part != "" {
			ids, err := f.Find(ctx, words.part)
			if err != nil {
				yield(Hit{}, fmt.Errorf("searching sessions: %w", err))
				return
			}
			may := make(map[string]bool, len(ids))
			for _, id := range ids {
				may[id] = true
			}
			list = slices.DeleteFunc(list, func(info Info) bool { return !may[info.Session] })
		}
		left := cmp.Or(o.Limit, defaultHits)
		for _, info := range list {
			if o.Match != nil && !o.Match(info) {
				continue
			}
			each := min(left, cmp.Or(o.Each, defaultHitsEach))
			going := true
			err := findIn(ctx, s, info, words, func(h Hit) bool {
				left--
				each--
				going = yield(h, nil) && left > 0
				return going && each > 0
			})
			if err != nil && !errors.Is(err, ErrNotFound) { // it was deleted in the meantime
				going = going && yield(Hit{Session: info}, fmt.Errorf("searching session %s: %w", info.Session, err)) && ctx.Err() == nil
			}
			if !going {
				return
			}
		}
	}
}

// A finder is a [Store] that finds the sessions in which a word may be.
type finder interface {
	Find(ctx context.Context, word string) ([]string, error)
}

// searched is a query: an expression for its words in their order, and the first of them in
// lower case, which rules most texts out quickly.
type searched struct {
	all   *regexp.Regexp
	first string
	part  string // that a text with the words has, in any case; for a finder
}

// partOf returns the longest run of ASCII letters and digits of a query. Two letters are left out: beyond
// ASCII, others are taken for them (the Kelvin sign, and the long s).
func partOf(query string) string {
	longest := ""
	for _, part := range strings.FieldsFunc(query, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') || strings.ContainsRune("kKsS", r)
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// find returns where the words are in text, nil if nowhere.
func (w *searched) find(text string) []int {
	if ascii(text) && !strings.Contains(strings.ToLower(text), w.first) {
		return nil
	}
	return w.all.FindStringIndex(text)
}

// ascii reports whether each letter of text has one lower case and one upper case
// form, and no other that is taken for the same.
func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wordsOf returns the words of a query.
func wordsOf(query string) (*searched, error) {
	words := strings.Fields(query)
	switch {
	case len(words) == 0:
		return nil, errors.New("there is nothing to search for")
	case len(query) > maxQuery:
		return nil, fmt.Errorf("the text to search for has more than %d bytes", maxQuery)
	case !utf8.ValidString(query):
		return nil, errors.New("the text to search for is not UTF-8")
	}
	first := ""
	if ascii(words[0]) {
		first = strings.ToLower(words[0])
	}
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	all, err := regexp.Compile(`(?i)` + strings.Join(words, `\s+`))
	return &searched{all, first, partOf(query)}, err
}

// findIn yields the facts of a session in which the words are.
func findIn(ctx context.Context, s Store, info Info, words *searched, yield func(Hit) bool) error {
	var named event.SessionNamed // so far
	look := func(e event.Event) bool {
		texts := said(e.Data)
		if n, ok := e.Data.(event.SessionNamed); ok {
			texts, named = renamed(named, n), n
		}
		for _, text := range texts {
			place := words.find(text)
			if place == nil {
				continue
			}
			h := Hit{Session: info, Seq: e.Seq, Time: e.Time, Type: event.Type(e.Data)}
			before, match, after := around(text, place[0], place[1])
			h.Snippet, h.At, h.Length = before+match+after, len(before), len(match)
			return yield(h)
		}
		return true
	}
	if d, ok := s.(folderStore); ok {
		return d.read(ctx, info.Session, 0, hasText, look)
	}
	for e, err := range s.Read(ctx, info.Session, 0) {
		if err != nil {
			return err
		}
		if !look(e) {
			break
		}
	}
	return nil
}

// hasText wants the facts of which said returns something.
func hasText(typ string) bool { return isMessage(typ) || typ == typeNamed }

// said returns the texts of a fact that are searched.
func said(d event.Data) []string {
	switch d := d.(type) {
	case event.UserMessage:
		return textsOf(d.Message.Content)
	case event.AssistantMessage:
		return textsOf(d.Response.Message.Content)
	case event.ToolResult:
		return append(textsOf(d.Result.Content), d.Result.Title)
	}
	return nil
}

// renamed returns the new parts of a name: the fact repeats the others.
func renamed(was, is event.SessionNamed) (texts []string) {
	if is.Title != was.Title {
		texts = append(texts, is.Title)
	}
	if is.Tag != was.Tag {
		texts = append(texts, is.Tag)
	}
	return texts
}

func textsOf(blocks llm.Blocks) []string {
	var texts []string
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			texts = append(texts, b.Text)
		case llm.Thinking:
			texts = append(texts, b.Text)
		case llm.ToolUse:
			texts = append(texts, b.Name+" "+string(b.Input))
		case llm.Verbatim:
			texts = append(texts, b.Shown)
		case llm.Document:
			if strings.HasPrefix(b.MediaType, "text/") {
				texts = append(texts, string(b.Data))
			}
		}
	}
	return texts
}

// around returns the part of text from i to j and the texts beside it, each in one line.
func around(text string, i, j int) (before, match, after string) {
	from, to := i, j
	for n := 0; n < snippetSide && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	for n := 0; n < snippetSide && to < len(text); n++ {
		_, size := utf8.DecodeRuneInString(text[to:])
		to += size
	}
	before, match, after = flat(text[from:i]), flat(text[i:j]), flat(text[j:to])
	before = strings.TrimLeft(before, " ")
	after = strings.TrimRight(after, " ")
	if from > 0 {
		before = "…" + before
	}
	if to < len(text) {
		after += "…"
	}
	return before, match, after
}

var spaces = regexp.MustCompile(`\s+`)

// flat makes each space in text a single one.
func flat(text string) string {
	return strings.ToValidUTF8(spaces.ReplaceAllString(text, " "), "\uFFFD")
}
