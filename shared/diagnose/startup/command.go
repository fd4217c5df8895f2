package startup

import "strings"

// plain are the characters that a shell takes as they are.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"

// word makes a word that a shell reads as the text.
func word(text string) string {
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// kubectl is a command of kubectl with such words.
func kubectl(words ...string) string {
	out := []string{"kubectl"}
	for _, w := range words {
		out = append(out, word(w))
	}
	return strings.Join(out, " ")
}

// lines joins commands and comments; empty ones are left out.
func lines(all ...string) string {
	var out []string
	for _, l := range all {
		if l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}
