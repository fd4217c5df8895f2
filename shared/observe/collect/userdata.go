package collect

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/evidence/userdata"
)

// readUserData reads the user data of the sample, with one call per instance.
func (l *look) readUserData() {
	a := l.secret("ec2:DescribeInstanceAttribute")
	ids, skipped := l.sampledOf(needUserData)
	for id, why := range skipped {
		l.instance(id, func(i *evidence.Instance) { i.UserData = evidence.Skipped[userdata.Boot](why) })
	}
	for _, id := range ids {
		in := &ec2.DescribeInstanceAttributeInput{InstanceId: aws.String(string(id)), Attribute: types.InstanceAttributeNameUserData}
		fact := one(a, l.ec2.DescribeInstanceAttribute, in, func(out *ec2.DescribeInstanceAttributeOutput) evidence.Fact[userdata.Boot] {
			if out.UserData == nil {
				return evidence.None[userdata.Boot]()
			}
			return boot(aws.ToString(out.UserData.Value), fmt.Sprintf("ec2:DescribeInstanceAttribute of %s", id))
		})
		l.instance(id, func(i *evidence.Instance) { i.UserData = fact })
	}
}

// boot parses user data, as returned by the API, in memory. It may hold secrets: only what
// userdata.Boot keeps leaves this function.
func boot(encoded, source string) evidence.Fact[userdata.Boot] {
	if encoded == "" {
		return evidence.None[userdata.Boot]()
	}
	data, err := userdata.Decode(encoded)
	if errors.Is(err, userdata.ErrTooLarge) {
		return evidence.Read(tooLarge(encoded))
	}
	if err != nil {
		return evidence.Failed[userdata.Boot](source + ": " + err.Error())
	}
	return evidence.Read(userdata.Read(data))
}

// tooLarge returns the result for user data that exceeds what EC2 keeps. Its size is a finding, and
// nothing else of it is read.
func tooLarge(encoded string) userdata.Boot {
	return userdata.Boot{
		Size:   base64.StdEncoding.DecodedLen(len(encoded)),
		Faults: []userdata.Fault{{Part: "user data", Format: userdata.Unknown, Reason: userdata.TooLarge, By: userdata.Rollcall, Effect: userdata.Unread}},
	}
}
