package userdata

import (
	"strings"
	"testing"

	"rollcall/shared/roll"
	"rollcall/tests/harness/expect"
)

// The effect of the drop-in on --kubelet-extra-args.
func TestEnvironmentValue(t *testing.T) {
	tests := []struct {
		name, in, want string
		loss           Loss
	}{
		{name: "nothing"},
		{name: "plain", in: "--a=b --c=d", want: "--a=b|--c=d"},
		{name: "double quotes stay one word and vanish", in: `--a="b c" --d`, want: "--a=b c|--d"},
		{name: "double quotes around the flag", in: `"--a=b c"`, want: "--a=b c"},
		{name: "escaped double quotes are undone twice", in: `--a=\"b c\"`, want: `--a=b c`},
		{name: "doubly escaped ones stay", in: `--a=\\"b\\"`, want: `--a="b"`},
		{name: "an escaped single quote", in: `--a=it\'s`, want: `--a=its`},
		{name: "C's escapes", in: `--a=\x41\101\u0041b`, want: "--a=AAAb"},
		{name: "a percent sign", in: "--a=x<5%,y<10%", want: "--a=x<5%,y<10%"},
		{name: "single quotes, which close those of the drop-in", in: "--a='b' --c=d", want: "--a=b|--c=d", loss: LostOnAmazonLinux2},
		{name: "single quotes with a blank in them, which ends the assignment", in: "--a='b c' --d", want: "--a=b", loss: LostOnAmazonLinux2},
		{name: "an escape that C does not have", in: `--a=\$b`, want: `--a=$b`, loss: LostOnAmazonLinux2},
		{name: "a single quote that is alone", in: "--a=it's", loss: LostQuotes},
		{name: "a backslash before the closing quote", in: `--a=b\`, loss: LostQuotes},
		{name: "a line break", in: "--a=b\n--c=d", loss: LostLines},
		{name: "a line break at the end", in: "--a=b\n", loss: LostLines},
		{name: "a line that goes on", in: "--a=b \\\n--c=d", want: "--a=b|--c=d"},
		{name: "a double quote that is never closed", in: `--a="b --c=d`, want: "--a=b --c=d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value, loss := environmentValue(tt.in)
			got := joined(commandLineWords(value))
			expect.That(t, got == tt.want && loss == tt.loss, "got %s, %q; want %s, %q", got, loss, tt.want, tt.loss)
		})
	}
}

// The effect of the environment file on nodeadm's flags.
func TestEnvironmentFileValue(t *testing.T) {
	tests := []struct {
		name, in, want string
		loss           Loss
	}{
		{name: "nothing"},
		{name: "quotes are the command line's", in: `--a="b c" '--d=e f'`, want: "--a=b c|--d=e f"},
		{name: "quotes in quotes stay", in: `--a='"b"'`, want: `--a="b"`},
		{name: "a backslash is cut", in: `--a=\"b c\"`, want: "--a=b c"},
		{name: "two are one, which is cut next", in: `--a=\\"b\\"`, want: `--a="b"`},
		{name: "a line break ends it", in: "--a=b\n --c=d", want: "--a=b", loss: LostLines},
		{name: "nothing after the line break", in: "--a=b\n", want: "--a=b"},
		{name: "a line that goes on", in: "--a=b \\\n--c=d", want: "--a=b|--c=d"},
		{name: "a backslash at the end", in: `--a=b\`, want: "--a=b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value, loss := environmentFileValue(tt.in)
			got := joined(commandLineWords(value))
			expect.That(t, got == tt.want && loss == tt.loss, "got %s, %q; want %s, %q", got, loss, tt.want, tt.loss)
		})
	}
}

func joined(words []word) string {
	return strings.Join(roll.Map(words, func(w word) string { return w.text }), "|")
}
