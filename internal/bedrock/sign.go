package bedrock

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	longDate  = "20060102T150405Z"
)

// sign puts a Signature Version 4 on a request
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html):
// over its method, path, query, host, content type and body.
func sign(r *http.Request, c Credentials, region, service string, now time.Time) error {
	hash := sha256.New()
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return err
		}
		if _, err := io.Copy(hash, body); err != nil {
			return err
		}
	}
	date := now.UTC().Format(longDate)
	r.Header.Set("X-Amz-Date", date)
	r.Header.Del("X-Amz-Security-Token")
	if c.SessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", c.SessionToken)
	}
	headers, names := signedHeaders(r)
	canonical := strings.Join([]string{r.Method, escape(r.URL.EscapedPath(), true), query(r), headers, names, hex.EncodeToString(hash.Sum(nil))}, "\n")
	scope := date[:8] + "/" + region + "/" + service + "/aws4_request"
	key := []byte("AWS4" + c.SecretAccessKey)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	sum := sha256.Sum256([]byte(canonical))
	signature := hex.EncodeToString(mac(key, strings.Join([]string{algorithm, date, scope, hex.EncodeToString(sum[:])}, "\n")))
	r.Header.Set("Authorization", algorithm+" Credential="+c.AccessKeyID+"/"+scope+", SignedHeaders="+names+", Signature="+signature)
	return nil
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// signedHeaders returns the headers that are signed, a line each, and their names.
// Others may be changed on their way.
func signedHeaders(r *http.Request) (lines, names string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	values := map[string]string{"host": host}
	for _, name := range []string{"Content-Type", "X-Amz-Date", "X-Amz-Security-Token"} {
		if v := r.Header.Get(name); v != "" {
			values[strings.ToLower(name)] = strings.Join(strings.Fields(v), " ")
		}
	}
	var list []string
	for name := range values {
		list = append(list, name)
	}
	slices.Sort(list)
	for _, name := range list {
		lines += name + ":" + values[name] + "\n"
	}
	return lines, strings.Join(list, ";")
}

// query returns the canonical query.
func query(r *http.Request) string {
	var pairs []string
	for name, values := range r.URL.Query() {
		for _, v := range values {
			pairs = append(pairs, escape(name, false)+"="+escape(v, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape encodes all but the characters that RFC 3986 reserves for nothing, and
// the slashes of a path.
func escape(s string, path bool) string {
	const hexes = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0, path && c == '/':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexes[c>>4])
			b.WriteByte(hexes[c&15])
		}
	}
	if path && b.Len() == 0 {
		return "/"
	}
	return b.String()
}
