package tools_test

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/tools"
)

// A model that was trained with Claude Code writes multiSelect. Both names are read.
func TestAskUserMultiSelect(t *testing.T) {
	ask := tools.AskUser()
	for input, want := range map[string]bool{
		`{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}],"multiSelect":true}]}`:  true,
		`{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}],"multiSelect":false}]}`: false,
		`{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}],"multiple":true}]}`:     true,
	} {
		call := tool.Call{Name: "AskUser", Input: []byte(input)}
		if err := ask.(interface{ Validate(tool.Call) error }).Validate(call); err != nil {
			t.Errorf("%s: %v", input, err)
		}
		r := tooltest.Run(t, ask, input)
		if r.IsError || len(r.Questions) != 1 || r.Questions[0].Multiple != want || len(r.Questions[0].Options) != 2 {
			t.Errorf("%s: %s, %+v", input, r.Text(), r.Questions)
		}
	}
	for _, input := range []string{
		`{"questions":[{"question":"Which?","multiSelect":true,"multiple":false}]}`,
		`{"questions":[{"question":"Which?","multiSelect":"no"}]}`,
		`{"questions":[{"question":"Which?","multiSelct":true}]}`,
	} {
		if err := ask.(interface{ Validate(tool.Call) error }).Validate(tool.Call{Name: "AskUser", Input: []byte(input)}); err == nil {
			t.Errorf("%s is valid", input)
		}
	}
	if schema := string(ask.Spec().Input); strings.Contains(schema, "multiSelect") {
		t.Errorf("the schema has both names: %s", schema)
	}
}
