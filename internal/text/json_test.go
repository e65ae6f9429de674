package text

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestJSONMismatch(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:             "the value must be an object, not array",
		`{"name":[]}`:    "name must be a string, not array",
		`{"list":"x"}`:   "list must be a list, not string",
		`{"in":{"n":1}}`: "in.n must be true or false, not number",
		`{"name":true}`:  "name must be a string, not true or false",
		`{"f":"x"}`:      "f must be a number, not string",
		`{"i":1.5}`:      "i must be a whole number, not number 1.5",
		`{"u":-1}`:       "u must be a whole number, not number -1",
		`{"p":"x"}`:      "p must be a whole number, not string",
	} {
		var v struct {
			Name string   `json:"name"`
			List []string `json:"list"`
			In   struct {
				N bool `json:"n"`
			} `json:"in"`
			F float64 `json:"f"`
			I int     `json:"i"`
			U uint32  `json:"u"`
			P *int    `json:"p"`
		}
		err := json.Unmarshal([]byte(in), &v)
		if got := JSONMismatch(err, "the value"); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
	if other := errors.New("x"); JSONMismatch(other, "it") != other {
		t.Error("another error is changed")
	}
}
