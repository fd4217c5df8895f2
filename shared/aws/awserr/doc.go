// Package awserr tells what an error from an AWS call means: that a thing does
// not exist, that the caller may not, that it should wait, that it has no
// credentials. It is the only place that knows AWS error codes and messages; no
// other package compares them.
//
// Describe says the same to a person, with what to do about it.
//
// The codes are those of the AWS SDK for Go v2 and of the services' references:
// EC2 (Error codes for the Amazon EC2 API), EKS, EC2 Auto Scaling, SNS, SQS, STS,
// IAM, SSM, DynamoDB and EventBridge Scheduler (Common Error Types of each), and S3
// (Error responses).
package awserr
