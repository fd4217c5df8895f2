package archivetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Packed is the name of a bundle's object.
const Packed = "bundle.tar.gz"

// Unpack returns the content of objects, given by key, with bundles unpacked.
func Unpack(objects map[string][]byte) (Kept, error) {
	kept := Kept{}
	for key, content := range objects {
		if path.Base(key) != Packed {
			kept[key] = string(content)
			continue
		}
		entries, err := Entries(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name, "/") {
				kept[path.Dir(key)+"/"+e.Name] = e.Content
			}
		}
	}
	return kept, nil
}

// Entry is a file or a folder in a tar file.
type Entry struct {
	tar.Header
	Content string
}

// Entries returns the entries of a gzipped tar file, in order.
func Entries(packed []byte) ([]Entry, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for r := tar.NewReader(zipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{*header, string(content)})
	}
}
