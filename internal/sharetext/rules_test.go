package sharetext_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/sharetext"
)

func rules(t testing.TB, own ...string) *sharetext.Rules {
	r, err := sharetext.New(sharetext.Options{
		Secrets: []string{"hunter2-hunter2", "correct horse battery", "first line\nsecond line", `quo"ted\secret`, "a long first line of a key\nz"},
		Home:    "/home/jane", Users: []string{"jane", "Jane Doe"}, Hosts: []string{"build-box"}, Own: own})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestText(t *testing.T) {
	r := rules(t, `PROJ-\d+`)
	for _, c := range []struct{ in, want string }{
		{"nothing to hide: 3 files, 12 tokens", "nothing to hide: 3 files, 12 tokens"},
		{"it is hunter2-hunter2.", "it is ***."},
		{"a correct horse battery staple", "a *** staple"},
		{"x first line\nsecond line y", "x *** y"},
		{"x first line second line y", "x *** y"},
		{"12  a long first line of a key\n13  z", "12  ***\n13  z"},
		{`{"a":"quo\"ted\\secret"}`, `{"a":"***"}`},
		{"\x1b[1mhunter2-\x1b[0mhunter2", "***"},
		{"use sk-ant-api03-abcDEF0123456789abcdef, please", "use ***, please"},
		{"task-management-service-2024 stays", "task-management-service-2024 stays"},
		{"hf_hub_download_file_name stays", "hf_hub_download_file_name stays"},
		{"ghp_0123456789abcdefghij0123456789abcdef", "***"},
		{"AKIAIOSFODNN7EXAMPLE and AIzaSyA0123456789abcdefghijklmnopqrstuv", "*** and ***"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl", "***"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nafter", "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nafter"},
		{`"-----BEGIN PRIVATE KEY-----\nMIIabc\n"`, "\"-----BEGIN PRIVATE KEY-----***"},
		{"postgres://app:p@ss/w0rd@db:5432/x", "postgres://***@db:5432/x"},
		{"https://0123456789abcdef@example.com/", "https://***@example.com/"},
		{"ssh://git@example.com/a and http://localhost:4873/@babel/core", "ssh://git@example.com/a and http://localhost:4873/@babel/core"},
		{"https://example.com/?a=1&access_token=abc&b=2", "https://example.com/?a=1&access_token=***&b=2"},
		{"Authorization: Basic abc def\nnext", "Authorization: ***\nnext"},
		{`curl -H "Authorization: Bearer abc" http://x`, `curl -H "Authorization: ***" http://x`},
		{"a bearer 0123abcd", "a bearer ***"},
		{"the bearer certificates", "the bearer certificates"},
		{"password: tiger, user: x", "password: ***, user: x"},
		{`{"apiKey": "abc", "n": 1}`, `{"apiKey": "***", "n": 1}`},
		{`{\"token\": \"a\\\\\"b c\", \"n\": 1}`, `{\"token\": \"***\", \"n\": 1}`},
		{`password = "with \" a quote" + x`, `password = "***" + x`},
		{"login --api-key abc --verbose", "login --api-key *** --verbose"},
		{"token := nextToken()", "token := nextToken()"},
		{"DB_HOST=10.0.0.1\n  12\tAPI_SECRET=a b c\n+export NAME='x y' # c", "DB_HOST=***\n  12\tAPI_SECRET=***\n+export NAME='***' # c"},
		{"CGO_ENABLED=0 go build ./...", "CGO_ENABLED=*** go build ./..."},
		{"config/.env:3:PLAIN=value", "config/.env:3:PLAIN=***"},
		{"write to Jane.D@example.co.uk or git@github.com:a/b", "write to [e-mail] or git@github.com:a/b"},
		{"/home/jane/src /home/other /Users/Bob/x C:\\Users\\Bob\\x C:\\\\Users\\\\Bob", "~/src ~ ~/x ~\\x ~"},
		{"/homes and /home/janet", "/homes and ~"},
		{"by JANE on build-box, -home-jane-src, janet, Jane Doe", "by [user] on [host], -home-[user]-src, janet, [user]"},
		{"see PROJ-123 and PROJ-x", "see *** and PROJ-x"},
		{"curl -s -u admin:tiger http://x && curl --user 'bob:lion' http://y", "curl -s -u *** http://x && curl --user *** http://y"},
		{"mysql -u root -ptiger db; mysqldump -p'li on' x", "mysql -u root -p*** db; mysqldump -p*** x"},
		{"mysql -u root -p db; mkdir -px", "mysql -u root -p db; mkdir -px"},
		{"sk-ant-api03-abc\u200bDEF0123456789abcdef hunter2\u2060-hunter2", "*** ***"},
		{"db:\n  password:\n    tiger lion\n\n    puma\n  user: bob", "db:\n  password:\n    ***\n\n    ***\n  user: bob"},
		{" 1\tsecret: |\n 2\t  tiger\n 3\tnext: x", " 1\tsecret: ***\n 2\t  ***\n 3\tnext: x"},
		{"api_key:\n  name: x\nplain:\n  y", "api_key:\n  name: x\nplain:\n  y"},
		{"?q=correct+horse%20battery correct%20horse%20battery quo%22ted%5csecret", "?q=correct+horse%20battery *** ***"},
		{"aHVudGVyMi1odW50ZXIy Omh1bnRlcjItaHVudGVyMg== YTpodW50ZXIyLWh1bnRlcjI6Yg==", "*** Om***g== YTp***I6Yg=="},
	} {
		got := r.Text(c.in)
		if got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.in, got, c.want)
		}
		if again := r.Text(got); again != got {
			t.Errorf("%q: a second time gives %q", c.in, again)
		}
	}
}

