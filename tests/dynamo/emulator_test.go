package dynamo

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"rollcall/tests/emulator"
)

// account is the emulated AWS.
var account *emulator.Emulator

func TestMain(m *testing.M) { os.Exit(start(m)) }

func start(m *testing.M) int {
	var err error
	if account, err = emulator.Start(filepath.Join("..", ".."), "launch.py"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer account.Close()
	return m.Run()
}
