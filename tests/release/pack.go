package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// packed is the time of every file in an archive: that of the source would differ from one checkout
// to the next. A zip knows no earlier one.
var packed = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// documents stand beside the command line in its archive.
var documents = []string{"LICENSE", "README.md", "CHANGELOG.md", "infra/rbac.yaml"}

// pack writes the archive of a program. That of the command line has the manual, too.
func pack(root, manual, archive, program string, t Target) error {
	type member struct {
		name, source string
		mode         os.FileMode
	}
	members := []member{{t.Program(), program, 0o755}}
	if t.Function == "" {
		for _, d := range documents {
			members = append(members, member{filepath.Base(d), filepath.Join(root, d), 0o644})
		}
		err := filepath.WalkDir(manual, func(path string, file fs.DirEntry, err error) error {
			if err != nil || file.IsDir() {
				return err
			}
			name, err := filepath.Rel(manual, path)
			members = append(members, member{filepath.ToSlash(name), path, 0o644})
			return err
		})
		if err != nil {
			return fmt.Errorf("pack the manual: %w", err)
		}
	}
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	var add func(m member, data []byte) error
	var end func() error
	if strings.HasSuffix(archive, ".zip") {
		w := zip.NewWriter(out)
		end = w.Close
		add = func(m member, data []byte) error {
			h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: packed}
			h.SetMode(m.mode)
			f, err := w.CreateHeader(h)
			if err == nil {
				_, err = f.Write(data)
			}
			return err
		}
	} else {
		z := gzip.NewWriter(out)
		w := tar.NewWriter(z)
		end = func() error {
			if err := w.Close(); err != nil {
				return err
			}
			return z.Close()
		}
		add = func(m member, data []byte) error {
			err := w.WriteHeader(&tar.Header{Name: m.name, Mode: int64(m.mode), Size: int64(len(data)), ModTime: packed, Format: tar.FormatUSTAR})
			if err == nil {
				_, err = io.Copy(w, strings.NewReader(string(data)))
			}
			return err
		}
	}
	for _, m := range members {
		data, err := os.ReadFile(m.source)
		if err == nil {
			err = add(m, data)
		}
		if err != nil {
			_ = out.Close()
			return fmt.Errorf("pack %s into %s: %w", m.name, filepath.Base(archive), err)
		}
	}
	if err := end(); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
