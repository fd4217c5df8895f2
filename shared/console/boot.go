package console

import "strings"

// bootRules tell that the system is up.
var bootRules = []rule{
	{needle: " finished at ", read: cloudInitFinished},
	{needle: "Multi-User System", read: multiUser},
	{needle: " login:", read: login},
	{needle: "Windows is Ready to use", read: windowsReady},
}

// cloudInitFinished: "Cloud-init v. 22.2.2 finished at Wed, 10 Sep 2025 12:53:14 +0000."
// (cloudinit/config/cc_final_message.py).
func cloudInitFinished(s segment) (Sign, string) {
	if !strings.HasPrefix(s.message, "Cloud-init v. ") {
		return "", ""
	}
	return BootFinished, "cloud-init"
}

func multiUser(s segment) (Sign, string) {
	printed, ok := fromSystemd(s, "  OK  ", "Reached target ")
	if !ok || !strings.HasSuffix(strings.TrimSuffix(printed, "."), "Multi-User System") {
		return "", ""
	}
	return BootFinished, "multi-user.target"
}

// login: "ip-10-0-0-1 login: ".
func login(s segment) (Sign, string) {
	host, ok := strings.CutSuffix(strings.TrimRight(s.message, " "), " login:")
	if !ok || !word(host) {
		return "", ""
	}
	return BootFinished, "login prompt"
}

// windowsReady: "2020/01/30 22:48:26Z: Message: Windows is Ready to use"
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2launch.html).
func windowsReady(s segment) (Sign, string) {
	if !strings.HasSuffix(s.message, "Message: Windows is Ready to use") {
		return "", ""
	}
	return BootFinished, "EC2Launch"
}

// word reports whether s is one word of letters, digits, dots, dashes and underscores,
// of no more than 128 characters.
func word(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isDigit(c) && c != '.' && c != '-' && c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
