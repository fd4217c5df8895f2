// Package redact scrubs secrets from user data and console output, before any of
// it is stored, logged or sent.
//
// [Text] replaces each secret by a note such as "[redacted: aws-secret-key]" and
// keeps everything else byte for byte, line by line. It does not parse a document
// as a whole: user data nests shell in YAML in MIME, JSON in quotes, and half of
// what is worth reading does not parse. It looks for what a secret looks like, and
// for names that announce one, in whatever syntax surrounds them.
//
// Found by its own form, under any name:
//
//   - PEM blocks, but for certificates, public keys and parameters; DER private keys
//     in base64
//   - AWS access key ids and the secret key beside them, session tokens, presigned
//     tokens of EKS (k8s-aws-v1), JSON web tokens, bootstrap tokens of kubeadm
//   - tokens with a known prefix: GitHub, GitLab, Slack, npm, Docker, Vault, Stripe
//     and others (token.go has the list)
//   - bearer and basic credentials, passwords in URLs, crypt(3) hashes
//
// Found by what it is given to:
//
//   - names with password, passwd, secret, token, api key, access key, private key,
//     credentials, auth and the like in them (name.go), in assignments of shell,
//     YAML (block scalars, flow and nested collections too), JSON (also escaped in a
//     string), TOML, INI, PowerShell, cmd and XML; as --flag value, in either
//     order of a "name" and "value" pair in YAML, and in the data of a Kubernetes
//     Secret
//   - commands: chpasswd, passwd --stdin, curl -u, mysql -p, net user, docker login,
//     ConvertTo-SecureString and a few more; files with such names, whether written
//     by a heredoc, by echo or by cloud-init
//   - base64 (also of gzip, of base64, of UTF-16) that decodes to text with any of
//     that in it: the encoded run goes as a whole
//
// Not found: a secret under a name that says nothing, without a form of its own; one
// put together at run time from pieces; one encrypted, or encoded otherwise (hex,
// reversed, percent-encoded); a password in running text that looks like a word
// ("the password: hunter"); names in languages other than English; short option
// letters of programs that are not listed; text in UTF-16, or gzip that was not
// undone before. It is a sieve, not a proof: keep what passes it as private as the
// user data was.
//
// Kept under secret-like names: references to a value ($NAME, $(aws ...),
// {{ name }}), ARNs, URLs without credentials, well-known paths, switches such as
// true and none, and certificates. Names that end in what is no secret (tokenTTL,
// secretName, password_file) are no secret's.
//
// The package is pure: no I/O, no clock. Its cost grows with the text's length and
// is bounded whatever the text.
package redact
