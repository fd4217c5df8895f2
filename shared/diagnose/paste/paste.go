// Package paste writes commands that a person can paste into a shell: whatever characters
// a name in an account has, it reaches the command unchanged.
//
// The package is pure.
package paste

import (
	"encoding/json"
	"strings"
)

// plain are the characters that a shell takes as they are.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"

// Word is a word that a shell reads as the text.
func Word(text string) string {
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Command is a command of words that a shell reads as the texts.
func Command(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Word(w)
	}
	return strings.Join(out, " ")
}

// Lines joins commands and comments; empty ones are left out.
func Lines(all ...string) string {
	var out []string
	for _, l := range all {
		if l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// Kubectl is a command of kubectl.
func Kubectl(words ...string) string { return Command(append([]string{"kubectl"}, words...)...) }

// JSON is a value as JSON, for options that take some.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}" // maps and slices of strings and booleans always marshal
	}
	return string(b)
}
