package start

import (
	"fmt"

	"github.com/aws/smithy-go/logging"

	"rollcall/shared/lambdas"
)

// sdk has the AWS SDK log as the functions do. By itself it writes lines of text, which no
// query of JSON lines finds. What it says to those who mend the SDK itself is dropped.
func sdk(around lambdas.Ambient) logging.Logger {
	return logging.LoggerFunc(func(sort logging.Classification, format string, arguments ...any) {
		if sort != logging.Debug {
			around.Odd(fmt.Sprintf(format, arguments...))
		}
	})
}
