// Package nbformat changes single cells of Jupyter notebooks (nbformat 4, see
// https://nbformat.readthedocs.io/en/latest/format_description.html). All that
// does not belong to the change keeps its bytes: other cells, metadata, the order
// of keys, indentation and line ends.
package nbformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// MaxCells is how many cells a notebook may have.
const MaxCells = 100_000

// The types of cells.
const (
	Code     = "code"
	Markdown = "markdown"
	Raw      = "raw"
)

// A Notebook is the text of a notebook and the places of its cells. It does not
// change: changes return another one.
type Notebook struct {
	text  string
	ids   bool // its cells have ids: nbformat 4.5 and later
	style style
	array list // of cells
}

// A Cell is the content of a cell.
type Cell struct {
	ID     string // "" where it has none
	Type   string
	Source string
}

// Parse reads a notebook.
func Parse(text string) (*Notebook, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("it is not valid JSON")
	}
	top, err := object(text, skip(text, 0))
	if err != nil {
		return nil, err
	}
	n := &Notebook{text: text, style: styleOf(text, top)}
	major, cells := top.value(text, "nbformat"), top.member("cells")
	if cells == nil || text[cells.value] != '[' {
		return nil, errors.New("it has no list of cells, so it is not a notebook of nbformat 4")
	}
	if major != "4" {
		return nil, fmt.Errorf("its nbformat is %s, not 4", short(major))
	}
	minor, err := strconv.Atoi(top.value(text, "nbformat_minor"))
	n.ids = err == nil && minor >= 5
	if n.array, err = array(text, cells.value); err != nil {
		return nil, err
	}
	for i, c := range n.array.items {
		if text[c.start] != '{' {
			return nil, fmt.Errorf("cell %d is not an object", i)
		}
	}
	return n, nil
}

// String returns the text of the notebook.
func (n *Notebook) String() string { return n.text }

// Len returns how many cells there are. They are numbered from 0.
func (n *Notebook) Len() int { return len(n.array.items) }

// Cell returns the cell at i, which is less than Len.
func (n *Notebook) Cell(i int) (Cell, error) {
	raw := n.raw(i)
	o, err := object(raw, 0)
	if err != nil {
		return Cell{}, fmt.Errorf("cell %d: %w", i, err)
	}
	var c Cell
	if id := o.value(raw, "id"); id != "" && json.Unmarshal([]byte(id), &c.ID) != nil {
		return c, fmt.Errorf("cell %d: its id is not text", i)
	}
	if json.Unmarshal([]byte(o.value(raw, "cell_type")), &c.Type) != nil || c.Type != Code && c.Type != Markdown && c.Type != Raw {
		return c, fmt.Errorf("cell %d: its cell_type is %s, not code, markdown or raw", i, short(o.value(raw, "cell_type")))
	}
	source := o.value(raw, "source")
	var lines []string
	if json.Unmarshal([]byte(source), &c.Source) != nil {
		if json.Unmarshal([]byte(source), &lines) != nil {
			return c, fmt.Errorf("cell %d: its source is neither text nor a list of lines", i)
		}
		c.Source = strings.Join(lines, "")
	}
	return c, nil
}

// raw returns the bytes of a cell.
func (n *Notebook) raw(i int) string {
	s := n.array.items[i]
	return n.text[s.start:s.end]
}

// Find returns the number of the cell with the id, or an error unless there is
// exactly one.
func (n *Notebook) Find(id string) (int, error) {
	at := -1
	for i := range n.array.items {
		raw := n.raw(i)
		o, err := object(raw, 0)
		if err != nil {
			return 0, fmt.Errorf("cell %d: %w", i, err)
		}
		var has string
		if json.Unmarshal([]byte(o.value(raw, "id")), &has) != nil || has != id {
			continue
		}
		if at >= 0 {
			return 0, fmt.Errorf("the cells %d and %d both have the id %q; give the number", at, i, short(id))
		}
		at = i
	}
	if at < 0 {
		return 0, fmt.Errorf("no cell has the id %q", short(id))
	}
	return at, nil
}

