package archive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxSize is the maximum size of one object, in bytes after compression.
const MaxSize = 20 << 20

var errTooLarge = errors.New("too large")

// pack returns a gzipped tar file of the bundle, in a folder "bundle". The same files and time give
// the same bytes.
func (e evidence) pack(at time.Time, most int) ([]byte, error) {
	out := &bounded{left: most}
	zipped := gzip.NewWriter(out)
	if err := errors.Join(e.tar(tar.NewWriter(zipped), at), zipped.Close()); err != nil {
		if errors.Is(err, errTooLarge) {
			return nil, e.tooLarge(most)
		}
		return nil, fmt.Errorf("pack evidence %s: %w", e.path, err)
	}
	return out.buf.Bytes(), nil
}

func (e evidence) tar(w *tar.Writer, at time.Time) error {
	at = at.UTC().Truncate(time.Second)
	entry := func(h tar.Header, content []byte) error {
		h.ModTime, h.Size = at, int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	written := map[string]bool{}
	for _, name := range e.names() {
		full := folder + "/" + name
		for _, dir := range above(full) {
			if written[dir] {
				continue
			}
			written[dir] = true
			if err := entry(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o700}, nil); err != nil {
				return err
			}
		}
		if err := entry(tar.Header{Typeflag: tar.TypeReg, Name: full, Mode: 0o600}, e.bundle[name]); err != nil {
			return err
		}
	}
	return w.Close()
}

// tooLarge returns an error that names the largest file, which is the one to shorten or leave out.
func (e evidence) tooLarge(most int) error {
	heavy := slices.MaxFunc(e.names(), func(a, b string) int { return cmp.Compare(len(e.bundle[a]), len(e.bundle[b])) })
	return fmt.Errorf("evidence %s is larger than %d bytes after compression and is not kept: its largest file is %s with %d bytes", e.path, most, heavy, len(e.bundle[heavy]))
}

// bounded is a buffer with a maximum size in bytes.
type bounded struct {
	buf  bytes.Buffer
	left int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errTooLarge
	}
	b.left -= len(p)
	return b.buf.Write(p)
}
