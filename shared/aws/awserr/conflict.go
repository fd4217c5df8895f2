package awserr

// IsConflict reports whether the resource to create exists already: EventBridge Scheduler's
// ConflictException.
func IsConflict(err error) bool {
	return errorCode(err) == "ConflictException"
}

// IsPreconditionFailed reports whether S3 wrote nothing because the call's condition failed:
// with If-None-Match, the object exists already.
func IsPreconditionFailed(err error) bool {
	return errorCode(err) == "PreconditionFailed"
}

// IsWriteConflict reports whether S3 wrote nothing because of a concurrent write or deletion
// of the object. A retry may succeed.
func IsWriteConflict(err error) bool {
	return errorCode(err) == "ConditionalRequestConflict"
}

// IsInvalid reports whether a service rejects the content of the call: Systems Manager's
// ValidationException, such as for a value that is too long for the parameter's tier.
func IsInvalid(err error) bool {
	return errorCode(err) == "ValidationException"
}