func TestBadOwnRules(t *testing.T) {
	for _, own := range []string{"(", "x*"} {
		if _, err := sharetext.New(sharetext.Options{Own: []string{own}}); err == nil || !strings.Contains(err.Error(), "own rule 1") {
			t.Errorf("%q: %v", own, err)
		}
	}
}

func TestJSON(t *testing.T) {
	r := rules(t)
	got := string(r.JSON(json.RawMessage(`{"command":"echo hunter2\u002dhunter2","password":["a",{"b":"c"}],"pin":12345678901234567890,"hunter2-hunter2":true,"n":1.50}`)))
	want := `{"***":true,"command":"echo ***","n":1.50,"password":["***",{"b":"***"}],"pin":12345678901234567890}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	got = string(r.JSON(json.RawMessage(`{"args":["--user","bob","--password","tiger","--password=x1","-v","y"],"env":[{"name":"DB_PASSWORD","value":"lion"},{"name":"HOME","value":"here"},{"key":"api_key","Value":"puma"}]}`)))
	want = `{"args":["--user","bob","--password","***","--password=***","-v","y"],"env":[{"name":"DB_PASSWORD","value":"***"},{"name":"HOME","value":"here"},{"Value":"***","key":"***"}]}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for _, bad := range []string{`{"a":`, `{} {}`, ``} {
		if got := r.JSON(json.RawMessage(bad)); got != nil {
			t.Errorf("%q: %s", bad, got)
		}
	}
}

// secretTexts are texts with a secret each: what must not be shown, and the text around it.
func secretTexts() map[string]string {
	return map[string]string{
		"hunter2-hunter2":       "the password is hunter2-hunter2, he said",
		"horse":                 "then correct horse battery staples",
		"second":                "a\nfirst line\nsecond line\nb",
		"abcDEF0123456789ab":    "key sk-ant-api03-abcDEF0123456789abcdef in use",
		"abcdefghij0123":        "x=ghp_0123456789abcdefghij0123456789abcdef;",
		"MIIEabcdef":            "see\n-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdef\nMIIEabcdef==\n-----END RSA PRIVATE KEY-----\nfine",
		"p4ssw0rd":              "postgres://app:p4ssw0rd@db:5432/x now",
		"sw0rdfish":             "`Authorization: Basic sw0rdfish and sw0rdfish`",
		"tig3r":                 "{\"password\": \"tig3r tig3r\", \"x\": 1}",
		"zebra":                 "DB_PASSWORD=zebra zebra zebra\nnext",
		"quagga":                "+NAME=\"quagga quagga\" # note",
		"jane.d@example.com":    "mail jane.d@example.com today",
		"/home/jane":            "in /home/jane/src/x.go",
		"build-box":             "on build-box at noon",
		"Doe":                   "by Jane Doe, who",
		"c2lnbmF0dXJlc2lnbmF0d": "t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlc2lnbmF0dXJl.",
		"l1ontamer":             "run curl -u admin:l1ontamer http://x now",
		"pumas":                 "run mysql -u root -ppumas db",
		"jaguarundi":            "a:\n  password:\n    cats jaguarundi\n    and jaguarundi\nb: c",
		"m1odW50":               "basic OmZvb2h1bnRlcjItaHVudGVyMg== now",
		"0123456789xyz":         "key sk-ant-api03-abc\u200bDEF0123456789xyz in use",
		"battery":               "see http://x/?q=correct%20horse%20battery now",
		"x0x0token":             "call --api-key x0x0token --verbose",
	}
}

