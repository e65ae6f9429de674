package modelcall

import (
	"testing"

	"github.com/openagent-go/agent/llm"
)

func TestCheckToolChoice(t *testing.T) {
	for _, c := range []struct {
		choice llm.ToolChoice
		want   string // the error, "" for none
	}{
		{llm.ToolChoice{}, ""},
		{llm.ToolChoice{Mode: llm.ChooseAny}, ""},
		{llm.ToolChoice{Mode: llm.ChooseTool, Name: "Read"}, ""},
		{llm.ToolChoice{Mode: "required"}, `there is no mode "required"; use "any", "none" or "tool", or leave it out`},
		{llm.ToolChoice{Mode: llm.ChooseTool}, `the mode "tool" needs the Name of a tool`},
		{llm.ToolChoice{Name: "Read"}, `the Name "Read" needs the mode "tool"`},
		{llm.ToolChoice{Mode: llm.ChooseAny, Name: "Read"}, `the Name "Read" needs the mode "tool"`},
	} {
		err := CheckToolChoice(c.choice)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.choice, err, c.want)
		}
	}
}
