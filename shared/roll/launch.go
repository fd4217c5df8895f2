package roll

import "time"

// Launch is what is told of a group whose launches fail, or of which one does not come
// about, since its latest launch that succeeded.
type Launch struct {
	Owner   Owner
	Since   time.Time // of the first that failed, or waits
	Failed  time.Time // when the latest failure was told, zero if none was
	Message string    // that failure, without secrets; "" if none was told
	Field   string    // where it was told, such as "Launched" or "StatusMessage"
}
