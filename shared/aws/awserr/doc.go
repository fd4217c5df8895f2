// Package awserr classifies errors of AWS calls: the resource does not exist, the caller
// lacks a permission, the call was throttled, there are no credentials. It is the only
// place that compares AWS error codes and messages.
//
// Describe turns an error into a sentence for a person, with what to do about it.
//
// The codes are those of the AWS SDK for Go v2 and of the services' references: EC2 (Error
// codes for the Amazon EC2 API), EKS, EC2 Auto Scaling, SNS, SQS, STS, IAM, SSM, DynamoDB
// and EventBridge Scheduler (Common Error Types of each), and S3 (Error responses).
package awserr
