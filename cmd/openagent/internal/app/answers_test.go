package app

import (
	"reflect"
	"testing"

	"github.com/openagent-go/agent/tool"
)

func TestAnswerTo(t *testing.T) {
	options := []tool.Option{{Label: "Red"}, {Label: "Green"}, {Label: "Blue, dark"}}
	one, many, free := tool.Question{Options: options}, tool.Question{Options: options, Multiple: true}, tool.Question{}
	for _, c := range []struct {
		name     string
		question tool.Question
		line     string
		want     tool.Answer
	}{
		{"number", one, "2", tool.Answer{Options: []string{"Green"}}},
		{"label", one, " red ", tool.Answer{Options: []string{"Red"}}},
		{"label with a comma", one, "Blue, dark", tool.Answer{Options: []string{"Blue, dark"}}},
		{"own words", one, "1, but darker", tool.Answer{Text: "1, but darker"}},
		{"no such number", one, "8080", tool.Answer{Text: "8080"}},
		{"nothing", one, "", tool.Answer{}},
		{"several", many, "3,1", tool.Answer{Options: []string{"Blue, dark", "Red"}}},
		{"twice the same", many, "1, red, 1", tool.Answer{Options: []string{"Red"}}},
		{"several and words", many, "2, and yellow,", tool.Answer{Options: []string{"Green"}, Text: "and yellow"}},
		{"nothing of several", many, " , ", tool.Answer{}},
		{"without options", free, "1", tool.Answer{Text: "1"}},
	} {
		if got := ParseAnswer(c.question, c.line); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
