package awserr

// IsConflict reports that what the call was to create exists already: EventBridge
// Scheduler's ConflictException.
func IsConflict(err error) bool {
	return errorCode(err) == "ConflictException"
}
