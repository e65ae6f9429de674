// Package htmlpage begins and ends HTML pages that are one file: they have no scripts and load
// nothing. The policy of a page holds that also for what is in it.
package htmlpage

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
)

// End ends a page that [Begin] has begun.
const End = "</main>\n</body>\n</html>\n"

const begin = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
`

// Begin returns the beginning of a page, up to its content. The title is any text. The style sheet
// is the page's only one: the policy of the page refuses others, and everything but images as data
// URLs.
func Begin(title, style string) string {
	sum := sha256.Sum256([]byte(style))
	return fmt.Sprintf(begin, base64.StdEncoding.EncodeToString(sum[:]), template.HTMLEscapeString(title), style)
}
