package awserr

// IsUnsupported reports that what was asked for is not there for this resource at all:
// of ec2:GetConsoleOutput, that the instance's type does not have its latest output,
// which takes the Nitro hypervisor.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html
func IsUnsupported(err error) bool {
	return errorCode(err) == "UnsupportedOperation"
}
