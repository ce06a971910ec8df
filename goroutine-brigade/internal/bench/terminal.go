package bench

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// shown returns text with every character that would act on a terminal, or
// hide, written as JSON escapes it: controls, line feeds too, and what sets the
// direction of text.
func shown(text string) string {
	var safe strings.Builder
	for _, r := range text {
		if !unicode.IsControl(r) && !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			safe.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&safe, "\\u%04x", unit)
		}
	}
	return safe.String()
}
