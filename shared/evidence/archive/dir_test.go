package archive_test

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/shared/evidence/archive"
	"rollcall/tests/harness/archivetest"
	"rollcall/tests/harness/expect"
	"rollcall/tests/harness/must"
)

// keptIn reads every file below a folder.
func keptIn(t *testing.T, root string) archivetest.Kept {
	t.Helper()
	kept := archivetest.Kept{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		kept[filepath.ToSlash(relative)] = string(content)
		return err
	})
	must.Succeed(t, err)
	return kept
}

func TestContractOfDir(t *testing.T) {
	archivetest.Contract(t, func(t *testing.T) (archivetest.Archive, func() archivetest.Kept) {
		outer := t.TempDir() // nothing may appear beside the archive either
		root := filepath.Join(outer, "evidence")
		return archive.NewDir(root), func() archivetest.Kept {
			kept := archivetest.Kept{}
			for name, content := range keptIn(t, outer) {
				kept[strings.TrimPrefix(name, "evidence/")] = content
			}
			return kept
		}
	})
}

func TestAFolderIsForItsOwnerOnly(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "evidence")
	link, err := archive.NewDir(root).Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
	must.Succeed(t, err)
	u, err := url.Parse(link)
	expect.That(t, err == nil && u.Scheme == "file" && u.Path == filepath.ToSlash(filepath.Join(root, archivetest.Place))+"/", "kept in %s: %v", link, err)
	found := 0
	err = filepath.WalkDir(filepath.Dir(root), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		expect.That(t, info.Mode().Perm() == want, "%s has the mode %o, want %o", name, info.Mode().Perm(), want)
		found++
		return nil
	})
	expect.That(t, err == nil && found >= 10, "found %d files and folders: %v", found, err)
}

func TestARelativeFolderIsSaidInFull(t *testing.T) {
	t.Chdir(t.TempDir())
	link, err := archive.NewDir("evidence").Put(t.Context(), archivetest.Key(), archivetest.Files("a"))
	must.Succeed(t, err)
	u, err := url.Parse(link)
	expect.That(t, err == nil && filepath.IsAbs(filepath.FromSlash(u.Path)), "link %s: %v", link, err)
	if _, err := os.Stat(filepath.FromSlash(u.Path)); err != nil {
		t.Error(err)
	}
}

// A failed write leaves nothing that could be mistaken for evidence.
func TestAPutThatFailsLeavesNothing(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	root := t.TempDir()
	if _, err := archive.NewDir(root).Put(ended, archivetest.Key(), archivetest.Files("a")); err == nil || !strings.Contains(err.Error(), root) {
		t.Errorf("after the end: %v", err)
	}
	files := archivetest.Files("a")
	files["z/"+strings.Repeat("x", 300)] = nil // longer than a file system takes; the other files come first
	if _, err := archive.NewDir(root).Put(t.Context(), archivetest.Key(), files); err == nil || !strings.Contains(err.Error(), archivetest.Place) {
		t.Errorf("a file that cannot be: %v", err)
	}
	if kept := keptIn(t, root); len(kept) != 0 {
		t.Errorf("there are %v", kept)
	}
	file := filepath.Join(root, "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	if _, err := archive.NewDir(file).Put(t.Context(), archivetest.Key(), archivetest.Files("a")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file in the way: %v", err)
	}
}
