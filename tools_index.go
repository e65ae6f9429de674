package agent

import "github.com/openagent-go/agent/tool"

// A toolIndex holds tools by name. It is a list, which takes half the memory of a map:
// a thousand runs have a thousand of them.
type toolIndex []namedTool

type namedTool struct {
	name string
	tool tool.Tool
}

// newToolIndex takes in tools of different names.
func newToolIndex(pool []tool.Tool) toolIndex {
	b := make(toolIndex, len(pool))
	for i, t := range pool {
		b[i] = namedTool{t.Spec().Name, t}
	}
	return b
}

// get returns the tool of a name, nil if there is none.
func (b toolIndex) get(name string) tool.Tool {
	for i := range b {
		if b[i].name == name {
			return b[i].tool
		}
	}
	return nil
}

// put adds a tool, in the place of the one of its name.
func (b *toolIndex) put(name string, t tool.Tool) {
	for i := range *b {
		if (*b)[i].name == name {
			(*b)[i].tool = t
			return
		}
	}
	*b = append(*b, namedTool{name, t})
}
