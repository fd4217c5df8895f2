package startup

import "rollcall/shared/diagnose/paste"

// kubectl is a command of kubectl.
func kubectl(words ...string) string {
	return paste.Command(append([]string{"kubectl"}, words...)...)
}
