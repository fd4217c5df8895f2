package console

import "strings"

// awsRules are about what AWS answers, or does not, as the AWS CLI, the SDK for Go
// (nodeadm) and the SDK for Rust (Bottlerocket) print it.
var awsRules = []rule{
	{needle: "An error occurred (", read: cliError},
	{needle: "operation error ", read: goSDKError},
	{needle: "No cluster found for name: ", read: noCluster},
	{needle: "Unable to locate credentials", read: says(NoCredentials, "")},
	{needle: "no EC2 IMDS role found", read: says(NoCredentials, "")},
	{needle: "onnect timeout on endpoint URL: ", read: cliTimeout},
	{needle: "Could not connect to the endpoint URL: ", read: cliTimeout},
	{needle: "Read timeout on endpoint URL: ", read: cliTimeout},
	{needle: " retrying request ", read: retries},
	{needle: "Giving up on md from ", read: says(IMDSFailed, "cloud-init")},
	{needle: "IMDS's HTTP endpoint is probably disabled", read: says(IMDSFailed, "cloud-init")},
	{needle: "IMDS request failed", read: imdsRequest},
	{needle: ".dkr.ecr.", read: ecrPull},
}

// denials are the codes with which AWS refuses a caller.
var denials = []string{
	"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "UnrecognizedClientException",
	"InvalidClientTokenId", "ExpiredToken", "ExpiredTokenException", "SignatureDoesNotMatch", "OptInRequired",
}

// cliError: "An error occurred (CODE) when calling the OPERATION operation: ...".
func cliError(s segment) (Sign, string) {
	code, _ := between(s.message, "An error occurred (", ")")
	operation, _ := between(s.message, "when calling the ", " ")
	for _, d := range denials {
		if code == d {
			return AccessDenied, operation + ": " + code
		}
	}
	return "", ""
}

// goSDKError: "operation error EC2: DescribeInstances, ... api error CODE: ...".
func goSDKError(s segment) (Sign, string) {
	operation, _ := between(s.message, "operation error ", ",")
	if asked, ok := strings.CutPrefix(operation, "ec2imds: "); ok {
		if strings.Contains(s.message, "StatusCode: 404") { // it answered: it has none
			return "", ""
		}
		return IMDSFailed, asked
	}
	code, _ := between(s.message, "api error ", ":")
	for _, d := range denials {
		if code == d {
			return AccessDenied, operation + ": " + code
		}
	}
	return "", ""
}

func noCluster(s segment) (Sign, string) {
	name, _ := between(s.message, "No cluster found for name: ", " ")
	return ClusterNotFound, strings.TrimRight(name, `.",'\}`)
}

// cliTimeout: `Connect timeout on endpoint URL: "https://eks.eu-west-1.amazonaws.com/..."`.
func cliTimeout(s segment) (Sign, string) {
	_, url, _ := strings.Cut(s.message, "endpoint URL: ")
	return unreachable(url, "")
}

// fewRetries are as many attempts as a healthy boot was seen to need, while the network
// comes up.
const fewRetries = 4

// retries: "SDK 2026/02/19 07:57:30 DEBUG retrying request EC2/DescribeInstances, attempt 2".
func retries(s segment) (Sign, string) {
	_, rest, _ := strings.Cut(s.message, " retrying request ")
	call, attempt, ok := strings.Cut(rest, ", attempt ")
	attempt = firstWord(attempt)
	many := len(attempt) > 1 || len(attempt) == 1 && isDigit(attempt[0]) && attempt[0] > '0'+fewRetries
	if !ok || !strings.Contains(s.text, "SDK ") || !many || strings.ContainsAny(call, " \t") {
		return "", ""
	}
	return APIRetries, call
}

func imdsRequest(s segment) (Sign, string) {
	if !bottlerocketTags[s.tag] {
		return "", ""
	}
	return IMDSFailed, s.tag
}

// ecrPull: a failure to pull that names an image in ECR.
func ecrPull(s segment) (Sign, string) {
	low := strings.ToLower(s.message)
	for _, f := range []string{"failed to pull", "error pulling", "failed to resolve reference", "failed to resolve image", "pull access denied"} {
		if strings.Contains(low, f) {
			return ECRPullFailed, imageName(s.message)
		}
	}
	return "", ""
}

// imageName is the word around ".dkr.ecr.".
func imageName(s string) string {
	i := strings.Index(s, ".dkr.ecr.")
	if i < 0 {
		return ""
	}
	const stop = " \t\"'`()\\,;="
	from := strings.LastIndexAny(s[:i], stop) + 1
	image := s[from:]
	if end := strings.IndexAny(image, stop); end >= 0 {
		image = image[:end]
	}
	return strings.TrimRight(image, ":.")
}
