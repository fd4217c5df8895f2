// Package awscli tests that the AWS CLI has the commands that Rollcall gives people to paste: the operation, its
// options and required parameters, and the values of enumerations, by the API models of botocore, from which the
// AWS CLI generates its commands. Documents may leave parameters out. It needs what "make testbed-deps" puts into .venv.
package awscli
