package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Save writes a section to its file in a folder, which it makes when it is missing.
// The file is replaced at once or not at all.
func Save(dir string, s Section) (err error) {
	s.Format = Format
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("save section %s: %w", s.Name, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // results are for everybody
		return err
	}
	temp, err := os.CreateTemp(dir, ".saving-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(append(b, '\n'))
	if err = errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), filepath.Join(dir, s.Name+".json"))
}

// Load reads the results of a section. There may be none: then ok is false.
func Load(dir, name string) (s Section, ok bool, err error) {
	path := filepath.Join(dir, name+".json")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, false, fmt.Errorf("%s: %w", path, err)
	}
	if s.Format != Format || s.Name != name {
		return s, false, fmt.Errorf("%s has format %d of section %q, and this program reads format %d of %q; run the section again", path, s.Format, s.Name, Format, name)
	}
	return s, true, nil
}
