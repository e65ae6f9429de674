package streamjson

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/openagent-go/agent/tool"
)

func TestAnswersOfHosts(t *testing.T) {
	asked := []tool.Question{{Text: "Colour?", Options: []tool.Option{{Label: "Red"}, {Label: "Blue"}}}, {Text: "Sizes?", Multiple: true, Options: []tool.Option{{Label: "S"}, {Label: "L"}}}, {Text: "Name?"}}
	for input, want := range map[string][]tool.Answer{
		`{"questions":[],"answers":{"Colour?":"Blue","Sizes?":"S, L","Name?":"Ada"}}`: {{Options: []string{"Blue"}}, {Options: []string{"S", "L"}}, {Text: "Ada"}},
		`{"answers":{"Colour?":"green","Sizes?":["L"]}}`:                              {{Text: "green"}, {Options: []string{"L"}}, {}},
		`{"questions":[]}`: nil, ``: nil, `{"answers":{"Colour?":7}}`: nil, `{"answers":[]}`: nil,
	} {
		got, err := answersOf(asked, json.RawMessage(input))
		if (err == nil) != (want != nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", input, got, err)
		}
	}
}
