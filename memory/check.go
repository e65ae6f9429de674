package memory

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/openagent-go/agent/internal/sharetext"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
)

// secrets finds keys and passwords.
var secrets = sharetext.Standard()

// A sign is a form of text that tries to make a model do something, rather than tell it
// something.
type sign struct {
	means string
	form  *regexp.Regexp
}

var signs = []sign{
	{"it tells the model to disregard its instructions", regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override|bypass|drop)\b.{0,40}\b(previous|prior|above|earlier|all|any|other|your|system|safety|user'?s?)\b.{0,30}\b(instructions?|rules?|prompts?|guidelines?|messages?|directions?|polic(y|ies))`)},
	{"it gives the model a new role", regexp.MustCompile(`(?i)\b(you are now|from now on,? you|act as|pretend (to be|you)|new (system )?(instructions?|role|persona))\b`)},
	{"it imitates the form of a conversation", regexp.MustCompile(`(?im)(<\/?\s*(system|assistant|user|human|instructions?|tool_result|function_calls?|im_start|im_end)[^>]*>|<\|[a-z_]+\|>|\[\/?(INST|SYSTEM)\]|^\s*#*\s*(system|assistant|developer|human)\s*:)`)},
	{"it speaks of the system prompt", regexp.MustCompile(`(?i)\b(system|developer|hidden|initial)\s+(prompt|message)s?\b`)},
	{"it wants something kept from the user", regexp.MustCompile(`(?i)(\b(do not|don'?t|never|without)\b.{0,30}\b(tell(ing)?|inform(ing)?|mention(ing)?|show(ing)?|ask(ing)?|notif(y|ying)|alert(ing)?|report(ing)?)\b.{0,30}\b(user|person|human|anyone|developer|operator|owner)|\b(secretly|silently|covertly)\b)`)},
	{"it asks to switch a protection off", regexp.MustCompile(`(?i)(\b(disable|turn off|switch off|skip|bypass|circumvent|avoid|without)\b.{0,40}\b(sandbox|permissions?|approvals?|confirmations?|verification|safety|security|certificate|tls|ssl|signature|checks?|hooks?)\b|--dangerously|bypassPermissions|--no-verify|--insecure\b|acceptEdits|\bchmod\s+777)`)},
	{"it runs what it downloads", regexp.MustCompile(`(?i)\b(curl|wget|iwr|invoke-webrequest|fetch)\b[^\n]{0,300}(\|\s*(sudo\s+)?(ba|z|da|fi)?sh\b|\|\s*(python|node|perl|ruby|php)|\|\s*iex)|\b(bash|sh|zsh)\s+(-c\s+)?["']?(<\(|\$\()\s*(curl|wget)|\beval\b.{0,20}\b(curl|wget|base64)`)},
	{"it sends something away", regexp.MustCompile(`(?i)(\b(send|post|upload|exfiltrate|transmit|forward|leak|email|mail|copy|paste|push)\b.{0,60}\b(secrets?|tokens?|keys?|credentials?|passwords?|env(ironment)?( variables?)?|\.env|ssh|id_rsa|history|cookies?|contents?|data)\b.{0,60}(\bto\b|https?:|@)|\b(curl|wget|nc|ncat|scp|rsync)\b[^\n]{0,200}(\$\(|` + "`" + `|\$\{?[A-Z_]*(KEY|TOKEN|SECRET|PASS)|@[/~.]|\.env|\.ssh|/etc/passwd))`)},
	{"it destroys files", regexp.MustCompile(`(?i)(\brm\s+(-[a-z]+\s+)*-[a-z]*[rf][a-z]*\s+(-[a-z]+\s+)*["']?(/|~|\$HOME|\*|\.\s|\.$)|\bmkfs\b|\bdd\s+[^\n]*of=/dev/|:\(\)\s*\{|\bgit\s+push\b[^\n]{0,60}(--force|-f)\b)`)},
	{"it speaks of the files with keys", regexp.MustCompile(`(?i)(~|\$HOME|/root|/home/[^/\s]+)?/\.(ssh|aws|gnupg|kube|netrc|npmrc|docker)\b|\bid_(rsa|ed25519)\b|/etc/(shadow|passwd)\b`)},
	{"it has an image or a link with data in its address", regexp.MustCompile(`(?i)!\[[^\]]*\]\(\s*(https?:)?//|\bhttps?://[^\s)]*[?&][a-z_]+=(\{|\$|%7b|<)`)},
	{"it has a comment or markup that pages hide", regexp.MustCompile(`(?i)<!--|<\s*(script|iframe|img|svg|object|embed|style|link|meta)\b|javascript:|data:[a-z]+/`)},
	{"it has a long run of encoded data", regexp.MustCompile(`[A-Za-z0-9+/=_-]{120,}|(\\x[0-9a-fA-F]{2}){8,}|(%[0-9a-fA-F]{2}){12,}`)},
	{"it adds to the memory by itself", regexp.MustCompile(`(?i)\b(remember|memori[sz]e|save|store|add|write)\b.{0,40}\b(in|to|into|as)\b.{0,20}\b(memory|memories|active entry)\b`)},
}

// Suspicious returns why a text looks like an attempt to steer the model, "" if it does not.
// The forms that it knows are few: what passes may still be hostile. So a person decides about
// each entry.
func Suspicious(s string) string {
	for _, r := range s {
		switch {
		case r == '\u00ad' || unicode.Is(unicode.Cf, r) && r != '\u200d' || r >= 0xE0000 && r <= 0xE007F || r >= 0xFE00 && r <= 0xFE0E:
			return fmt.Sprintf("it has a character that nobody sees (%U)", r)
		case unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r':
			return fmt.Sprintf("it has a control character (%U)", r)
		}
	}
	if strings.Count(terminal.Text(s), "\ufffd") > strings.Count(s, "\ufffd") {
		return "it has a character that nobody sees"
	}
	flat := text.OneLine(s)
	for _, sign := range signs {
		if sign.form.MatchString(s) || sign.form.MatchString(flat) {
			return sign.means
		}
	}
	return ""
}
