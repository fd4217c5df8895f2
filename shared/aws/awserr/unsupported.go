package awserr

// IsUnsupported reports whether the resource does not support the request: for
// ec2:GetConsoleOutput, that the instance type has no latest output, which requires the Nitro
// hypervisor.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html
func IsUnsupported(err error) bool {
	return errorCode(err) == "UnsupportedOperation"
}
