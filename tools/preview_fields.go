package tools

import "strings"

// A previewField is a part of a call's input that a person must see before they
// allow it.
type previewField struct{ name, value string }

// previewFields shows fields that have a value, one per line. Further lines of a
// value are indented, so that none of them looks like another field.
func previewFields(fields ...previewField) string {
	var b strings.Builder
	for _, f := range fields {
		if f.value = strings.TrimSpace(f.value); f.value != "" {
			b.WriteString(f.name + ": " + strings.ReplaceAll(f.value, "\n", "\n    ") + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
