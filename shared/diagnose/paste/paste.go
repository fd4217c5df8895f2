// Package paste writes commands that a person can paste into a shell. A name in an account
// reaches the command unchanged, whatever its characters.
//
// The package is pure.
package paste

import (
	"encoding/json"
	"strings"
)

// plain are the characters that a shell reads literally.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"

// Word returns the text quoted as one shell word.
func Word(text string) string {
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Command returns a shell command with each word quoted.
func Command(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Word(w)
	}
	return strings.Join(out, " ")
}

// Lines joins commands and comments, and omits empty ones.
func Lines(all ...string) string {
	var out []string
	for _, l := range all {
		if l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// Kubectl returns a kubectl command.
func Kubectl(words ...string) string { return Command(append([]string{"kubectl"}, words...)...) }

// JSON returns a value as JSON, for options that take it.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}" // maps and slices of strings and booleans always marshal
	}
	return string(b)
}
