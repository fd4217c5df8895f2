package bundle

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"rollcall/shared/evidence"
	"rollcall/shared/observe/apistats"
	"rollcall/shared/roll"
)

// Bundle is one observation of one cluster, in files. It answers as the AWS and Kubernetes clients
// would have at the time of the capture. Data without a file is an error with that reason, never an
// empty answer. It is not changed after Open and is safe for concurrent use.
type Bundle struct {
	c       *contents
	cluster roll.ClusterID
	ignored []string
}

// Open reads the bundle in a directory. If the bundle is unusable, the error wraps [Faults], with
// everything that is wrong with it.
func Open(dir string) (*Bundle, error) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("open the bundle %s: %w", dir, err)
	case !info.IsDir():
		return nil, fmt.Errorf("open the bundle %s: it is a file, and a bundle is a directory", dir)
	}
	b, err := OpenFS(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("the bundle %s cannot be used:\n%w", dir, err)
	}
	return b, nil
}

// OpenFS reads the bundle at the root of a file system. The error is [Faults].
func OpenFS(fsys fs.FS) (*Bundle, error) {
	b := &Bundle{c: newContents()}
	var faults Faults
	for i := range specs {
		faults = append(faults, b.read(fsys, &specs[i])...)
	}
	faults = append(faults, b.readAt(fsys)...)
	faults = append(faults, b.readDocuments(fsys, folderUserData, b.c.userDataIn)...)
	faults = append(faults, b.readDocuments(fsys, folderConsole, unmarked)...)
	faults = append(faults, b.readDocuments(fsys, folderHostLogs, unmarked)...)
	faults = append(faults, b.oneOfMany()...)
	if len(faults) > 0 {
		faults.sort()
		return nil, faults
	}
	b.cluster, _ = roll.ParseClusterARN(aws.ToString(b.c.cluster().rows[0].Arn))
	b.ignored = append(b.ignored, b.strangers(fsys)...)
	return b, nil
}

// OpenPart reads files of a bundle by their names; any may be missing. An object that no file has
// counts as not captured. The error is [Faults].
func OpenPart(files map[string][]byte) (*Bundle, error) {
	b := &Bundle{c: newContents()}
	var faults Faults
	for i := range specs {
		if data, ok := files[specs[i].name]; ok {
			faults = append(faults, b.take(&specs[i], data)...)
		}
	}
	if len(faults) > 0 {
		faults.sort()
		return nil, faults
	}
	for i := range served {
		b.c.objects(served[i].file).single = true
	}
	return b, nil
}

// oneOfMany rejects a single Node if there are several instances. kubectl prints a list even for
// one node, so there are probably others, and their instances would count as unregistered.
func (b *Bundle) oneOfMany() Faults {
	if n := len(b.c.instances().rows); b.c.objects(fileNodes).single && n > 1 {
		return Faults{{File: fileNodes, Problem: fmt.Sprintf("this is one Node, and %s has %d instances, which would be taken for unregistered: write all Nodes with: kubectl get nodes -o json", fileInstances, n)}}
	}
	return nil
}

func (b *Bundle) read(fsys fs.FS, s *spec) Faults {
	data, err := readRegular(fsys, s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.required:
		return Faults{{File: s.name, Problem: "there is no such file, and it must be there: write it with: " + s.command}}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return Faults{{File: s.name, Problem: fmt.Sprintf("it cannot be read: %v", cause(err))}}
	}
	return b.take(s, data)
}

func (b *Bundle) take(s *spec, data []byte) Faults {
	in := &input{spec: s, data: plain(data)}
	if len(bytes.TrimSpace(in.data)) == 0 {
		if s.required {
			return Faults{{File: s.name, Problem: "it is empty: the command that was to write it failed; write it again with: " + s.command}}
		}
		// A failed answer has no data, so it counts as not read.
		b.c.files[s.name].itself().empty = true
		return nil
	}
	if v, ok := in.parse(); ok {
		b.c.files[s.name].itself().held = true
		s.read(b.c, in, &v)
	}
	return in.told()
}

// readRegular reads a regular file, or the target of a symbolic link. A device or a pipe is
// rejected before it is opened: reading it may never end, or never begin.
func readRegular(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is no regular file but %s", special(info.Mode()))
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", info.Size(), int64(maxFile))
	}
	return fs.ReadFile(fsys, name)
}

// maxFile bounds the bytes of one file. 100,000 nodes of 18 KB take less than half of it.
const maxFile = 4 << 30

func special(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// cause returns the error without the path, which is already reported.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func (b *Bundle) readAt(fsys fs.FS) Faults {
	data, err := readRegular(fsys, fileAt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Faults{{File: fileAt, Problem: fmt.Sprintf("it cannot be read: %v", cause(err))}}
	}
	said := strings.TrimSpace(string(plain(data)))
	at, err := ParseAt(said)
	if err != nil {
		return Faults{{File: fileAt, Line: 1, Column: 1, Problem: err.Error()}}
	}
	b.c.at = at
	return nil
}

