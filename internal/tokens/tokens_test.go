package tokens

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The high estimate stays above what a character of a script takes with a dear
// tokenizer, the low one about the mean. No tokenizer of Claude's is public: the rates
// are assumptions, which the recorded answers confirm for English alone.
func TestTokensByScript(t *testing.T) {
	for _, tt := range []struct {
		script, text string
		dear         float64 // tokens a character
	}{
		{"English", "The quick brown fox jumps over the lazy dog.", 0.3},
		{"code", "for i := range 10 {\n\tfmt.Println(i, x[i])\n}\n", 0.4},
		{"JSON", `{"id":12345,"ok":true,"at":[1.5,2.25]}`, 0.5},
		{"Chinese", "大型语言模型可以理解和生成人类语言。", 1.5},
		{"Japanese", "東京は日本の首都であり、人口が最も多い都市です。", 1.4},
		{"Korean", "서울은 대한민국의 수도이자 최대 도시이다.", 1.6},
		{"Russian", "Москва является столицей Российской Федерации.", 0.7},
		{"Arabic", "القاهرة هي عاصمة جمهورية مصر العربية", 1},
		{"Hindi", "नई दिल्ली भारत की राजधानी है", 1.5},
		{"Thai", "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", 1.4},
		{"Amharic", "አዲስ አበባ የኢትዮጵያ ዋና ከተማ ናት", 2.2},
		{"emoji", "🙂🚀👩‍💻", 2.5},
		{"bytes", "\xff\xfe\x80", 1},
	} {
		dear := int(tt.dear * float64(utf8.RuneCountInString(tt.text)))
		if most := AtMost(tt.text); most < dear {
			t.Errorf("%s: at most %d, less than %d", tt.script, most, dear)
		} else if bytes := len(tt.text); most > bytes {
			t.Errorf("%s: at most %d for %d bytes", tt.script, most, bytes)
		}
		if about := Count(tt.text); about*3 < dear || about > 2*dear {
			t.Errorf("%s: about %d, dear %d", tt.script, about, dear)
		}
		if a, b := Count(tt.text), Count([]byte(tt.text)); a != b {
			t.Errorf("%s: %d and, in bytes, %d", tt.script, a, b)
		}
	}
}

// A text counts no more than its pieces, whatever they are, and no text nothing.
func FuzzTokens(f *testing.F) {
	f.Add("héllo wörld 大 🙂 \xf0\x9f", 3)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		most := AtMost(s)
		if most > len(s) || s != "" && most == 0 || Count(s) > 2*len(s)+1 {
			t.Errorf("%q: %d of %d bytes, about %d", s, most, len(s), Count(s))
		}
		if cut = max(0, min(cut, len(s))); len(strings.ToValidUTF8(s, "")) == len(s) && most > AtMost(s[:cut])+AtMost(s[cut:]) {
			t.Errorf("%q counts more than its pieces", s)
		}
	})
}

func BenchmarkTokensAtMost(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		AtMost(text)
	}
}
