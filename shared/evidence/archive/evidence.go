package archive

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Findings is the name of a file that must be among the files put. It is kept beside the bundle,
// not in it, and is written last: if it exists, the evidence is complete.
const Findings = "findings.json"

// folder is the folder that holds the bundle's files.
const folder = "bundle"

// evidence is the evidence to put, split into its parts.
type evidence struct {
	path     string // the key's path
	findings []byte
	bundle   map[string][]byte // by name within the bundle
}

func newEvidence(key Key, files map[string][]byte) (evidence, error) {
	place, err := key.Path()
	if err != nil {
		return evidence{}, err
	}
	e := evidence{path: place, bundle: maps.Clone(files)}
	findings, ok := files[Findings]
	if !ok {
		return evidence{}, fmt.Errorf("evidence %s lacks %s", place, Findings)
	}
	e.findings = findings
	delete(e.bundle, Findings)
	if len(e.bundle) == 0 {
		return evidence{}, fmt.Errorf("evidence %s is empty: there is nothing but %s", place, Findings)
	}
	if err := checkNames(e.bundle); err != nil {
		return evidence{}, fmt.Errorf("evidence %s: %w", place, err)
	}
	return e, nil
}

func (e evidence) names() []string { return slices.Sorted(maps.Keys(e.bundle)) }

// checkNames returns an error for a name that could lead out of the bundle, or that is both a file
// and a folder.
func checkNames(files map[string][]byte) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for p := range strings.SplitSeq(name, "/") {
			if !part.MatchString(p) {
				faults = append(faults, fmt.Errorf("%q is no name of a file in a bundle", name))
				break
			}
		}
		for _, dir := range above(name) {
			if _, ok := files[dir]; ok {
				faults = append(faults, fmt.Errorf("%s is a file, so %s cannot lie in it", dir, name))
			}
		}
	}
	return errors.Join(faults...)
}

// above returns the folders that contain a file, the outermost first.
func above(name string) (dirs []string) {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}