// ParseAt parses the time of a capture, in RFC 3339. A time beyond the year 2500 is rejected:
// deadlines derived from the year 9999 could not be written.
func ParseAt(said string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, said)
	if err != nil || at.Unix() > maxSeconds || at.Unix() < 0 {
		return time.Time{}, fmt.Errorf("%q is not a time in RFC 3339, such as 2026-01-02T15:04:05Z", cut(said, 40))
	}
	return at.UTC(), nil
}

// readDocuments reads a folder of texts, each named after its instance.
func (b *Bundle) readDocuments(fsys fs.FS, folder string, read func([]byte) []byte) Faults {
	t := tableOf[[]byte](b.c, folder)
	entries, err := fs.ReadDir(fsys, t.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Faults{{File: t.file, Problem: fmt.Sprintf("the folder cannot be read: %v", cause(err))}}
	}
	t.held = true
	var faults Faults
	for _, e := range entries {
		name := path.Join(t.file, e.Name())
		id, ok := strings.CutSuffix(e.Name(), ".txt")
		if !ok || !strings.HasPrefix(id, "i-") {
			b.ignored = append(b.ignored, name)
			continue
		}
		data, err := readRegular(fsys, name)
		if err != nil {
			faults = append(faults, Fault{File: name, Problem: fmt.Sprintf("it cannot be read: %v", cause(err))})
			continue
		}
		t.set(id, read(data))
	}
	return faults
}

// unmarked converts a text written by Windows to UTF-8, only if it has a byte order mark, since a
// text may be binary.
func unmarked(data []byte) []byte {
	for _, mark := range [][]byte{{0xef, 0xbb, 0xbf}, {0xff, 0xfe}, {0xfe, 0xff}} {
		if bytes.HasPrefix(data, mark) {
			return plain(data)
		}
	}
	return data
}

// userDataIn returns the user data in a file as the instance sees it. Base64 in the file is undone,
// unless a launch template shows that the user data was encoded twice: then the instance sees
// base64.
func (c *contents) userDataIn(data []byte) []byte {
	text := undone(data)
	for _, t := range tableOf[types.LaunchTemplateVersion](c, fileTemplates).rows {
		d := t.LaunchTemplateData
		if d == nil {
			continue
		}
		once, err := base64.StdEncoding.DecodeString(aws.ToString(d.UserData))
		if err != nil {
			continue
		}
		if twice, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(once))); err == nil && len(twice) > 0 && bytes.Equal(twice, text) {
			return once
		}
	}
	return text
}

// undone returns user data without base64. The file holds it as text, in base64 or in the answer of
// describe-instance-attribute, as the CLI prints it.
func undone(data []byte) []byte {
	data = unmarked(data)
	said := strings.TrimSpace(string(data))
	var answer struct{ UserData *struct{ Value string } }
	if strings.HasPrefix(said, "{") && json.Unmarshal([]byte(said), &answer) == nil && answer.UserData != nil {
		said = answer.UserData.Value
		if said == "" {
			return nil
		}
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(said), ""))
	if err == nil && len(decoded) > 0 && (utf8.Valid(decoded) || bytes.HasPrefix(decoded, gzipMagic)) {
		return decoded
	}
	return data
}

var gzipMagic = []byte{0x1f, 0x8b}

// strangers returns the files that do not belong to a bundle. An almost correct name is easily
// overlooked.
func (b *Bundle) strangers(fsys fs.FS) (out []string) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil // the files were read by their names
	}
	for _, e := range entries {
		if _, known := b.c.files[e.Name()]; !known && e.Name() != fileAt && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out
}

// AWS returns the configuration of clients that the bundle answers, without a network.
func (b *Bundle) AWS() aws.Config {
	return apistats.Answered(b.cluster.Region, func(_ context.Context, in any, _ apistats.Call) (any, error) { return b.c.answer(in) })
}

// ClusterID returns the bundle's cluster.
func (b *Bundle) ClusterID() roll.ClusterID { return b.cluster }

// At returns the time of the capture; the second result is false if there is no at.txt.
func (b *Bundle) At() (time.Time, bool) { return b.c.at, !b.c.at.IsZero() }

// Remembered returns what an earlier check saw of the nodes, by name; the second result is false if
// there is no ledger.json.
func (b *Bundle) Remembered() (map[string]evidence.Remembered, bool) {
	known := tableOf[evidence.Remembered](b.c, fileLedger)
	if !known.held {
		return nil, false
	}
	out := make(map[string]evidence.Remembered, len(known.rows))
	for i, node := range known.keys {
		out[node] = known.rows[i]
	}
	return out, true
}

// Ignored returns the files that do not belong to a bundle, sorted. One may be misnamed.
func (b *Bundle) Ignored() []string {
	return slices.Compact(slices.Sorted(slices.Values(b.ignored)))
}
