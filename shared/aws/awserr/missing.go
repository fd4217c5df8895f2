package awserr

import "rollcall/shared/roll/pattern"

// resourceID is the id of an EC2 resource: the short form of its kind, and 8 or 17
// hexadecimal digits.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
var resourceID = pattern.New(`\b[a-z]+-(?:[0-9a-f]{17}|[0-9a-f]{8})\b`)

// MissingIDs returns the ids that do not exist according to an error of EC2, as in "The image
// ids '[ami-0123456789abcdef0, ami-0fedcba9876543210]' do not exist"; nil for any other
// error. EC2 refuses the whole request for one such id.
func MissingIDs(err error) []string {
	if err == nil || !IsNotFound(err) {
		return nil
	}
	return resourceID.FindAllString(errorMessage(err), -1)
}
