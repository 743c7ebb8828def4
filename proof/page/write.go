package page

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/millrace-go/millrace/proof/report"
)

const (
	file  = "REPORT.md"
	plots = "plots"
)

// Read gives the entries the results that are saved in a folder.
func Read(dir string, entries []Entry) ([]Entry, error) {
	all := slices.Clone(entries)
	for i := range all {
		e := &all[i]
		var err error
		if e.Result, e.Measured, err = report.Load(dir, e.Name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Write writes REPORT.md and plots/*.svg into a folder, and removes plots that the
// page does not have.
func (p Page) Write(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, plots), 0o755); err != nil { //nolint:gosec // a report is for everybody
		return err
	}
	stale, err := p.stale(dir)
	if err != nil {
		return err
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for name, svg := range p.Plots {
		if err := os.WriteFile(filepath.Join(dir, plots, name), svg, 0o644); err != nil { //nolint:gosec // a report is for everybody
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, file), p.Text, 0o644) //nolint:gosec // a report is for everybody
}

// stale are the plots in the folder that the page does not have.
func (p Page) stale(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, plots, "*.svg"))
	return slices.DeleteFunc(found, func(path string) bool { return p.Plots[filepath.Base(path)] != nil }), err
}

// Differs says how the files of a folder differ from the page; nil when they do
// not.
func (p Page) Differs(dir string) error {
	want := map[string][]byte{file: p.Text}
	for name, svg := range p.Plots {
		want[filepath.Join(plots, name)] = svg
	}
	var errs []error
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("%s is missing", name))
		case err != nil:
			errs = append(errs, err)
		case !bytes.Equal(got, text):
			errs = append(errs, fmt.Errorf("%s is not that of the saved results", name))
		}
	}
	stale, err := p.stale(dir)
	for _, path := range stale {
		errs = append(errs, fmt.Errorf("%s is of no section", path))
	}
	return errors.Join(append(errs, err)...)
}
