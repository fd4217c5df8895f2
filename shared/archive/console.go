package archive

import "rollcall/shared/roll"

// consoleURL is the page of the S3 console that lists what is below a prefix, "" where
// the console's address is not known.
func consoleURL(region, bucket, prefix string) string {
	console := roll.Console(region)
	if console == "" {
		return ""
	}
	return console + "/s3/buckets/" + bucket + "?region=" + region + "&prefix=" + prefix
}
