package figures

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Pages are the pages with blocks, from the root of the tree.
func Pages() []string {
	return []string{"README.md", "docs/measured.md", "docs/choosing-a-transport.md"}
}

const (
	begin = "<!-- figures: "
	shut  = " -->"
	end   = "<!-- end of figures -->"
)

// Fill replaces the text between the marks of a page.
func (s *Set) Fill(text string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		if strings.Contains(before, end) {
			return "", fmt.Errorf("a block ends that did not begin: %s", end)
		}
		b.WriteString(before)
		if !found {
			break
		}
		name, rest, _ := strings.Cut(rest, shut)
		_, after, ended := strings.Cut(rest, end)
		if !ended {
			return "", fmt.Errorf("the block %q has no end; close it with %s", name, end)
		}
		block, err := s.Block(name)
		if err != nil {
			return "", err
		}
		b.WriteString(begin + name + shut + "\n" + strings.TrimSpace(block) + "\n" + end)
		text = after
	}
	return b.String(), nil
}

// Differs reports which pages below a root have other figures than the results; nil when
// none has.
func (s *Set) Differs(root string) error {
	return s.each(root, func(page, _, is, should string) error {
		if is != should {
			return fmt.Errorf("%s has other figures than proof/results; write it anew: go run ./proof/cmd/bench -report", page)
		}
		return nil
	})
}

// Write writes the figures into the pages below a root.
func (s *Set) Write(root string) error {
	return s.each(root, func(_, path, is, should string) error {
		if is == should {
			return nil
		}
		return os.WriteFile(path, []byte(should), 0o644) //nolint:gosec // a page is for everybody
	})
}

func (s *Set) each(root string, do func(page, path, is, should string) error) error {
	var errs []error
	for _, page := range Pages() {
		path := filepath.Join(root, page)
		text, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		should, err := s.Fill(string(text))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", page, err))
			continue
		}
		errs = append(errs, do(page, path, string(text), should))
	}
	return errors.Join(errs...)
}