// TestStreamAtEverySplit holds that no secret gets out whichever way its text is cut in two, and that the
// pieces make the whole.
func TestStreamAtEverySplit(t *testing.T) {
	for _, r := range []*sharetext.Rules{rules(t), rules(t, `never \d+ found`)} {
		for secret, text := range secretTexts() {
			want := r.Text(text)
			if strings.Contains(want, secret) {
				t.Errorf("%q is in %q", secret, want)
				continue
			}
			for i := range len(text) + 1 {
				for _, j := range []int{i, (i + len(text)) / 2, len(text)} {
					s, got := r.Stream(), ""
					for _, piece := range []string{text[:i], text[i:j], text[j:], ""} {
						add, restart := s.Write(piece)
						got = shown(t, got, add, restart, secret)
					}
					add, restart := s.Close()
					if got = shown(t, got, add, restart, secret); got != want || s.Shown() != want {
						t.Fatalf("%q cut at %d and %d:\n got %q\nkept %q\nwant %q", text, i, j, got, s.Shown(), want)
					}
				}
			}
		}
	}
}

func shown(t *testing.T, before, add string, restart bool, secret string) string {
	t.Helper()
	if !restart {
		add = before + add
	}
	if strings.Contains(add, secret) {
		t.Fatalf("%q got out: %q", secret, add)
	}
	return add
}

// TestStreamOfRandomPieces is the same for random texts and pieces.
func TestStreamOfRandomPieces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var texts, secrets []string
	for secret, text := range secretTexts() {
		texts, secrets = append(texts, text), append(secrets, secret)
	}
	fill := []string{" ", "\n", "words of an answer ", "\"", "`", "x = 1; ", "\x1b[31m", "é", "\\", "'", "--", ": "}
	r := rules(t)
	for range 2000 {
		text := ""
		for range 1 + rnd.IntN(4) {
			text += fill[rnd.IntN(len(fill))] + "\n" + texts[rnd.IntN(len(texts))] + "\n" + fill[rnd.IntN(len(fill))]
		}
		want := r.Text(text)
		s, got := r.Stream(), ""
		for rest := text; rest != ""; {
			n := 1 + rnd.IntN(min(12, len(rest)))
			add, restart := s.Write(rest[:n])
			if restart {
				got = ""
			}
			got += add
			for _, secret := range secrets {
				if strings.Contains(got, secret) && !strings.Contains(want, secret) {
					t.Fatalf("%q got out of %q: %q", secret, text, got)
				}
			}
			rest = rest[n:]
		}
		add, restart := s.Close()
		if restart {
			got = ""
		}
		if got += add; got != want {
			t.Fatalf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestNoting(t *testing.T) {
	r, count, lines := rules(t), map[string]int{}, map[string]string{}
	r.Noting(func(f sharetext.Found) {
		count[f.Rule] += f.Count
		lines[f.Rule] = f.Line
	}).Text("a hunter2-hunter2 b hunter2-hunter2\nmail a@b.de, c@d.de from /home/jane\n-----BEGIN X KEY-----\nabc")
	want := map[string]int{"known secrets": 2, "PEM blocks": 1, "e-mail addresses": 2, "home folders": 1}
	if fmt.Sprint(count) != fmt.Sprint(want) || lines["e-mail addresses"] != "mail [e-mail], [e-mail] from ~" || lines["known secrets"] != "a *** b ***" {
		t.Errorf("%v %q", count, lines)
	}
	for rule := range count {
		found := false
		for _, n := range r.Names() {
			found = found || n == rule
		}
		if !found {
			t.Errorf("%s is not among the names %q", rule, r.Names())
		}
	}
}

func BenchmarkText(b *testing.B) {
	r := rules(b)
	text := strings.Repeat("I read the project and run its tests first: see internal/x/y.go:12, then `go test ./...` prints ok.\n", 40)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}

func FuzzStream(f *testing.F) {
	for _, text := range secretTexts() {
		f.Add(text, 3)
	}
	r := rules(f)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = 1 + max(n, -n)%16
		s := r.Stream()
		got := ""
		for rest := text; rest != ""; {
			k := min(n, len(rest))
			add, restart := s.Write(rest[:k])
			if restart {
				got = ""
			}
			got, rest = got+add, rest[k:]
		}
		add, restart := s.Close()
		if restart {
			got = ""
		}
		if got += add; got != r.Text(text) {
			t.Errorf("%q in pieces of %d: %q, whole %q", text, n, got, r.Text(text))
		}
	})
}
