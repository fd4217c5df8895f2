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

func TestAValueIsOneLine(t *testing.T) {
	text := "a\nb\t'c' \\ $(id)\x1b[2J"
	if got := paste.Word(text); got != `$'a\012b\011\'c\' \\ $(id)\033[2J'` {
		t.Errorf("got %s", got)
	}
	got, err := shell.Fields(paste.Format("grep %s file   # %s", text, text), func(string) string { return "expanded" })
	if err != nil || len(got) != 3 || got[1] != text {
		t.Errorf("%q, %v", got, err)
	}
	if got := paste.Remark("a\nrm `x` $(y)"); got != "a rm 'x' $ (y)" {
		t.Errorf("a remark is %q", got)
	}
	if got := paste.Plain("key; $(x)"); got != "key????x?" {
		t.Errorf("got %q", got)
	}
}