// Replace gives the cell at i another source and type. A code cell loses its
// outputs and its execution count, which are those of the source before. The id
// and the metadata stay.
func (n *Notebook) Replace(i int, kind, source string) (*Notebook, error) {
	old, err := n.Cell(i)
	if err != nil {
		return nil, err
	}
	c := cell{text: n.raw(i), style: n.style}
	newline, rest := lineBreak(c.text[1:c.object().items[0].start])
	value := c.list(source, newline+rest)
	if strings.HasPrefix(c.get("source"), `"`) {
		value = quote(source)
	}
	if old.Source != source {
		c.set("source", value)
	}
	if kind != old.Type {
		c.set("cell_type", quote(kind))
	}
	if kind == Code {
		c.set("execution_count", "null")
		c.set("outputs", "[]")
		c.remove("attachments") // code cells have none
	} else {
		c.remove("execution_count")
		c.remove("outputs")
	}
	s := n.array.items[i]
	return n.changed(n.text[:s.start]+c.text+n.text[s.end:], n.Len())
}

// Insert puts a new cell before the one at i, or after the last if i is Len. It gets an id
// if cells have ids.
func (n *Notebook) Insert(i int, kind, source string) (*Notebook, error) {
	if n.Len() == MaxCells {
		return nil, fmt.Errorf("the notebook has %d cells already", MaxCells)
	}
	c := cell{style: n.style}
	members := []string{c.pair("cell_type", quote(kind))}
	if kind == Code {
		members = append(members, c.pair("execution_count", "null"))
	}
	if n.ids {
		members = append(members, c.pair("id", quote(n.freshID())))
	}
	members = append(members, c.pair("metadata", "{}"))
	if kind == Code {
		members = append(members, c.pair("outputs", "[]"))
	}
	members = append(members, c.pair("source", c.list(source, n.style.margin(3))))
	text := n.style.wrap("{}", members, n.style.margin(2))
	return n.changed(n.array.insert(n.text, i, text, n.style, 1), n.Len()+1)
}

// freshID returns an id that no cell has: eight hexadecimal digits, as Jupyter
// makes them.
func (n *Notebook) freshID() string {
	for {
		id := fmt.Sprintf("%08x", rand.Uint32())
		if !strings.Contains(n.text, id) {
			return id
		}
	}
}

// Delete removes the cell at i.
func (n *Notebook) Delete(i int) (*Notebook, error) {
	return n.changed(n.array.remove(n.text, i), n.Len()-1)
}

// changed reads the text of a changed notebook: a broken one is not returned.
func (n *Notebook) changed(text string, cells int) (*Notebook, error) {
	next, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("changing the notebook would break it: %w", err)
	}
	if next.Len() != cells {
		return nil, fmt.Errorf("changing the notebook would break it: %d cells instead of %d", next.Len(), cells)
	}
	return next, nil
}

// A cell is the text of a cell that is being changed.
type cell struct {
	text  string
	style style
}

// object returns the members of the cell, whose keys were found to differ.
func (c *cell) object() list {
	o, err := object(c.text, 0)
	if err != nil {
		panic(err) // Cell has read it
	}
	return o
}

func (c *cell) get(key string) string { return c.object().value(c.text, key) }

// set gives a member its value. A new one comes where the order of the alphabet,
// which Jupyter writes, has it.
func (c *cell) set(key, value string) {
	o := c.object()
	if m := o.member(key); m != nil {
		c.text = c.text[:m.value] + value + c.text[m.end:]
		return
	}
	at := 0
	for at < len(o.items) && o.items[at].key < key {
		at++
	}
	c.text = o.insert(c.text, at, c.pair(key, value), c.style, 2)
}

func (c *cell) remove(key string) {
	o := c.object()
	for i, m := range o.items {
		if m.key == key {
			c.text = o.remove(c.text, i)
		}
	}
}

func (c *cell) pair(key, value string) string { return quote(key) + c.style.colon + value }

// list returns the source as a list of lines; margin is that of the cell's
// members.
func (c *cell) list(source, margin string) string {
	var lines []string
	for l := range strings.Lines(source) {
		lines = append(lines, quote(l))
	}
	if lines == nil {
		return "[]"
	}
	return c.style.wrap("[]", lines, margin)
}

func short(s string) string {
	if s == "" {
		return "missing"
	}
	return text.Bytes(s, 80)
}
