package console

import (
	"fmt"
	"strings"
	"testing"
)

// noise returns a console text of about that many bytes without signs.
func noise(bytes int) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "[%12.6f] pci 0000:00:%02x.0: reg 0x10: [mem 0xfebf4000-0xfebf7fff]\r\n", float64(i), i%256)
		fmt.Fprintf(&b, "[\x1b[0;32m  OK  \x1b[0m] Finished \x1b[0;1;39msystemd-fsck@%d.service\x1b[0m - File System Check.\r\n", i)
		fmt.Fprintf(&b, "[%12.6f] systemd[1]: Started session-%d.scope - Session %d of user core.\r\n", float64(i), i, i)
	}
	return b.String()
}

func BenchmarkRead(b *testing.B) {
	for _, bc := range []struct{ name, text string }{
		{"64 KB of noise", noise(64 << 10)},
		{"64 KB with a sign", noise(64<<10) + "[    1.000001] Kernel panic - not syncing: x"},
		{"64 KB of signs", strings.Repeat("[FAILED] Failed to start x.service.\n", 64<<10/36)},
		{"1 MB of noise", noise(1 << 20)},
		{"1 MB of signs", strings.Repeat("[FAILED] Failed to start x.service.\n", 1<<20/36)},
		{"1 MB in one line", strings.Repeat("[    1.000001] [FAILED] x ", 1<<20/26)},
		{"1 MB of signs in one line", strings.Repeat("[    1.000001] [FAILED] Failed to start x", 1<<20/41)},
		{"1 MB of an error", `nodeadm[1]: fatal cli/main.go:1 Command failed {"error": "` + strings.Repeat(`\" node config dial tcp `, 1<<20/24)},
		{"1 MB of brackets", strings.Repeat("[", 1<<20)},
		{"1 MB of escapes", strings.Repeat("\x1b[", 1<<19)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(bc.text)))
			for b.Loop() {
				Read(bc.text)
			}
		})
	}
}
