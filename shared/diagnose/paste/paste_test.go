package paste_test

import (
	"testing"

	"mvdan.cc/sh/v3/shell"

	"rollcall/shared/diagnose/paste"
)

// A shell reads the words unchanged, whatever the text contains.
func TestAShellReadsTheWordsAsTheyWere(t *testing.T) {
	words := []string{"kubectl", "", "a b", "it's", `"`, `\`, "$HOME", "*", "a;b", "$(id)", "x=y,z", "é", "'", "--flag=v", "~", "#no"}
	got, err := shell.Fields(paste.Command(words...), func(string) string { return "expanded" })
	if err != nil || len(got) != len(words) {
		t.Fatalf("%q, %v", got, err)
	}
	for i := range words {
		if got[i] != words[i] {
			t.Errorf("%q is read as %q", words[i], got[i])
		}
	}
}

func TestWhatNeedsNoQuotesHasNone(t *testing.T) {
	if got := paste.Command("aws", "ec2", "--filters", "Name=tag:x,Values=a/b_c-1.2"); got != "aws ec2 --filters Name=tag:x,Values=a/b_c-1.2" {
		t.Errorf("got %s", got)
	}
}

func TestEmptyLinesAreLeftOut(t *testing.T) {
	if got := paste.Lines("a", "", "b"); got != "a\nb" {
		t.Errorf("got %q", got)
	}
}
