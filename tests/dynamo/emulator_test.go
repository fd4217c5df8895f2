package dynamo

import (
	"os"
	"testing"

	"rollcall/tests/testbed"
)

// account is the emulated AWS.
var account *testbed.Bed

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, testbed.Options{AWSOnly: true, Emulator: "tests/dynamo/launch.py"}, func(b *testbed.Bed) { account = b }, nil))
}
