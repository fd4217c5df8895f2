// Package redact scrubs secrets from user data and console output, before any of
// it is stored, logged or sent.
//
// [Text] replaces each secret by a note such as "[redacted: aws-secret-key]", and lines
// keep their numbers. It does not parse: user data nests shell in YAML in MIME, JSON in
// quotes, and half of what is worth reading does not parse. It looks for what a secret
// looks like, and for names that announce one, in whatever syntax surrounds them, and
// takes rather too much than too little.
//
// By its own form, under any name, and alone (form.go): private keys, AWS keys and session
// tokens, tokens with a known prefix, JSON web tokens, bearer and basic credentials,
// passwords in URLs, crypt(3) hashes.
//
// By what it is given to (assign.go, name.go): a name with password, secret, token, api
// key, credentials, auth and the like in it drops what it is given. That is a text in
// quotes, or the rest of the command's line with the block that is indented below it. The
// same holds for the tables of TOML and INI, the data of a Kubernetes Secret, documents
// that a line with such a name is given, what is written to a file of such a name, and
// options and input of commands that take passwords (chpasswd, curl -u, docker login).
//
// Base64 (also of gzip, of base64, of UTF-16) that decodes to text with any of that in it
// goes as a whole.
//
// Not found: a secret under a name that says nothing, without a form of its own; one put
// together at run time from pieces; one encrypted, or encoded otherwise; a password in
// running text that looks like a word; names in languages other than English. It is a
// sieve, not a proof: keep what passes it as private as the user data was.
//
// Kept under secret-like names: references ($NAME, $(aws ...), {{ name }}), ARNs, URLs
// without credentials, well-known paths, and switches such as true and none. Names that
// end in what is no secret (tokenTTL, secretName, password_file) are no secret's.
//
// The package is pure: no I/O, no clock. Its cost grows with the text's length and is
// bounded whatever the text.
package redact
