// Package iam reads IAM policy documents, which may write a list of one as a plain value.
//
// The package is pure.
package iam

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Texts is a text or a list of texts.
type Texts []string

// UnmarshalJSON accepts both forms.
func (t *Texts) UnmarshalJSON(data []byte) error { return oneOrMany((*[]string)(t), data) }

func oneOrMany[T any](to *[]T, data []byte) error {
	var many []T
	if json.Unmarshal(data, &many) == nil {
		*to = many
		return nil
	}
	var one T
	err := json.Unmarshal(data, &one)
	*to = []T{one}
	return err
}

// Statements returns the statements of a policy document.
func Statements[T any](policy string) (out []T, err error) {
	var doc struct{ Statement json.RawMessage }
	if err := json.Unmarshal([]byte(policy), &doc); err != nil {
		return nil, err
	}
	err = oneOrMany(&out, doc.Statement)
	return out, err
}

// Principals returns the principals of a statement by kind, such as Service. all reports
// whether the principal is "*".
func Principals(principal json.RawMessage) (by map[string]Texts, all bool, err error) {
	var text string
	if json.Unmarshal(principal, &text) == nil {
		return nil, text == "*", nil
	}
	err = json.Unmarshal(principal, &by)
	return by, false, err
}

// Everybody reports whether the principal is everybody.
func Everybody(principal json.RawMessage) bool {
	by, all, err := Principals(principal)
	return err == nil && (all || slices.Contains(by["AWS"], "*"))
}

// Matches reports whether the pattern matches the text: * stands for any text and ? for any one
// character.
func Matches(pattern, text string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == text
	}
	p := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	ok, err := regexp.MatchString(`^`+p+`$`, text)
	return ok && err == nil
}
