package start

import (
	"fmt"

	"github.com/aws/smithy-go/logging"

	"rollcall/shared/lambdas/ambient"
)

// sdk redirects the log of the AWS SDK to the functions' JSON log. By default it writes
// plain text, which no query of JSON lines finds. Debug messages of the SDK are dropped.
func sdk(around ambient.Ambient) logging.Logger {
	return logging.LoggerFunc(func(sort logging.Classification, format string, arguments ...any) {
		if sort != logging.Debug {
			around.Odd(fmt.Sprintf(format, arguments...))
		}
	})
}
