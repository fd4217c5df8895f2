package awserr

// IsConflict reports that what the call was to create exists already: EventBridge
// Scheduler's ConflictException.
func IsConflict(err error) bool {
	return errorCode(err) == "ConflictException"
}

// IsPreconditionFailed reports that S3 wrote nothing because the call's condition does
// not hold: with If-None-Match, that the object exists already.
func IsPreconditionFailed(err error) bool {
	return errorCode(err) == "PreconditionFailed"
}

// IsWriteConflict reports that S3 wrote nothing because another write or deletion of the
// object was under way. The same call may go through a moment later.
func IsWriteConflict(err error) bool {
	return errorCode(err) == "ConditionalRequestConflict"
}

// IsInvalid reports that a service does not take what the call asks for: Systems Manager's
// ValidationException, such as for a value that is too long for the parameter's tier.
func IsInvalid(err error) bool {
	return errorCode(err) == "ValidationException"
}
