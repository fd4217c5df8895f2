package policy

import (
	"strconv"
	"strings"

	"rollcall/shared/roll/pattern"
)

// plain matches text that can appear in a message unchanged.
var plain = pattern.New(`^[A-Za-z0-9_.%+*/-]{1,40}$`)

// quote makes a value from a document safe for one line of a message: it escapes unusual characters
// and cuts a long value.
func quote(s string) string {
	if plain.MatchString(s) {
		return s
	}
	if r := []rune(s); len(r) > 40 {
		return strconv.Quote(string(r[:40])) + "..."
	}
	return strconv.Quote(s)
}

// didYouMean returns the end of a message, with the known word that is probably meant, if one is
// close enough: one edit away for a short word, two for a longer one.
func didYouMean[S ~string](word string, known []S) string {
	if len(word) > 40 {
		return ""
	}
	best, bestEdits := "", 1+min(2, max(1, len(word)/3))
	for _, k := range known {
		if n := edits(strings.ToLower(word), strings.ToLower(string(k))); n < bestEdits {
			best, bestEdits = string(k), n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// edits returns the number of inserted, deleted and replaced bytes that turn one word into the
// other.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
