package paste_test

import (
	"testing"

	"mvdan.cc/sh/v3/shell"

	"rollcall/shared/diagnose/paste"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// A shell reads the words unchanged, whatever the text contains.
func TestAShellReadsTheWordsAsTheyWere(t *testing.T) {
	words := []string{"kubectl", "", "a b", "it's", `"`, `\`, "$HOME", "*", "a;b", "$(id)", "x=y,z", "é", "'", "--flag=v", "~", "#no"}
	got, err := shell.Fields(paste.Command(words...), func(string) string { return "expanded" })
	must.That(t, err == nil && len(got) == len(words), "%q, %v", got, err)
	for i := range words {
		expect.Equal(t, got[i], words[i], "%q is read as", words[i])
	}
}

func TestWhatNeedsNoQuotesHasNone(t *testing.T) {
	got := paste.Command("aws", "ec2", "--filters", "Name=tag:x,Values=a/b_c-1.2")
	expect.That(t, got == "aws ec2 --filters Name=tag:x,Values=a/b_c-1.2", "got %s", got)
}

func TestARemarkHasALineOfItsOwn(t *testing.T) {
	for lines, want := range map[string]string{
		"aws a   # b":                    "# b\naws a",
		"aws a   # b\nkubectl c   # d":   "# b\naws a\n# d\nkubectl c",
		"# a   # b":                      "# a   # b",
		"kubectl c -p 'x   # y'":         "kubectl c -p 'x   # y'",
		"kubectl c -p 'x   # y'   # why": "# why\nkubectl c -p 'x   # y'",
		"# b\naws a":                     "# b\naws a",
	} {
		expect.Equal(t, paste.Lines(lines), want, "%q", lines)
	}
	expect.Equal(t, paste.If("if c", "aws a   # b"), "# if c:\n# b\n# aws a", "a condition")
	expect.Equal(t, paste.If("if c", "aws a"), "# if c:\n# aws a", "a condition")
}

func TestEmptyLinesAreLeftOut(t *testing.T) {
	got := paste.Lines("a", "", "b")
	expect.That(t, got == "a\nb", "got %q", got)
}

func TestAValueIsOneLine(t *testing.T) {
	text := "a\nb\t'c' \\ $(id)\x1b[2J"
	expect.Equal(t, paste.Word(text), `$'a\012b\011\'c\' \\ $(id)\033[2J'`, "paste.Word(text)")
	got, err := shell.Fields(paste.Format("grep %s file   # %s", text, text), func(string) string { return "expanded" })
	expect.That(t, err == nil && len(got) == 3 && got[1] == text, "%q, %v", got, err)
	expect.Equal(t, paste.Remark("a\nrm `x` $(y); it's | z &"), "a rm ’x’ $ (y), it’s , z ,", "a remark")
	if got := paste.Plain("key; $(x)"); got != "key????x?" {
		t.Errorf("got %q", got)
	}
}
