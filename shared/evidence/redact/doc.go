// Package redact removes secrets from user data and console output, before any of it is stored,
// logged or sent.
//
// [Text] replaces each secret with a note such as "[redacted: aws-secret-key]", and lines keep
// their numbers. It does not parse: user data nests shell in YAML in MIME and JSON in quotes, and
// much of it does not parse. It recognizes the forms of secrets and the names that announce one, in
// any syntax, and removes too much rather than too little.
//
// By form, under any name or none (form.go): private keys, AWS keys and session tokens, tokens with
// a known prefix or that begin with the name of their issuer, JSON web tokens, bearer and basic
// credentials, passwords and tokens in URLs and addresses of proxies, crypt(3) hashes.
//
// By name (assign.go, name.go): a value is removed if its name contains password, secret, token,
// api key, credentials, auth or the like. The value is a text in quotes, or the rest of the line
// with the block indented below it. The same applies to tables of TOML and INI, the data of a
// Kubernetes Secret, documents assigned to such a name, the content written to a file of such a
// name, and options and input of commands that take passwords (chpasswd, cryptsetup, curl -u, docker login, net
// use, reg add, Set-Item), also of a command that is a list of its arguments. A name that ends in
// key or license counts if its value looks generated.
//
// Base64 (also of gzip, of base64, of UTF-16 and Latin-1) that decodes to text with any of these is
// removed as a whole. So is base64 of a user and a password, and of JSON without white space that has
// a generated value, as ECR's authorization token.
//
// Not found: a secret under a neutral name, without a form of its own; one assembled at run time;
// one that is encrypted, or encoded in another way; a password in running text that looks like a
// word; names in languages other than English. The package is a filter, not a proof: keep its
// output as private as the user data.
//
// Kept under secret-like names: references ($NAME, $(aws ...), {{ name }}) whose command does not
// print a text of its own, ARNs, URLs without credentials, well-known paths, and switches such as
// true and none. A name whose ending shows that it holds no secret (tokenTTL, secretName,
// password_file) is not secret-like.
//
// The package is pure: no I/O, no clock. Its cost grows with the length of the text and is bounded
// for any text.
package redact
