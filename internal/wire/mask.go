package wire

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

var (
	userinfo  = regexp.MustCompile(`://[^/\s"'@]*@`)
	parameter = regexp.MustCompile(`(?i)((?:[?&;]|\\u0026)[a-z0-9_.-]*(?:key|token|secret|passw(?:or)?d|pwd|auth|credential|signature|sig)[a-z0-9_.-]*=)[^&\s"'\\#;]+`)
	scheme    = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=*-]{4,}`)
	likelyKey = regexp.MustCompile(`\b((sk|rk|pk|xai|gsk|hf)[-_]|AIza)[A-Za-z0-9_*-]{12,}|\bsk-[A-Za-z0-9_*-]{4,}`)
)

// shown is the length of the shortest piece of a secret that is masked.
const shown = 8

// Mask replaces secrets, their beginnings, and texts that look like credentials with ***.
func Mask(s string, secrets []string) string {
	for _, secret := range secrets {
		s = maskSecret(s, secret)
		if escaped := url.QueryEscape(secret); escaped != secret {
			s = maskSecret(s, escaped)
		}
	}
	s = userinfo.ReplaceAllString(s, "://***@")
	s = parameter.ReplaceAllString(s, "$1***")
	s = scheme.ReplaceAllString(s, "$1 ***")
	return likelyKey.ReplaceAllString(s, "***")
}

// maskSecret replaces secret, and texts that match its beginning.
func maskSecret(s, secret string) string {
	if len(secret) < shown {
		if len(secret) >= 4 {
			return strings.ReplaceAll(s, secret, "***")
		}
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, secret[:shown])
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := shown
		for end < len(secret) && i+end < len(s) && s[i+end] == secret[end] {
			end++
		}
		b.WriteString(s[:i] + "***")
		s = s[i+end:]
	}
}

// Secrets lists the secrets of a request: values of headers that name a credential and the
// user part of the URL.
func Secrets(rawURL string, headers ...http.Header) []string {
	var list []string
	for _, h := range headers {
		for name, values := range h {
			name = strings.ToLower(name)
			if !strings.Contains(name, "auth") && !strings.Contains(name, "key") && !strings.Contains(name, "token") &&
				!strings.Contains(name, "secret") && !strings.Contains(name, "cookie") {
				continue
			}
			for _, v := range values {
				if _, credential, ok := strings.Cut(v, " "); ok {
					list = append(list, credential)
				}
				list = append(list, v)
			}
		}
	}
	if u, err := url.Parse(rawURL); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			list = append(list, password)
		}
		list = append(list, u.User.Username())
	}
	return list
}

// masked returns err if its text is free of secrets. Otherwise it returns an error with the
// masked text.
func masked(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := Mask(text, secrets); clean != text {
		return errors.New(clean)
	}
	return err
}
